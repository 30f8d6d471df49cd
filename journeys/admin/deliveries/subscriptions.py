"""Subscriptions: made and changed, tried, and resumed where they are paused; and what was pushed to them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from engage.admin.parts.columns import badge
from engage.admin.parts.definitions import DefinitionAdmin, DefinitionForm
from engage.admin.parts.filters import ChoicesDropdownFilter, SelectFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin
from engage.feed import FeedType
from engage.models import Workspace
from journeys import wakeups
from journeys.models import Push, Subscription
from journeys.subscriptions.saving import (
    SUBSCRIPTIONS,
    resume_subscription,
    try_subscription,
)

_DIGITS = 18  # of a number that is none of ours


class SubscriptionForm(DefinitionForm):
    resource = SUBSCRIPTIONS
    url = forms.CharField(
        help_text="Where events are posted, signed as webhooks are.", widget=UnfoldAdminTextInputWidget
    )
    types = forms.MultipleChoiceField(
        required=False,
        choices=[(value, value) for value in FeedType.values],
        help_text="The types of events that are pushed; none chosen: all.",
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    journeys = forms.CharField(
        required=False,
        help_text="The keys of the journeys whose events are pushed, with commas between them; empty: all.",
        widget=UnfoldAdminTextInputWidget,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["journeys"] = ", ".join(self.instance.journeys or [])

    def clean_types(self) -> list[str] | None:
        return self.cleaned_data["types"] or None

    def clean_journeys(self) -> list[str] | None:
        names = [name.strip() for name in self.cleaned_data["journeys"].split(",")]
        return [name for name in names if name] or None


@admin.register(Subscription)
class SubscriptionAdmin(DefinitionAdmin):
    form, resource = SubscriptionForm, SUBSCRIPTIONS
    reads_people = True
    list_display = ("key", "status", "url", "workspace", "failing_since", "paused_at")
    search_fields = ("key", "=id")
    search_help_text = "Key or id"
    autocomplete_fields = ("workspace",)
    fieldsets = (
        (None, {"fields": (("workspace", "key"), "url", "types", ("journeys", "batch"))}),
        (
            None,
            {"fields": (("status", "host"), ("failing_since", "paused_at"), "last_failure", ("id", "created_at"),
                        ("updated_at",))},
        ),
    )  # fmt: skip
    written_once = ("workspace", "key")
    change_form_outer_before_template: Any = "journeys/admin/subscription.html"

    @display(description="state")
    def status(self, subscription: Subscription) -> SafeString:
        if subscription.paused_at is not None:
            return badge("paused", "danger")
        return badge("failing", "warning") if subscription.failing_since is not None else badge("well", "success")

    def get_urls(self) -> list[URLPattern]:
        own = [
            self.address("<str:object_id>/test/", self.test, "test", posted=True),
            self.address("<str:object_id>/resume/", self.resume, "resume", posted=True),
        ]
        return [*own, *super().get_urls()]

    def test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Has a test sent: what came of it stands below the fields."""
        subscription = self.found(request, object_id, may=self.has_change_permission(request))

        def act() -> tuple[Subscription, str]:
            try_subscription(subscription)
            self.log_change(request, subscription, "Sent a test.")
            wakeups.wake_sender()
            return subscription, "A test is on its way. Load the page again to see what came of it."

        return self.acted(request, subscription, act)

    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        subscription = self.found(request, object_id, may=self.has_change_permission(request))

        def act() -> tuple[Subscription, str]:
            resumed = resume_subscription(subscription)
            wakeups.wake_sender()
            return subscription, "It goes on where it has stopped." if resumed else "It is not paused."

        return self.acted(request, subscription, act)

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return {"may_change": self.has_change_permission(request)}


show_on(Workspace, Panel(model=Subscription, by="workspace", columns=("__str__", "status", "url", "paused_at")))


@admin.register(Push)
class PushAdmin(ReadOnlyAdmin):
    list_display = ("id", "subscription", "workspace", "state", "size", "attempts", "tried_at", "result", "due_at")
    list_filter = (("subscription", SelectFilter), ("state", ChoicesDropdownFilter))
    search_help_text = "Number"

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(pk=text) if text.isdecimal() and len(text) < _DIGITS else Q(pk__in=[])

    fields = (
        ("subscription", "workspace"),
        ("state", "size"),
        ("attempts", "test"),
        ("created_at", "due_at"),
        ("tried_at", "milliseconds"),
        ("status", "result"),
    )


show_on(
    Subscription,
    Panel(model=Push, by="subscription", columns=("id", "state", "size", "attempts", "tried_at", "result"), opens="id"),
)

"""Subscriptions: made and changed, tried, and resumed where they are paused; and what was pushed to them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from engage.admin.parts.acts import Act, Button, Done
from engage.admin.parts.columns import badge
from engage.admin.parts.definitions import DefinitionAdmin, DefinitionForm
from engage.admin.parts.filters import ChoicesDropdownFilter, SelectFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin
from engage.feed import FeedType
from engage.models import Workspace
from journeys.engine import wakeups
from journeys.models import Push, Subscription
from journeys.subscription.resource import (
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


def _test(_: Any, __: HttpRequest, subscription: Subscription) -> Done:
    """Has a test sent: what came of it stands below the fields."""
    try_subscription(subscription)
    transaction.on_commit(wakeups.wake_sender, robust=True)
    said = "A test is on its way. Load the page again to see what came of it."
    return Done(subscription, said, "Sent a test.")


def _resume(_: Any, __: HttpRequest, subscription: Subscription) -> Done:
    resumed = resume_subscription(subscription)
    wakeups.wake_sender()
    return Done(subscription, "It goes on where it has stopped." if resumed else "It is not paused.")


@admin.register(Subscription)
class SubscriptionAdmin(DefinitionAdmin):
    form, resource, icon = SubscriptionForm, SUBSCRIPTIONS, "rss_feed"
    reads_people = True
    acts = (
        Act("test", _test, button=Button("Send a test", "It is sent to the receiver. Send it?")),
        Act("resume", _resume, noted_as=None, button=lambda one, _: [Button("Resume")] if one.paused_at else []),
    )
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

    @display(description="state")
    def status(self, subscription: Subscription) -> SafeString:
        if subscription.paused_at is not None:
            return badge("paused", "danger")
        return badge("failing", "warning") if subscription.failing_since is not None else badge("well", "success")

    def above(self, record: Subscription) -> str:
        if record.paused_at is None:
            return ""
        since = localize(record.paused_at)
        return f"It is paused since {since}: {record.last_failure} Resumed, it goes on where it has stopped."


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

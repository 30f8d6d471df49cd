"""Interactions: what customers did in messages."""

from collections.abc import Iterator

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from bridge.models import Interaction
from customers.admin.search import BY_CUSTOMER, of_customers_known_as
from customers.models import Customer
from engage.admin.parts.columns import page_url
from engage.admin.parts.filters import AutocompleteSelectFilter, ExactFilter, LatestChoicesFilter, TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.admin.parts.timeline import Asked, Source, Told, tell_on


@admin.register(Interaction)
class InteractionAdmin(ReadOnlyAdmin):
    list_display = ("customer", "kind", "message_id", "app", "created_at", "workspace", "id")
    list_display_links = ("created_at", "id")
    titled_by = ("customer",)
    list_filter = (
        ("app", AutocompleteSelectFilter),
        ("customer", ExactFilter),
        ("kind", LatestChoicesFilter),
        ("message_id", ExactFilter),
        ("created_at", TimesFilter),
    )
    search_help_text = f"Interaction id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("id", ("kind", "message_id"), "created_at")}),
        (None, {"fields": ("customer", "created_customer", "app", "workspace")}),
        (None, {"fields": ("event", "attributes_written", "form_data")}),
        (None, {"fields": (("action_id", "message_problems"), ("verified", "identity_problem"), "origin")}),
    )

    def matching(self, text: str, request: HttpRequest) -> Q:
        return of_customers_known_as(text, request)


def _clicked(customer: Customer, asked: Asked) -> Iterator[Told]:
    acted = Interaction.objects.filter(workspace=customer.workspace_id, customer=customer, **asked.span("created_at"))
    for one in acted.order_by("-pk")[: asked.most]:
        written = ", ".join(one.attributes_written)
        yield Told(
            at=one.created_at,
            kind="clicked",
            what=" ".join(filter(None, (one.get_kind_display(), "in", one.message_id or "no message", one.action_id))),
            more=[f"Wrote {written}."] if written else (),
            opens=page_url(one),
        )


tell_on(Customer, Source(model=Interaction, kinds=("clicked",), read=_clicked))

"""Interactions: what customers did in messages."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from bridge.models import Interaction
from customers.admin.search import BY_CUSTOMER, of_customers_known_as
from customers.models import Customer
from engage.admin.parts.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter, TimesFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin


@admin.register(Interaction)
class InteractionAdmin(ReadOnlyAdmin):
    list_display = ("customer", "kind", "message_id", "app", "created_at", "workspace", "id")
    list_display_links = ("created_at", "id")
    titled_by = ("customer",)
    list_filter = (
        ("app", AutocompleteSelectFilter),
        ("customer", ExactFilter),
        ("kind", ChoicesDropdownFilter),
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


show_on(
    Customer,
    Panel(
        model=Interaction,
        by="customer",
        columns=("kind", "message_id", "app", "event", "created_at"),
        opens="created_at",
        order=("-id",),
    ),
)

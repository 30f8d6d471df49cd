"""The admin page of interactions: what customers did in messages."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from bridge.models import Interaction
from customers.admin.search import by_customer, of_customers_known_as
from customers.models import Customer
from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter
from engage.admin.panels import Panel, show_on
from engage.admin.records import ReadOnlyAdmin


@admin.register(Interaction)
class InteractionAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "message_id", "workspace", "app", "customer", "created_at")
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("app", AutocompleteSelectFilter),
        ("customer", ExactFilter),
        ("kind", ChoicesDropdownFilter),
    )
    fieldsets = (
        (None, {"fields": ("id", ("kind", "message_id"), "created_at")}),
        (None, {"fields": ("customer", "created_customer", "app", "workspace")}),
        (None, {"fields": ("event", "attributes_written", "form_data")}),
    )

    def search_hint(self, request: HttpRequest) -> str:
        return f"Interaction id, or {by_customer(request)}"

    def matching(self, text: str, request: HttpRequest) -> Q:
        return of_customers_known_as(text, request)


show_on(
    Customer,
    Panel(
        model=Interaction,
        by="customer",
        columns=("__str__", "app", "event", "created_at"),
        order=("-id",),
    ),
)

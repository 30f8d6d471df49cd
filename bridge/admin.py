"""Interactions: what people did in messages."""

from django.contrib import admin
from django.db.models import Q

from bridge.models import Interaction
from customers.admin.search import of_customers_known_as
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
    search_help_text = "Interaction id, or a customer's id, external id, e-mail, phone"
    fieldsets = (
        (None, {"fields": ("id", ("kind", "message_id", "created_at"))}),
        (None, {"fields": ("customer", "created_customer", "app", "workspace")}),
        (None, {"fields": ("event", "attributes_written", "form_data")}),
    )

    def matching(self, text: str) -> Q:
        return of_customers_known_as(text)


show_on(
    Customer,
    Panel(
        model=Interaction,
        by="customer",
        columns=("__str__", "app", "event", "created_at"),
        order=("-id",),
    ),
)

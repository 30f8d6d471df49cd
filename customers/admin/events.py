"""Events: what was recorded for a customer."""

from django.contrib import admin
from django.db.models import Q

from customers.admin.search import of_customers_known_as
from customers.models import Customer, Event
from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter
from engage.admin.panels import Panel, show_on
from engage.admin.records import ReadOnlyAdmin


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("id", "name", "workspace", "customer", "source", "occurred_at")
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("customer", ExactFilter),
        ("name", ExactFilter),
        ("source", ChoicesDropdownFilter),
    )
    search_help_text = "Event id, or a customer's id, external id, e-mail, phone"
    fields = (
        "id",
        "name",
        ("workspace", "customer"),
        ("source", "occurred_at", "created_at"),
        "properties",
    )

    def matching(self, text: str) -> Q:
        return of_customers_known_as(text)


show_on(
    Customer,
    Panel(
        model=Event,
        by="customer",
        columns=("__str__", "source", "occurred_at"),
        order=("-occurred_at",),
    ),
)

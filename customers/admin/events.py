"""Events: what was recorded for a customer."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from customers.admin.search import BY_CUSTOMER, of_customers_known_as
from customers.models import Customer, Event
from engage.admin.parts.filters import ChoicesDropdownFilter, ExactFilter, TimesFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import ReadOnlyAdmin

SEARCHED_BY_NAME = 10_000


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("name", "customer", "source", "occurred_at", "workspace", "id")
    list_display_links = ("name", "id")
    list_filter = (
        ("customer", ExactFilter),
        ("name", ExactFilter),
        ("source", ChoicesDropdownFilter),
        ("created_at", TimesFilter),
    )
    search_help_text = f"Event id, or the name of one of the latest {SEARCHED_BY_NAME:,} events, or {BY_CUSTOMER}"
    fields = (
        "id",
        "name",
        ("workspace", "customer"),
        "source",
        ("message_id", "verified"),
        ("occurred_at", "created_at"),
        "properties",
    )

    def matching(self, text: str, request: HttpRequest) -> Q:
        return of_customers_known_as(text, request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Treats a text that finds nothing else as a name. Names have no index, so only the latest are searched."""
        found, duplicates = super().get_search_results(request, queryset, search_term)
        name = search_term.strip()
        if not name or found.exists():
            return found, duplicates
        workspace = request.GET.get("workspace__id__exact")
        latest = Event.objects.filter(workspace=workspace) if workspace else Event.objects.all()
        ids = latest.order_by("-pk").values_list("pk", flat=True)
        oldest = ids[SEARCHED_BY_NAME - 1 : SEARCHED_BY_NAME].first()
        return queryset.filter(pk__gte=oldest or "", name=name), duplicates


show_on(
    Customer,
    Panel(
        model=Event,
        by="customer",
        columns=("__str__", "source", "occurred_at"),
        order=("-occurred_at",),
    ),
)

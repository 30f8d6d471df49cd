"""Events: what was recorded for a customer."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import Truncator

from customers.admin.search import BY_CUSTOMER, of_customers_known_as
from customers.models import Customer, Event
from engage.admin.parts.columns import badge, json_line, page_url
from engage.admin.parts.filters import ExactFilter, LatestChoicesFilter, TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.admin.parts.timeline import Asked, Source, Told, tell_on

SEARCHED_BY_NAME = 10_000
_LONGEST_LINE = 200  # letters


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("name", "customer", "source", "occurred_at", "workspace", "id")
    list_display_links = ("name", "id")
    list_filter = (
        ("customer", ExactFilter),
        ("name", ExactFilter),
        ("source", LatestChoicesFilter),
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


def _recorded(customer: Customer, asked: Asked) -> Iterator[Told]:
    """Without those that tell what became of in-app messages: the timeline has that itself."""
    events = Event.objects.filter(workspace=customer.workspace_id, customer=customer, **asked.span("occurred_at"))
    own = events.exclude(name__startswith="in_app.").order_by("-occurred_at")
    for event in own[: asked.most]:
        more = Truncator(json_line(event.properties)).chars(_LONGEST_LINE) if event.properties else ""
        yield Told(
            at=event.occurred_at,
            kind="event",
            what=format_html("{} {}", event.name, badge(event.get_source_display(), "")),
            more=[more] if more else (),
            opens=page_url(event),
        )


tell_on(Customer, Source(model=Event, kinds=("event",), read=_recorded))

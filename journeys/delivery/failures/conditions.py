"""What staff ask for in the list of failures: its filters, and the same conditions for sending again."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RadioFilter, TextFilter

from engage.admin.parts.columns import may_view, moment
from engage.admin.parts.filters import AutocompleteSelectFilter, time_of
from engage.admin.rights.reach import reach_of, reachable
from engage.http.query_strings import whole_number
from journeys.engine.webhooks.failures import HAS_FAILED, KEEPS_FAILING, NO_ANSWER, Wanted, of_journey, of_status
from journeys.models import Journey

_ASKED = {"workspace": "workspace__id__exact", "journey": "enrollment__journey__id__exact"}
_KEPT = (*_ASKED.values(), "host", "status", "since", "before")


def wanted_by(request: HttpRequest) -> Wanted:
    """The conditions in the address, as the list's filters read them."""
    asked = request.GET
    return Wanted(
        workspaces=reach_of(request.user).workspaces,
        workspace_id=asked.get(_ASKED["workspace"], "").strip(),
        journey_id=asked.get(_ASKED["journey"], "").strip(),
        host=asked.get("host", "").strip(),
        status=_number(asked.get("status")),
        since=time_of(asked.get("since", "").strip()),
        before=time_of(asked.get("before", "").strip()),
    )


def conditions_in(request: HttpRequest) -> str:
    """The conditions as the query string of another address."""
    return urlencode({name: request.GET[name] for name in _KEPT if request.GET.get(name)})


def in_words(request: HttpRequest) -> list[tuple[str, Any]]:
    """The conditions in words, for who confirms them."""
    wanted = wanted_by(request)
    journeys = reachable(Journey.objects.filter(pk=wanted.journey_id), request=request)
    journey = journeys.first() if may_view(Journey, request=request) else None
    status = "no answer" if wanted.status == NO_ANSWER else wanted.status
    told = {
        "Journey": journey or wanted.journey_id,
        "Host": wanted.host,
        "Status": status,
        "Failed since": moment(wanted.since),
        "Failed before": moment(wanted.before),
    }
    return [(name, value) for name, value in told.items() if value not in ("", None)]


def _number(text: str | None) -> int | None:
    return whole_number((text or "").strip(), at_most=999)


def is_trying(request: HttpRequest) -> bool:
    """Whether those are asked for that are tried again."""
    return request.GET.get("what") == "trying"


def periods(now: datetime) -> Iterator[dict[str, Any]]:
    """Times to begin at. Where a browser runs scripts, noon and midnight are its own."""
    for hour, name in ((12, "Since noon"), (0, "Since midnight")):
        at = now.replace(hour=hour, minute=0, second=0, microsecond=0)
        yield {"name": name, "hour": hour, "since": (at if at <= now else at - timedelta(days=1)).isoformat()}
    for name, ago in (
        ("Last hour", timedelta(hours=1)),
        ("Last day", timedelta(days=1)),
        ("Last week", timedelta(days=7)),
    ):
        yield {"name": name, "since": (now - ago).replace(microsecond=0).isoformat()}


class WhatFilter(RadioFilter):
    title = "what became of it"
    parameter_name = "what"
    all_option = ["", "Failed for good"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("trying", "Failed so far, tried again")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(KEEPS_FAILING if self.value() == "trying" else HAS_FAILED)


class StatusFilter(TextFilter):
    title = "status (0: no answer)"
    parameter_name = "status"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        status = _number(self.value())
        return queryset if status is None else queryset.filter(of_status(status))


class JourneyFilter(AutocompleteSelectFilter):
    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(of_journey(value)) if value else queryset

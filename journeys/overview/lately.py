"""The overview's charts: what was decided and sent in the last hours, and the busiest journeys with a small line."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.utils.html import format_html
from django.utils.safestring import SafeString

from engage.admin.parts.columns import link, list_url
from engage.notations.plurals import counted
from journeys.engine.counts.hourly import DELIVERED, FAILED, Hours, done_lately
from journeys.models import EnrollmentJob, Journey, WebhookDelivery

HOURS = 24
BUSIEST = 8
_WEBHOOKS = (DELIVERED, FAILED)
_WIDTH, _HEIGHT = 96, 24
_ENROLLED = EnrollmentJob.Result.ENROLLED.value


def lately(may: Any, *, now: datetime, workspaces: Collection[str] | None) -> dict[str, Any] | None:
    """What the template shows of the last hours in these workspaces (None: all); None to who may see none of it."""
    sees_jobs, sees_webhooks, sees_journeys = may(EnrollmentJob), may(WebhookDelivery), may(Journey)
    if not (sees_jobs or sees_webhooks):
        return None
    most = BUSIEST if sees_journeys else 0
    done = done_lately(now=now, hours=HOURS, journeys=most, workspaces=workspaces)
    hours = [begin.isoformat() for begin in done.begins]
    charts = []
    if sees_jobs:
        enrolled = [hour[_ENROLLED] for hour in done.all]
        others = [_decided(hour) - hour[_ENROLLED] for hour in done.all]
        charts.append(_chart("Decisions per hour", hours, {"enrolled": enrolled, "not enrolled": others}))
    if sees_webhooks:
        sent = {"delivered": _of(done.all, DELIVERED), "failed": _of(done.all, FAILED)}
        charts.append(_chart("Webhooks per hour", hours, sent) | {"leads_to": list_url(WebhookDelivery)})
    busiest = [_row(journey, done.busiest[journey.pk]) for journey in _in_order(done.busiest)]
    return {"charts": charts, "busiest": {"headers": _HEADERS, "rows": busiest} if busiest else None}


_HEADERS = ["Journey", "Last 24 hours", "Decisions", "Enrolled", "Webhooks delivered", "Failed"]


def _chart(title: str, hours: list[str], numbers: dict[str, list[int]]) -> dict[str, Any]:
    told = ", ".join(f"{sum(counts):,} {name}" for name, counts in numbers.items())
    rows = list(zip(hours, *numbers.values(), strict=True))
    return {
        "title": title,
        "told": f"{title}, last {HOURS} hours: {told}",
        "hours": hours,
        "numbers": numbers,
        "rows": rows,
    }


def _row(journey: Journey, hours: Hours) -> list[Any]:
    total = sum(hours, Counter())
    failed: Any = f"{total[FAILED]:,}"
    if total[FAILED]:
        failed = format_html('<strong class="engage-bad">{}</strong>', failed)
    return [
        link(journey),
        _line([_decided(hour) for hour in hours], journey),
        f"{_decided(total):,}",
        f"{total[_ENROLLED]:,}",
        f"{total[DELIVERED]:,}",
        failed,
    ]


def _line(numbers: list[int], journey: Model) -> SafeString:
    """A line of a few pixels: its shape tells, not its numbers."""
    most = max(numbers) or 1
    step = _WIDTH / max(len(numbers) - 1, 1)
    points = " ".join(
        f"{place * step:.0f},{_HEIGHT - 2 - number / most * (_HEIGHT - 4):.1f}" for place, number in enumerate(numbers)
    )
    return format_html(
        '<svg class="engage-line" viewBox="0 0 {} {}" role="img" aria-label="{}"><polyline points="{}"/></svg>',
        _WIDTH,
        _HEIGHT,
        f"{journey}: at most {counted(most, 'decision')} an hour",
        points,
    )


def _in_order(busiest: Any) -> list[Journey]:
    journeys = Journey.objects.in_bulk(list(busiest))
    return [journeys[pk] for pk in busiest if pk in journeys]


def _decided(hour: Counter[str]) -> int:
    return sum(number for what, number in hour.items() if what not in _WEBHOOKS)


def _of(hours: Hours, what: str) -> list[int]:
    return [hour[what] for hour in hours]

"""The first page: is the service keeping up, what failed, what happened. Every figure is read from a bounded set."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Count, Q
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from engage.admin.parts.columns import column_of, count_up_to, link, linked_fields, list_url, may_view, moment
from engage.admin.rights.reach import reach_of, reachable
from engage.notations.plurals import counted
from journeys.delivery.left_alone import left_alone_now, may_try_now
from journeys.engine.enrollments.states import GAVE_UP
from journeys.engine.jobs.progress import count_by_result
from journeys.engine.operations.backlog import COUNTED_AT_MOST as MOST_WAITING
from journeys.engine.operations.backlog import Backlog, Waiting, backlog
from journeys.engine.operations.delays import WITH_UNSAID_DELAYS
from journeys.engine.webhooks.failures import HAS_FAILED
from journeys.faces.results import counted_results
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger, WebhookDelivery
from journeys.overview.held import held_now, paused_now
from journeys.overview.lately import lately

admin.site.index_template = "journeys/admin/dashboard.html"
admin.site.index_title = "Overview"

COUNTED_AT_MOST = 10_000
OLDEST_CHUNKS = 10_000
LATEST_JOBS = 10_000
LATEST_TRIGGERS = 10
MOST_LISTED = 20
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Figure:
    """One number on the page, with what it means and a link to the list behind it; `failed` if it is a bad one."""

    title: str
    value: str
    note: str
    href: str
    failed: bool = False


def with_overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Adds what this member of staff may see (UNFOLD["DASHBOARD_CALLBACK"]).

    Whether the service keeps up is no matter of one workspace, and its figures are of everybody's work.
    """
    now, may = timezone.now(), partial(may_view, request=request)
    workspaces = reach_of(request.user).workspaces
    sees_all = workspaces is None
    return {
        **context,
        "held": held_now(request),
        "left_alone": left_alone_now(request),
        "paused": paused_now(request),
        "unsaid_delays": unsaid_delays(request) if may(Journey) else [],
        "may_try_now": may_try_now(request),
        "figures": keeping_up(may) if sees_all else [],
        "failures": what_failed(request, now=now),
        "sees_failures": may(WebhookDelivery),
        "lately": lately(may, now=now, workspaces=workspaces),
        "results_title": f"Results of the latest {LATEST_JOBS:,} jobs",
        "latest_results": latest_results() if may(EnrollmentJob) and sees_all else "",
        "latest_triggers": latest_triggers(request) if may(Trigger) else None,
    }


def unsaid_delays(request: HttpRequest) -> list[SafeString]:
    """Links to journeys whose customers may leave where they went on before; at most MOST_LISTED."""
    unsaid = Journey.objects.filter(id__in=RawSQL(f"SELECT journey.id {WITH_UNSAID_DELAYS}", []))  # noqa: S611
    return [link(journey) for journey in reachable(unsaid, request=request).order_by("name")[:MOST_LISTED]]


def keeping_up(may: Any) -> list[Figure]:
    """How much waits to be decided, walked and sent, and how late that is."""
    if not (may(Chunk) or may(Enrollment) or may(WebhookDelivery)):
        return []
    waiting, figures = backlog(), []
    if may(Chunk):
        figures.append(_waiting("Waiting to enter", _jobs(waiting), "nobody waits for a decision", list_url(Chunk)))
    if may(Enrollment):
        figures.append(_waiting("Late for a next step", waiting.enrollments, "nobody is due", list_url(Enrollment)))
    if may(WebhookDelivery):
        failing = counted(waiting.open_circuits, "failing way is", "failing ways are")
        left_alone = f"; {failing} left alone" if waiting.open_circuits else ""
        trying = f"{list_url(WebhookDelivery)}what=trying"
        figures.append(_waiting("Webhooks to send", waiting.webhooks, "none is late", trying, also=left_alone))
    return figures


def _jobs(waiting: Backlog) -> Waiting:
    lanes = [lane.jobs for lane in waiting.lanes]
    return Waiting(number=sum(one.number for one in lanes), seconds_late=max(one.seconds_late for one in lanes))


def _waiting(title: str, waiting: Waiting, none: str, href: str, *, also: str = "") -> Figure:
    late = int(waiting.seconds_late) if waiting.number else 0
    note = f"the first is late by {_in_words(late)}" if late else none
    value = f"{MOST_WAITING:,}+" if waiting.number > MOST_WAITING else f"{waiting.number:,}"
    return Figure(title, value, note + also, href)


def _in_words(seconds: int) -> str:
    if seconds < 60:  # noqa: PLR2004 (Django's shortest unit)
        return counted(seconds, "second")
    now = timezone.now()
    return timesince(now - timedelta(seconds=seconds), now)


def what_failed(request: HttpRequest, *, now: datetime) -> list[Figure]:
    """What has failed for good in the last day, and what keeps failing."""
    may, figures, since = partial(may_view, request=request), [], now - _DAY
    of_the_day = f"since={since.replace(microsecond=0):%Y-%m-%dT%H:%M:%SZ}"
    if may(WebhookDelivery):
        failed = reachable(WebhookDelivery.objects.filter(HAS_FAILED, due_at__gte=since), request=request)
        figures.append(_failed("Failed webhooks", failed, f"{list_url(WebhookDelivery)}{of_the_day}"))
    if may(Enrollment):
        given_up = reachable(Enrollment.objects.filter(GAVE_UP, ended_at__gte=since), request=request)
        figures.append(_failed("Customers given up after errors", given_up, f"{list_url(Enrollment)}ended=given-up"))
    if may(Chunk) and reach_of(request.user).workspaces is None:
        figures.append(failing_work())
    return figures


def _failed(title: str, failed: Any, href: str) -> Figure:
    number = count_up_to(failed, most=COUNTED_AT_MOST)
    return Figure(title, number, "in the last day", href, failed=number != "0")


def failing_work() -> Figure:
    """How much waiting work failed in its last attempt and will be tried again.

    Most chunks have no error and no index tells which have one, so not all are looked through.
    """
    oldest = Chunk.objects.order_by("pk")[:OLDEST_CHUNKS]
    failed = oldest.aggregate(failed=Count("pk", filter=~Q(error="")))["failed"]
    return Figure("Decisions that fail", f"{failed:,}", "now; they are tried again", list_url(Chunk), failed=failed > 0)


def latest_triggers(request: HttpRequest) -> dict[str, Any]:
    """The latest triggers that are seen, as the template's table takes them."""
    journey = column_of(Trigger, "journey", request=request)
    own = reachable(Trigger.objects.order_by("-pk"), request=request)
    triggers = own.prefetch_related(*linked_fields([journey]))[:LATEST_TRIGGERS]
    return {
        "headers": ["When", *(["Journey"] if journey else []), "Form", "Customers"],
        "rows": [
            [
                link(trigger, called=moment(trigger.queued_at)),
                *([journey(trigger)] if journey else []),
                trigger.get_form_display(),
                f"{trigger.customers:,}",
            ]
            for trigger in triggers
        ],
    }


def latest_results() -> SafeString:
    """The results of the latest jobs, which are a range of the primary key, so never all jobs."""
    newest = EnrollmentJob.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return counted_results(count_by_result(EnrollmentJob.objects.filter(pk__gt=newest - LATEST_JOBS)))

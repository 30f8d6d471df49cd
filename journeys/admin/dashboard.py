"""The first page: the backlog, its age, and what was decided lately. Every figure is read from a bounded set."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from engage.admin.columns import column_of, count_up_to, link, linked_fields, list_url, may_view
from journeys.admin.results import counted_results
from journeys.jobs.progress import count_by_result
from journeys.models import Chunk, Enrollment, EnrollmentJob, Trigger

admin.site.index_template = "journeys/admin/dashboard.html"
admin.site.index_title = "Overview"

COUNTED_AT_MOST = 1_000
OLDEST_CHUNKS = 10_000
LATEST_JOBS = 10_000
LATEST_TRIGGERS = 10


@dataclass(frozen=True)
class Figure:
    """One number on the page, with what it means and a link to the list behind it."""

    title: str
    value: str
    note: str
    href: str


def with_overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Adds the figures that this member of staff may see (UNFOLD["DASHBOARD_CALLBACK"])."""
    now, may = timezone.now(), partial(may_view, request=request)
    figures: list[Figure] = []
    if may(Chunk):
        figures += [waiting_work(now=now), failing_work()]
    if may(Enrollment):
        figures += [due_enrollments(now=now)]
    return {
        **context,
        "figures": figures,
        "results_title": f"Results of the latest {LATEST_JOBS:,} jobs",
        "latest_results": latest_results() if may(EnrollmentJob) else "",
        "latest_triggers": latest_triggers(request) if may(Trigger) else None,
    }


def waiting_work(*, now: datetime) -> Figure:
    """How many chunks are waiting, and how long the oldest has waited."""
    oldest = Chunk.objects.order_by("pk").values_list("trigger__queued_at", flat=True).first()
    note = f"the oldest for {timesince(oldest, now)}" if oldest else "every job is decided"
    return Figure("Waiting batches", count_up_to(Chunk.objects.all(), most=COUNTED_AT_MOST), note, list_url(Chunk))


def failing_work() -> Figure:
    """How many of the oldest chunks failed in their last attempt and will be tried again.

    Most chunks have no error and no index tells which have one, so not all are looked through.
    """
    oldest = Chunk.objects.order_by("pk")[:OLDEST_CHUNKS]
    failed = oldest.aggregate(failed=Count("pk", filter=~Q(error="")))["failed"]
    note = f"of the oldest {OLDEST_CHUNKS:,}; tried again when they are due"
    return Figure("Batches that failed", f"{failed:,}", note, list_url(Chunk))


def due_enrollments(*, now: datetime) -> Figure:
    """How many enrollments are due for their next step, and for how long the first has been."""
    due = Enrollment.objects.filter(state=Enrollment.State.ACTIVE, due_at__lte=now)
    first = due.order_by("due_at").values_list("due_at", flat=True).first()
    note = f"the first for {timesince(first, now)}" if first else "nobody waits"
    return Figure("Enrollments due for a step", count_up_to(due, most=COUNTED_AT_MOST), note, list_url(Enrollment))


def latest_triggers(request: HttpRequest) -> dict[str, Any]:
    """The latest triggers of all workspaces, as the template's table takes them."""
    journey = column_of(Trigger, "journey", request=request)
    triggers = Trigger.objects.order_by("-pk").prefetch_related(*linked_fields([journey]))[:LATEST_TRIGGERS]
    return {
        "headers": ["Trigger", *(["Journey"] if journey else []), "Form", "Customers", "Queued at"],
        "rows": [
            [
                link(trigger),
                *([journey(trigger)] if journey else []),
                trigger.get_form_display(),
                trigger.customers,
                trigger.queued_at,
            ]
            for trigger in triggers
        ],
    }


def latest_results() -> SafeString:
    """The results of the latest jobs, which are a range of the primary key, so never all jobs."""
    newest = EnrollmentJob.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return counted_results(count_by_result(EnrollmentJob.objects.filter(pk__gt=newest - LATEST_JOBS)))

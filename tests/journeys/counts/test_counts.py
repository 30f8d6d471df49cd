"""Counts are written with the history, and are its sums at any moment."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.counts.buckets import Interval, bucket_edges, full_hour
from journeys.engine.counts.counting import fold
from journeys.engine.counts.stats import JourneyStats, Span, StepStats, journey_stats
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.engine.walking import walk_due
from journeys.models import Chunk, Count, CountDelta, Enrollment, Journey, StepRun
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted, every_moment_an_hour
from tests.support.factories import PRO, CustomerFactory, JourneyFactory, crowd

STEPS: list[dict[str, Any]] = [
    {"id": "which", "type": "branch", "cases": [{"if": PRO, "next": "day"}], "else": "note"},
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "bought", "type": "wait_for_event", "event": "order", "timeout": "P1D", "onTimeout": "out"},
    {"id": "note", "type": "track_event", "eventName": "told", "next": None},
    {"id": "out", "type": "exit", "reason": "Did not buy."},
]
pytestmark = pytest.mark.journey(steps=STEPS)


@pytest.fixture(autouse=True)
def _moments(db: None) -> Iterator[None]:
    """The hour turns at every moment."""
    with every_moment_an_hour():
        yield


@pytest.fixture
def busy(server: ServerClient, acme: Workspace, journey: Journey) -> Journey:
    """Of six customers, one has no entry, one is erased, one exits by a call, one by its time, two wait or are done."""
    names = crowd(acme, 6)
    for name in names[:4]:
        Customer.objects.filter(external_id=name).update(attributes={"plan": "pro"})
    data(trigger(server, journey, {"external_ids": names}))
    data(trigger(server, journey, {"external_id": names[0]}))
    let_workers_decide()
    let_workers_walk()
    time_passes(days=1, hours=1)
    let_workers_walk()
    first = Enrollment.objects.filter(state="active").order_by("id")[0]
    server.post(f"/api/v1/journeys/{acme.id}/enrollments/{first.id}/exit", {"reason": "Asked."})
    return journey


def test_counts_are_the_sums_of_the_history(busy: Journey) -> None:
    assert counted(busy) == counted_by_history(busy.id)
    stats = journey_stats(busy, Span())
    assert (stats.active, stats.completed, stats.exited) == (3, 2, 1)
    assert stats.entries == {"enrolled": 6, "already_enrolled": 1}
    assert stats.steps["bought"] == StepStats(entered=4, waiting=3, done=0, failed=0, skipped=0, interrupted=1)
    assert stats.steps["day"] == StepStats(entered=4, waiting=0, done=4, failed=0, skipped=0, interrupted=0)
    assert stats.edges == {
        (ENTRY, "which"): 6,
        ("which", "day"): 4,
        ("which", "note"): 2,
        ("day", "bought"): 4,
        ("note", COMPLETED): 2,
        ("bought", EXITED): 1,
    }


def test_folding_changes_no_sum_however_often(busy: Journey) -> None:
    before = counted(busy), journey_stats(busy, Span())
    assert fold()
    assert not CountDelta.objects.exists()
    assert not fold()
    assert (counted(busy), journey_stats(busy, Span())) == before


def test_what_was_folded_before_is_added_to(server: ServerClient, acme: Workspace, busy: Journey) -> None:
    fold()
    data(trigger(server, busy, {"external_id": CustomerFactory.create(workspace=acme).external_id}))
    let_workers_decide()
    let_workers_walk()
    time_passes(days=1, hours=1)
    let_workers_walk()
    fold()
    assert counted(busy) == counted_by_history(busy.id)


def test_history_that_was_never_counted_is_counted_once(busy: Journey) -> None:
    before = counted(busy)
    CountDelta.objects.filter(kind="edge").delete()
    fold()
    for _ in range(2):
        call_command("count_history")
        assert counted(busy) == before


def test_who_is_inside_is_told_before_the_history_is_counted(busy: Journey) -> None:
    before = journey_stats(busy, Span())
    CountDelta.objects.all().delete()
    for _ in range(2):  # with no counts at all, and with some of later
        told = journey_stats(busy, Span())
        assert told.active == before.active
        assert {name: step.waiting for name, step in told.steps.items() if step.waiting} == {
            name: step.waiting for name, step in before.steps.items() if step.waiting
        }
        Enrollment.objects.update(entered_at=F("entered_at") - timedelta(hours=1))
        first = Enrollment.objects.filter(state="active").order_by("id")[0]
        exit_enrollments([EnrollmentExit(enrollment_id=first.id, reason="Asked.")])
        before = replace(before, active=2, steps={"bought": replace(before.steps["bought"], waiting=2)})
    call_command("count_history")
    assert journey_stats(busy, Span()).active == before.active - 1


def test_pruning_keeps_the_counts(busy: Journey) -> None:
    before = journey_stats(busy, Span())
    ended = Enrollment.objects.exclude(state="active")
    StepRun.objects.filter(enrollment__in=ended.values("id")).delete()
    ended.filter(state="exited").delete()
    call_command("count_history")
    assert journey_stats(busy, Span()) == before


def test_who_is_erased_while_inside_has_left_and_still_entered(busy: Journey) -> None:
    inside = Enrollment.objects.filter(state="active").values("customer_id")[:1]
    assert Customer.objects.get(id__in=inside).delete()
    stats = journey_stats(busy, Span())
    assert (stats.active, stats.completed, stats.exited) == (2, 2, 2)
    assert stats.steps["bought"] == StepStats(entered=4, waiting=2, done=0, failed=0, skipped=0, interrupted=2)
    done = Enrollment.objects.filter(state="completed").values("customer_id")[:1]
    assert Customer.objects.get(id__in=done).delete()
    assert journey_stats(busy, Span()) == stats


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_who_is_erased_has_left_from_the_last_step_that_they_began(
    server: ServerClient, acme: Workspace, ada: Customer, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    notes = [{"id": f"note-{n}", "type": "update_profile", "attributes": {"n": n}} for n in range(4)]
    journey = JourneyFactory.create(workspace=acme, steps=notes)
    data(trigger(server, journey, {"customerId": ada.id}))
    let_workers_decide()
    monkeypatch.setattr("journeys.steps.course.MAX_STEPS_IN_ONE_GO", 1)
    for _ in range(begun):
        walk_due(seconds=0)
    steps = [ENTRY, *(f"note-{n}" for n in range(begun))]
    assert ada.delete()
    assert journey_stats(journey, Span()).edges == dict.fromkeys(pairwise([*steps, EXITED]), 1)


def test_a_deleted_journey_takes_its_counts_along(busy: Journey) -> None:
    fold()
    busy.delete()
    assert not Count.objects.exists()
    assert not CountDelta.objects.exists()


def test_those_who_end_as_they_begin_and_those_who_pause_are_counted(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.steps.course.MAX_STEPS_IN_ONE_GO", 1)
    empty = JourneyFactory.create(workspace=acme)
    notes = [{"id": f"note-{n}", "type": "update_profile", "attributes": {"n": n}} for n in range(3)]
    over = {"if": {"field": "customer.n", "op": "eq", "value": 1}}
    pausing = JourneyFactory.create(workspace=acme, steps=notes, steps__exit_on=[over])
    for journey in (empty, pausing):
        data(trigger(server, journey, {"external_ids": crowd(acme, 2) if journey is empty else ["user-0", "user-1"]}))
        let_workers_decide()
        let_workers_walk()
        assert counted(journey) == counted_by_history(journey.id)
    assert journey_stats(empty, Span()).edges == {(ENTRY, COMPLETED): 2}
    assert journey_stats(pausing, Span()).edges == {
        (ENTRY, "note-0"): 2,
        ("note-0", "note-1"): 2,
        ("note-1", EXITED): 2,
    }


def test_jobs_that_enroll_nobody_are_counted_and_who_waits_is_queued(
    server: ServerClient, acme: Workspace, journey: Journey, ada: Customer
) -> None:
    job_id = data(trigger(server, journey, {"customerId": ada.id}))["jobId"]
    data(trigger(server, journey, {"external_ids": crowd(acme, 3)}))
    data(trigger(server, journey, {"customerId": ada.id}))
    assert journey_stats(journey, Span()).queued == 5
    assert server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}").status_code == 200
    stats = journey_stats(journey, Span())
    assert (stats.queued, stats.entries) == (4, {"cancelled": 1})
    Journey.objects.update(active=False)
    Chunk.objects.filter(lane="single").update(attempts=5)  # as if five workers had died with it
    let_workers_decide()
    stats = journey_stats(journey, Span())
    assert (stats.queued, stats.entries) == (0, {"cancelled": 1, "journey_inactive": 3, "failed": 1})
    assert counted(journey) == counted_by_history(journey.id)


HOURS_AGO = [24 * 500 + 5, 24 * 500 + 4, 24 * 499 + 5, 30, 3]


@pytest.fixture
def aged(busy: Journey, settings: Settings) -> Journey:
    """Of five moments, three so long ago that their hours are pruned."""
    this_hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for hours in HOURS_AGO:
        hour = this_hour - timedelta(hours=hours)
        CountDelta.objects.create(
            workspace_id=busy.workspace_id,
            journey=busy,
            revision_id=0,
            hour=hour,
            kind="entry",
            name="failed",
            number=1,
        )
    settings.RETAIN_HOURLY_COUNTS_DAYS = 0
    fold()
    settings.RETAIN_HOURLY_COUNTS_DAYS = 400
    return busy


def asked(journey: Journey, *, days: int, interval: Interval) -> tuple[JourneyStats, list[int]]:
    """The statistics since so many days ago, and how many failed in each bucket that has any."""
    begin = full_hour(timezone.now()) - timedelta(days=days)
    edges = bucket_edges(begin, None, interval, UTC, now=timezone.now())
    stats = journey_stats(journey, Span(begin=begin, edges=edges))
    return stats, [bucket.entries["failed"] for bucket in stats.series if bucket.entries["failed"]]


def test_hours_that_were_pruned_are_told_by_days(aged: Journey) -> None:
    before, failed = asked(aged, days=600, interval=Interval.WEEK)
    assert (before.hours_since, before.entries["failed"], sum(failed)) == (None, 5, 5)
    ever = journey_stats(aged, Span())
    for _ in range(2):
        call_command("prune")
        assert Count.objects.filter(journey=aged, grain="hour", name="failed").count() == 2
        after, failed = asked(aged, days=600, interval=Interval.WEEK)
        assert after.hours_since is not None
        assert (after.entries["failed"], sum(failed)) == (5, 5)
        assert asked(aged, days=20, interval=Interval.DAY)[0].hours_since is None
        assert journey_stats(aged, Span()) == ever
        call_command("count_history")


def test_what_is_counted_of_a_time_without_hours_makes_none(aged: Journey) -> None:
    call_command("prune")
    hours = Count.objects.filter(journey=aged, grain="hour").count()
    old = timezone.now() - timedelta(days=500)
    CountDelta.objects.create(
        workspace_id=aged.workspace_id, journey=aged, revision_id=0, hour=old, kind="entry", name="failed", number=2
    )
    fold()
    assert Count.objects.filter(journey=aged, grain="hour").count() == hours
    assert asked(aged, days=600, interval=Interval.WEEK)[0].entries["failed"] == 7


def test_history_of_days_whose_hours_are_gone_is_not_counted_again(busy: Journey) -> None:
    fold()
    before = journey_stats(busy, Span())
    Count.objects.filter(grain="hour").delete()
    call_command("count_history")
    assert journey_stats(busy, Span()) == before

"""Walking: how a walk goes on, where it stops, and what ends it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest

from journeys.steps.definition import KINDS, WaitingStep
from journeys.steps.results import AwaitChange, AwaitEvent, Ended, Pause, StepRecord, TimedOut, Wait
from tests.journeys.steps.contexts import NOW, context, course, walk
from tests.support.cases import each
from tests.support.factories import DAY, OUT, PRO


def branch(step_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "branch", "cases": [{"if": {"not": PRO}, "next": None}], **fields}


def test_a_delay_that_is_ahead_waits() -> None:
    assert walk(course(DAY)).stop == Wait(step_id="day", due_at=NOW + timedelta(days=1))
    assert walk(course(DAY)).step_records == (
        StepRecord(
            step_id="day", type="delay", resumed=False, state="waiting", detail="Waits until 2026-11-21T12:00:00Z."
        ),
    )


def test_a_delay_that_is_over_goes_on_with_the_next_step() -> None:
    walked = walk(course(DAY, branch("a"), OUT), arrival=TimedOut())
    assert walked.stop == Ended(step_id="out", exited=True, reason="Enough.")
    assert [(step.step_id, step.resumed, step.detail) for step in walked.step_records] == [
        ("day", True, "The wait is over."),
        ("a", False, "No case holds: goes on to 'out'."),
        ("out", False, "Enough."),
    ]


WAITS: dict[str, dict[str, Any]] = {
    "delay": {"for": "P1D"},
    "wait_for_event": {"event": "paid", "timeout": "P1D"},
    "wait_until": {"if": {"not": PRO}, "timeout": "P1D"},
}


@each("second", list(WAITS))
@each("first", [{"for": "P1D"}, {"for": "PT0S"}, {"at": "2026-11-01"}])
def test_of_a_late_start_the_first_wait_alone_counts_from_when_it_was_due(first: dict[str, Any], second: str) -> None:
    late = replace(context(), waits_from=NOW - timedelta(days=10))
    wait = {"id": "second", "type": second, **WAITS[second]}
    stop = walk(course({"id": "first", "type": "delay", **first}, branch("between"), wait), replace(late)).stop
    assert isinstance(stop, Wait | AwaitEvent | AwaitChange)
    assert (stop.step_id, stop.due_at) == ("second", NOW + timedelta(days=1))


@each("kind", list(WAITS))
def test_the_first_wait_of_a_late_start_counts_from_when_it_was_due(kind: str) -> None:
    late = replace(context(), waits_from=NOW - timedelta(hours=1))
    stop = walk(course(branch("ahead"), {"id": "wait", "type": kind, **WAITS[kind]}), late).stop
    assert isinstance(stop, Wait | AwaitEvent | AwaitChange)
    assert stop.due_at == NOW + timedelta(hours=23)


def test_each_kind_that_waits_is_known_as_a_wait() -> None:
    stops = {kind.type for kind in KINDS if not {"for", "timeout"}.isdisjoint(str(kind.examples).split("'"))}
    assert stops == {kind.type for kind in get_args(WaitingStep)} == set(WAITS)


def test_the_end_of_the_last_step_completes() -> None:
    assert walk(course(DAY), arrival=TimedOut()).stop == Ended(
        step_id="day", exited=False, reason="The last step is done."
    )


def test_a_course_without_steps_has_no_first_one() -> None:
    assert course().first is None


def test_a_step_that_was_saved_before_a_rule_came_is_walked_all_the_same() -> None:
    saved = {**OUT, "next": "nowhere"}
    assert walk(course(saved)).stop == Ended(step_id="out", exited=True, reason="Enough.")


def test_an_exit_condition_ends_before_the_step_begins() -> None:
    walked = walk(course(DAY, exit_on=[{"if": {"not": PRO}}, {"if": PRO}]))
    assert walked.step_records == ()
    assert walked.stop == Ended(step_id="day", exited=True, reason="Exit condition 2 of 2 holds.")


def test_an_exit_condition_is_not_asked_before_the_end_of_a_begun_step() -> None:
    walked = walk(course(DAY, OUT, exit_on=[{"if": PRO}]), arrival=TimedOut())
    assert [step.step_id for step in walked.step_records] == ["day"]
    assert walked.stop == Ended(step_id="out", exited=True, reason="Exit condition 1 of 1 holds.")


def test_a_walk_pauses_after_a_hundred_steps_and_goes_on_from_there() -> None:
    long = course(*(branch(f"s{number}") for number in range(150)))
    walked = walk(long)
    assert len(walked.step_records) == 100
    assert walked.stop == Pause(step_id="s100")
    rest = walk(long, step_id="s100")
    assert len(rest.step_records) == 50
    assert rest.stop == Ended(step_id="s149", exited=False, reason="The last step is done.")


def test_what_cannot_be_resumed_says_so() -> None:
    with pytest.raises(ValueError, match="A step of type exit is over when it has begun"):
        walk(course(OUT), context(), arrival=TimedOut())


def test_after_a_while_a_walk_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeys.steps.course.SECONDS_IN_ONE_GO", 0.0)
    steps = [{"id": f"s{n}", "type": "update_profile", "attributes": {"n": n}} for n in range(3)]
    walked = walk(course(*steps))
    assert ([left.step_id for left in walked.step_records], walked.stop) == (["s0"], Pause(step_id="s1"))

"""Waits until a condition about the customer holds."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from customers.conditions import Root, parse_condition
from customers.conditions.changes import next_change
from journeys.steps.rehearsal import rehearse
from journeys.steps.results import AwaitChange, Ended, Heard, TimedOut
from tests.journeys.steps.contexts import ADA, NOW, context, course, refusal_of, walk
from tests.support.cases import each
from tests.support.factories import PRO

DAY = timedelta(days=1)
FREE = {"field": "customer.plan", "op": "eq", "value": "free"}
YES: dict[str, Any] = {"id": "yes", "type": "exit", "reason": "It held."}
NO: dict[str, Any] = {"id": "no", "type": "exit", "reason": "It did not."}
HELD = Ended(step_id="yes", exited=True, reason="It held.")
LATE = Ended(step_id="no", exited=True, reason="It did not.")


def wait(condition: Any = FREE, **fields: Any) -> dict[str, Any]:
    ways = {"onTrue": "yes", "onTimeout": "no"}
    return {"id": "wait", "type": "wait_until", "if": condition, "timeout": "P1D", **ways, **fields}


def since(days: int) -> Any:
    """The context of a customer who has been there since so many days from now."""
    return context(customer=replace(ADA, attributes={"since": (NOW + timedelta(days=days)).isoformat()}))


def test_what_holds_already_does_not_wait() -> None:
    walked = walk(course(wait(PRO), YES, NO))
    first = walked.step_records[0]
    assert (first.state, first.detail) == ("done", "The condition holds already: goes on to 'yes'.")
    assert (first.because, first.resumed, walked.stop) == (('customer.plan is "pro"',), False, HELD)


def test_what_does_not_hold_waits_until_the_time_is_up() -> None:
    walked = walk(course(wait(), YES, NO))
    assert walked.step_records[0].detail == "Waits for its condition until 2026-11-21T12:00:00Z."
    assert walked.stop == AwaitChange(step_id="wait", due_at=NOW + DAY, until=NOW + DAY)


@each(
    "arrival, condition, at, detail, stop",
    [
        (Heard(), FREE, NOW, "The condition came to hold: goes on to 'yes'.", HELD),
        (TimedOut(), PRO, NOW + DAY, "The condition came to hold: goes on to 'yes'.", HELD),
        (TimedOut(), FREE, NOW + DAY, "The condition did not hold in time: goes on to 'no'.", LATE),
    ],
)
def test_how_it_ends(arrival: Heard | TimedOut, condition: Any, at: datetime, detail: str, stop: Ended) -> None:
    """Once it held, that counts, whatever the values are by then."""
    walked = walk(course(wait(condition), YES, NO), replace(context(now=at), waits_until=NOW + DAY), arrival=arrival)
    assert [(one.state, one.resumed, one.detail) for one in walked.step_records[:1]] == [("done", True, detail)]
    assert walked.stop == stop


@each(
    "op, offset, days, after",
    [
        ("before", "-P7D", -7, timedelta(microseconds=1)),
        ("before", "-P7D", -6, DAY + timedelta(microseconds=1)),
        ("after", "P2D", 3, DAY + timedelta(microseconds=1)),
        ("before", "-P7D", -8, None),
        ("after", "PT0S", 5, DAY * 5 + timedelta(microseconds=1)),
    ],
)
def test_the_next_moment_at_which_a_test_against_the_clock_may_change(
    op: str, offset: str, days: int, after: timedelta | None
) -> None:
    test = {"field": "customer.since", "op": op, "value": {"now": offset}}
    condition = parse_condition({"any": [FREE, {"not": test}]}, roots=list(Root))
    facts = since(days).facts()
    assert next_change(condition, facts) == (None if after is None else NOW + after)


@each("value", ["0001-01-01", "9999-12-31T23:59:59-14:00", "soon", 5])
def test_moments_out_of_reach_do_not_matter(value: object) -> None:
    condition = parse_condition(
        {"field": "customer.since", "op": "before", "value": {"now": "-P3650D"}}, roots=list(Root)
    )
    moment = next_change(condition, context(customer=replace(ADA, attributes={"since": value})).facts())
    assert moment is None or moment > NOW


def test_a_wait_for_the_clock_looks_again_then_and_its_beginning_stands() -> None:
    old = {"field": "customer.since", "op": "before", "value": {"now": "-P7D"}}
    both = course(wait({"all": [old, FREE]}, timeout="P5D"), YES, NO)
    at = since(-6)
    due = NOW + DAY + timedelta(microseconds=1)
    assert walk(both, at).stop == AwaitChange(step_id="wait", due_at=due, until=NOW + DAY * 5)
    walked = walk(both, replace(at, now=due, waits_until=NOW + DAY * 5), arrival=TimedOut())
    assert (walked.step_records, walked.stop) == (
        (),
        AwaitChange(step_id="wait", due_at=NOW + DAY * 5, until=NOW + DAY * 5),
    )


def test_a_rehearsal_lets_the_time_go_by() -> None:
    old = {"field": "customer.since", "op": "before", "value": {"now": "-P7D"}}
    for timeout, reason, at in (("P5D", "It held.", NOW + DAY), ("PT1H", "It did not.", NOW + timedelta(hours=1))):
        rehearsal = rehearse(course(wait(old, timeout=timeout), YES, NO), since(-6))
        assert rehearsal.ending == reason
        assert rehearsal.steps[1].at.replace(microsecond=0) == at
        assert rehearsal.steps[1].step_record.detail.endswith(" (assumed).")


def test_a_loop_is_paced_by_its_time_but_not_by_what_may_hold_at_once() -> None:
    again: dict[str, Any] = {"id": "remind", "type": "track_event", "eventName": "reminded", "next": "wait"}
    course(wait(onTimeout="remind"), again, YES)
    loop = "steps[0] stands in a loop without a wait: wait → remind → wait."
    assert refusal_of(wait(onTrue="remind", onTimeout=None), again) == loop


@each(
    "fields, message",
    [
        ({"if": {}}, "steps[0].if must hold all, any or not, or field and op."),
        ({"timeout": "PT0S"}, "steps[0].timeout must be at least a second (PT1S)."),
        ({"onTrue": "nowhere"}, "steps[0].onTrue is 'nowhere', but no step has this id."),
        ({"event": "order"}, "steps[0].event is not known; what may stand here is id, type, if, timeout, onTrue, "),
    ],
)
def test_a_bad_wait_is_refused_with_its_place(fields: dict[str, Any], message: str) -> None:
    assert refusal_of(wait(**{"onTrue": None, "onTimeout": None, **fields})).startswith(message)


def test_it_is_drawn_in_words() -> None:
    old = {"field": "customer.since", "op": "before", "value": {"now": "-P7D"}}
    step = course(wait(old), YES, NO).steps["wait"]
    assert step.label == "Wait until customer.since is a time before 1 week ago, at most 1 day"

"""Waits for an event of the customer's."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from journeys.steps.context import EarlyEvent, Occurrence
from journeys.steps.course import MAX_STEPS_IN_ONE_GO
from journeys.steps.events import nothing_known
from journeys.steps.results import AlreadyHappened, Answered, AwaitEvent, Ended, First, Heard, Pause, TimedOut
from journeys.steps.wait_for_event import WaitForEvent
from tests.journeys.steps.contexts import NOW, context, course, refusal_of, walk
from tests.support.cases import each

PRICEY = {"field": "event.properties.price", "op": "gt", "value": 10}
THANKS: dict[str, Any] = {"id": "thanks", "type": "exit", "reason": "Thanks."}
REMIND: dict[str, Any] = {"id": "remind", "type": "exit", "reason": "Reminded."}


def wait(**fields: Any) -> dict[str, Any]:
    return {"id": "wait", "type": "wait_for_event", "event": "order", "timeout": "P1D", **fields}


def test_it_waits_for_the_event_until_its_time_is_up() -> None:
    walked = walk(course(wait(where=PRICEY)))
    assert walked.stop == AwaitEvent(step_id="wait", event_name="order", due_at=NOW + timedelta(days=1))
    assert walked.step_records[0].state == "waiting"
    assert walked.step_records[0].detail == "Waits for the event 'order' until 2026-11-21T12:00:00Z."


@each(
    "arrival, reason, detail",
    [
        (Heard(), "Thanks.", "The event came: goes on to 'thanks'."),
        (TimedOut(), "Reminded.", "The event did not come in time: goes on to 'remind'."),
    ],
)
def test_the_event_and_its_absence_lead_different_ways(arrival: Heard | TimedOut, reason: str, detail: str) -> None:
    walked = walk(course(wait(onEvent="thanks", onTimeout="remind"), THANKS, REMIND), arrival=arrival)
    assert isinstance(walked.stop, Ended)
    assert walked.stop.reason == reason
    first = walked.step_records[0]
    assert (first.state, first.resumed, first.detail) == ("done", True, detail)


@each("arrival", [Heard(), TimedOut()])
def test_without_ways_of_their_own_both_go_on_with_the_next_step(arrival: Heard | TimedOut) -> None:
    assert walk(course(wait(), THANKS), arrival=arrival).stop.step_id == "thanks"
    assert walk(course(wait(next="remind"), THANKS, REMIND), arrival=arrival).stop.step_id == "remind"


def test_null_ends_the_journey() -> None:
    walked = walk(course(wait(onTimeout=None), THANKS), arrival=TimedOut())
    assert walked.stop == Ended(step_id="wait", exited=False, reason="The last step is done.")
    assert walked.step_records[0].detail == "The event did not come in time: the journey ends."


def test_later_steps_see_the_event_that_came() -> None:
    tell = {
        "id": "tell",
        "type": "webhook",
        "url": "https://example.com",
        "body": "{{ event.name }} {{ event.properties }}",
    }
    heard = context(event=Occurrence(name="order", properties={"price": 12}))
    request = walk(course(wait(), tell), heard, arrival=Heard()).step_records[1].request
    assert request is not None
    assert request.body == '"order {\\"price\\":12}"'


@each(
    "name, properties, matches",
    [
        ("order", {"price": 12}, True),
        ("order", {"price": 9}, False),
        ("order", {}, False),
        ("Order", {"price": 12}, False),
    ],
)
def test_the_pattern_of_the_event_can_be_asked(name: str, properties: dict[str, Any], matches: bool) -> None:
    where = {"all": [PRICEY, {"field": "event.name", "op": "eq", "value": "order"}]}
    step = course(wait(where=where)).steps["wait"]
    assert isinstance(step, WaitForEvent)
    assert (
        step.pattern.matches(Occurrence(name=name, properties=properties), from_bridge=True, known=nothing_known(NOW))
        is matches
    )


def test_the_bounds_themselves_are_allowed() -> None:
    name = "x" * 255
    walked = walk(course(wait(event=name, timeout="PT1S")))
    assert walked.stop == AwaitEvent(step_id="wait", event_name=name, due_at=NOW + timedelta(seconds=1))


EARLY = EarlyEvent(
    id="6560a1b2c3d4e5f607182902", name="order", properties='{"price": 12}', from_bridge=False, chain=3, serial=7
)


def test_an_event_that_came_before_it_began_ends_it_at_once_and_is_the_one_that_later_steps_see() -> None:
    note = {"id": "note", "type": "update_profile", "attributes": {"paid": "{{ event.properties.price }}"}}
    tell = {"id": "tell", "type": "track_event", "eventName": "told"}
    walked = walk(course(wait(onEvent="note"), THANKS, note, tell), replace(context(), early=EARLY))
    assert walked.stop == Ended(step_id="tell", exited=False, reason="The last step is done.")
    first, second, third = walked.step_records
    assert (first.state, first.resumed, first.detail) == (
        "done",
        False,
        "The event had come already: goes on to 'note'.",
    )
    assert first.heard == AlreadyHappened(event_id=EARLY.id, chain=3)
    assert second.writes == {"paid": "12"}
    assert third.tracked is not None
    assert third.tracked.chain == 4


@each("arrival", [First(), Heard()])
def test_an_early_event_ends_one_wait_and_the_next_one_begins_in_another_walk(arrival: First | Heard) -> None:
    """Because only then is it known what came after that event."""
    waits = [wait(id="a"), wait(id="b"), wait(id="c")]
    walked = walk(course(*waits), replace(context(), early=EARLY), arrival=arrival)
    over = ["a"] if arrival == First() else ["a", "b"]
    assert [(step.step_id, step.state) for step in walked.step_records] == [(step_id, "done") for step_id in over]
    assert walked.stop == Pause(step_id="b" if arrival == First() else "c")


def test_a_walk_does_not_pause_before_a_wait_because_it_was_long() -> None:
    """Who stands before a wait that is not the first step has just heard an event."""
    steps = [{"id": f"s{n}", "type": "update_profile", "attributes": {"n": n}} for n in range(MAX_STEPS_IN_ONE_GO)]
    walked = walk(course(*steps, wait()))
    assert isinstance(walked.stop, AwaitEvent)
    assert len(walked.step_records) == MAX_STEPS_IN_ONE_GO + 1


def test_an_exit_condition_comes_before_an_early_event() -> None:
    gone = {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}}
    walked = walk(course(wait(), exit_on=[gone]), replace(context(), early=EARLY))
    assert walked.stop == Ended(step_id="wait", exited=True, reason="Exit condition 1 of 1 holds.")


def test_nothing_else_resumes_it() -> None:
    with pytest.raises(ValueError, match="over with the event or with its time"):
        walk(course(wait()), arrival=Answered(ok=True, reason="It said 200."))


@each(
    "fields, message",
    [
        ({"event": None}, "steps[0].event must be a string, but null came."),
        ({"event": " "}, "steps[0].event must not be blank."),
        ({"event": "x" * 256}, "steps[0].event must be at most 255 characters long, not 256."),
        ({"timeout": "PT0.5S"}, "steps[0].timeout must be at least a second (PT1S)."),
        ({"timeout": "P1M"}, "steps[0].timeout must not count in years or months, "),
        ({"fromBridge": "no"}, "steps[0].fromBridge must be true or false"),
        ({"onEvent": "nowhere"}, "steps[0].onEvent is 'nowhere', but no step has this id."),
        ({"onTimeout": "nowhere"}, "steps[0].onTimeout is 'nowhere', but no step has this id."),
        (
            {"where": {"all": [{"field": "plan", "op": "exists"}]}},
            "steps[0].where.all[0].field is 'plan', which is no field here; a field is customer.<field>, ",
        ),
        ({"where": {"field": "event.name", "op": "is"}}, "steps[0].where.op must be one of eq, "),
    ],
)
def test_a_bad_wait_is_refused_with_its_place(fields: dict[str, Any], message: str) -> None:
    assert refusal_of(wait(**fields)).startswith(message)


@each("name", ["event", "timeout"])
def test_a_wait_needs_an_event_and_a_timeout(name: str) -> None:
    written = wait()
    del written[name]
    assert refusal_of(written) == f"steps[0].{name} is required."


def test_a_wait_for_an_event_may_close_a_loop() -> None:
    course(wait(onEvent="wait"))

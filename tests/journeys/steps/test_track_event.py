"""Events that a journey records."""

from typing import Any

from journeys.steps.results import Ended, StepRecord, TrackedEvent
from tests.journeys.steps.contexts import context, course, refusal_of, walk
from tests.support.cases import each
from tests.support.factories import OUT

PRICEY = {"field": "event.properties.price", "op": "gt", "value": 10}


def track(name: object = "order", **fields: Any) -> dict[str, Any]:
    return {"id": "note", "type": "track_event", "eventName": name, **fields}


def test_an_event_is_rendered_and_recorded() -> None:
    properties = {"plan": "{{ customer.plan }}", "n": [1, {"who": "{{ customer.nobody }}"}]}
    assert walk(course(track(eventProperties=properties))).step_records == (
        StepRecord(
            step_id="note",
            type="track_event",
            resumed=False,
            state="done",
            detail="Recorded the event 'order'.",
            missing=("customer.nobody",),
            tracked=TrackedEvent(name="order", properties={"plan": "pro", "n": [1, {"who": ""}]}, chain=1, reacts=True),
        ),
    )


@each("fields", [{}, {"eventProperties": None}, {"eventProperties": {}}])
def test_an_event_may_have_no_properties(fields: dict[str, Any]) -> None:
    tracked = walk(course(track(**fields))).step_records[0].tracked
    assert tracked == TrackedEvent(name="order", properties={}, chain=1, reacts=True)


@each("chain, reacts", [(0, True), (19, True), (20, False), (21, False)])
def test_a_chain_of_events_is_cut_after_20_links(chain: int, reacts: bool) -> None:
    step_record = walk(course(track()), context(chain=chain)).step_records[0]
    assert step_record.tracked is not None
    assert (step_record.tracked.chain, step_record.tracked.reacts) == (chain + 1, reacts)
    effect = "" if reacts else ", without effect: 20 events led to it one by another"
    assert step_record.detail == f"Recorded the event 'order'{effect}."


@each(
    "rule, ends",
    [
        ({"event": "order"}, True),
        ({"event": "order", "where": PRICEY}, True),
        ({"event": "order", "where": {"not": PRICEY}}, False),
        ({"event": "other"}, False),
    ],
)
def test_its_own_event_may_end_the_enrollment_right_there(rule: dict[str, Any], ends: bool) -> None:
    walked = walk(course(track(eventProperties={"price": 12}), OUT, exit_on=[rule]))
    own = Ended(step_id="note", exited=True, reason="The event 'order' ends the journey.")
    assert walked.stop == (own if ends else Ended(step_id="out", exited=True, reason="Enough."))
    assert walked.step_records[0].tracked is not None


def test_an_event_without_effect_ends_nothing() -> None:
    walked = walk(course(track(), OUT, exit_on=[{"event": "order"}]), context(chain=20))
    assert walked.stop.step_id == "out"


def test_properties_that_cannot_be_rendered_or_grow_too_large_record_nothing() -> None:
    for text in ("{{ 1 | divided_by: 0 }}", "{{ api.payload.big }}{{ api.payload.big }}"):
        properties = {
            "a": f"{{{{ customer.nobody }}}}{text}",
            "b": "{{ api.payload.big }}",
            "c": "{{ api.payload.big }}",
        }
        walked = walk(course(track(eventProperties=properties), OUT), context(payload={"big": "x" * 30_000}))
        first = walked.step_records[0]
        assert (first.state, first.tracked, first.missing) == ("failed", None, ("customer.nobody",))
        assert walked.stop.step_id == "out"
    assert walked.step_records[0].detail == "The event's properties are 120022 bytes of JSON; the maximum is 65536."


def test_properties_may_be_64_kib() -> None:
    written = {"a": "x" * (65_536 - len('{"a":""}'))}
    rendered = {"a": "{{ api.payload.a }}", "b": "{{ api.payload.b }}"}
    payload = {"a": "x" * 30_000, "b": "x" * (35_536 - len('{"a":"","b":""}'))}
    for properties, expected in ((written, written), (rendered, payload)):
        tracked = walk(course(track(eventProperties=properties)), context(payload=payload)).step_records[0].tracked
        assert tracked == TrackedEvent(name="order", properties=expected, chain=1, reacts=True)


@each(
    "fields, message",
    [
        ({"name": None}, "steps[0].eventName must be a string, but null came."),
        ({"name": "x" * 256}, "steps[0].eventName must be at most 255 characters long, not 256."),
        ({"eventProperties": []}, "steps[0].eventProperties must be an object, but an array came."),
        ({"eventProperties": {"a": [[[[[[[[[[1]]]]]]]]]]}}, "steps[0].eventProperties is nested more than 10 deep."),
        ({"eventProperties": {"a": "x" * 65_529}}, "steps[0].eventProperties is 65537 bytes of JSON; its maximum is "),
        ({"eventProperties": {"a": "\ud800"}}, "steps[0].eventProperties holds half of a surrogate pair."),
        ({"eventProperties": {"a": ["{{ }}"]}}, "steps[0].eventProperties.a[0] is no valid template: nothing stands "),
    ],
)
def test_a_bad_event_is_refused_with_its_place(fields: dict[str, Any], message: str) -> None:
    assert refusal_of(track(**fields)).startswith(message)

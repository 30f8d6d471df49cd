"""The definition of a journey: what may be written as steps, and how anything else is refused."""

import re
from datetime import timedelta
from typing import Any

import pytest

from config import ROOT
from engage.json.durations import InvalidDuration, parse_duration
from journeys.models import StepRun
from journeys.steps.definition import MAX_STEPS, STEP_TYPES, parse_steps
from journeys.steps.delay import Delay, FixedTime
from journeys.steps.written import InvalidSteps
from tests.support.cases import each

DELAY = "id, type, for, until, at, timezone, days, offset, onMissing, next"
TYPES = "webhook, send, delay, in_app, wait_for_event, wait_until, branch, split, update_profile, track_event, exit"

EXIT = {"id": "out", "type": "exit", "reason": "Enough."}
SPLIT = {"id": "half", "type": "split", "paths": [{"weight": 1, "next": None}, {"weight": 1, "next": None}]}


def delay(step_id: Any = "wait", **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "delay", "for": "P1D", **fields}


def refusal_of(value: object) -> str:
    with pytest.raises(InvalidSteps) as refused:
        parse_steps(value)
    return refused.value.message


@each(
    "step",
    [
        {**EXIT, "next": "nowhere"},
        {"id": "tell", "type": "webhook", "url": f"https://example.com/{'x' * 2048}"},
        {"id": "tell", "type": "webhook", "url": "https://example.com", "body": "x" * 256 * 1024},
        {"id": "note", "type": "update_profile", "attributes": {"text": "x" * 256 * 1024}},
    ],
)
def test_what_was_saved_before_a_rule_came_is_read_all_the_same(step: dict[str, Any]) -> None:
    refusal_of([step])
    assert [read.id for read in parse_steps([step], stored=True)] == [step["id"]]


def test_the_guide_to_journeys_lists_the_types_of_steps() -> None:
    _, _, table = (ROOT / "docs" / "journeys.md").read_text().partition("| `type` | Fields | What it does |\n")
    assert tuple(re.findall(r"^\| `(\w+)`", table.partition("\n\n")[0], re.MULTILINE)) == STEP_TYPES


def test_the_history_of_steps_has_room_for_the_name_of_each_type() -> None:
    longest = StepRun._meta.get_field("type").max_length
    assert longest is not None
    assert [name for name in STEP_TYPES if len(name) > longest] == []


def test_a_journey_may_have_no_steps() -> None:
    assert parse_steps([]) == ()


def test_steps_follow_one_another_unless_next_says_otherwise() -> None:
    steps = parse_steps([delay("one", next="three"), delay("two"), delay("three", next=None), delay("four")])
    assert steps == (
        Delay(id="one", next="three", length=FixedTime(duration=timedelta(days=1))),
        Delay(id="two", next="three", length=FixedTime(duration=timedelta(days=1))),
        Delay(id="three", next=None, length=FixedTime(duration=timedelta(days=1))),
        Delay(id="four", next=None, length=FixedTime(duration=timedelta(days=1))),
    )


@each(
    "value, message",
    [
        (None, "steps must be an array, but null came."),
        ({}, "steps must be an array, but an object came."),
        (["wait"], "steps[0] must be an object, but a string came."),
        ([delay(), {"type": "delay", "for": "P1D"}], "steps[1].id is required."),
        ([delay(7)], "steps[0].id must be a string, but a number came."),
        ([delay("")], "steps[0].id must not be blank."),
        ([delay("a b")], "steps[0].id may hold letters, digits, - and _ only."),
        ([delay("é")], "steps[0].id may hold letters, digits, - and _ only."),
        ([delay("a\n")], "steps[0].id may hold letters, digits, - and _ only."),
        ([delay("a" * 101)], "steps[0].id must be at most 100 characters long, not 101."),
        ([delay("a"), delay("b"), delay("a")], "steps[2].id is 'a', which is the id of steps[0] already."),
        ([{"id": "wait", "for": "P1D"}], "steps[0].type is required."),
        ([delay(type=None)], "steps[0].type must be a string, but null came."),
        ([delay(type="dance")], f"steps[0].type must be one of {TYPES}, not 'dance'."),
        ([{"id": "wait", "type": "delay"}], "steps[0] must hold one of for, until and at."),
        ([delay(fro="P1D")], f"steps[0].fro is not known; what may stand here is {DELAY}."),
        ([delay(**{"for": 5})], "steps[0].for must be a string, but a number came."),
        ([delay(**{"for": "-P1D"})], "steps[0].for must not be negative."),
        ([delay(next="nowhere")], "steps[0].next is 'nowhere', but no step has this id."),
        ([{**EXIT, "next": "nowhere"}], "steps[0].next is 'nowhere', but no step has this id."),
        ([{**EXIT, "next": 7}], "steps[0].next must be a string, but a number came."),
        ([{**SPLIT, "next": "nowhere"}], "steps[0].next is 'nowhere', but no step has this id."),
        ([delay(next=1)], "steps[0].next must be a string, but a number came."),
        ([delay(next="")], "steps[0].next must not be blank."),
        ([delay(str(n)) for n in range(MAX_STEPS + 1)], "steps holds 201 items; its maximum is 200."),
    ],
)
def test_a_bad_definition_is_refused_with_its_place(value: object, message: str) -> None:
    assert refusal_of(value) == message


def test_the_bounds_themselves_are_allowed() -> None:
    assert len(parse_steps([delay(f"{n:0100}") for n in range(MAX_STEPS)])) == MAX_STEPS


def test_a_loop_with_a_wait_in_it_is_allowed() -> None:
    steps = [delay("a", **{"for": "PT0S"}), delay("b", **{"for": "PT1S"}, next="a")]
    assert [step.targets for step in parse_steps(steps)] == [("b",), ("a",)]


def test_a_loop_without_a_wait_is_refused_with_its_way() -> None:
    steps = [
        delay("start"),
        delay("a", **{"for": "PT0S"}),
        delay("b", **{"for": "PT0.999999S"}),
        delay("c", **{"for": "PT0S"}, next="a"),
    ]
    assert refusal_of(steps) == "steps[1] stands in a loop without a wait: a → b → c → a."


def test_the_way_of_a_loop_begins_with_the_first_of_its_steps_wherever_it_is_entered() -> None:
    ways = {"start": "b", "a": "b", "b": "a"}
    steps = [delay(step_id, **{"for": "PT0S"}, next=to) for step_id, to in ways.items()]
    assert refusal_of(steps) == "steps[1] stands in a loop without a wait: a → b → a."


def test_a_step_that_leads_to_itself_without_a_wait_is_refused() -> None:
    assert refusal_of([delay("a", **{"for": "PT0S"}, next="a")]) == ("steps[0] stands in a loop without a wait: a → a.")


@each(
    "step",
    [
        {"type": "webhook", "url": "https://example.com"},
        {"type": "branch", "cases": [{"if": {"field": "customer.plan", "op": "exists"}, "next": None}]},
        {"type": "split", "paths": [{"weight": 1, "next": "a"}, {"weight": 1, "next": None}]},
        {"type": "update_profile", "attributes": {"plan": "pro"}},
        {"type": "track_event", "eventName": "order"},
    ],
)
def test_no_other_step_is_taken_for_a_wait(step: dict[str, Any]) -> None:
    assert refusal_of([{"id": "a", "next": "a", **step}]) == "steps[0] stands in a loop without a wait: a → a."


def test_steps_that_never_wait_but_reach_the_end_are_allowed() -> None:
    parse_steps([delay("a", **{"for": "PT0S"}, next="c"), delay("b", **{"for": "PT0S"}), delay("c", **{"for": "PT0S"})])


@each(
    "text, duration",
    [
        ("P1D", timedelta(days=1)),
        ("P2W", timedelta(weeks=2)),
        ("PT5S", timedelta(seconds=5)),
        ("PT1M", timedelta(minutes=1)),
        ("PT36H", timedelta(hours=36)),
        ("P1DT2H3M4S", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("PT0.5S", timedelta(milliseconds=500)),
        ("PT0,000001S", timedelta(microseconds=1)),
        ("PT0S", timedelta()),
        ("P3650D", timedelta(days=3650)),
        ("PT315360000S", timedelta(days=3650)),
    ],
)
def test_a_duration_is_read_as_iso_8601_has_it(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


NO_FORM = "must be an ISO 8601 duration such as P1D, PT2H30M or PT5S."
NO_FIXED_LENGTH = "must not count in years or months, which have no fixed length: say days, such as P30D."
TOO_LONG = "must be at most ten years (P3650D)."


@each(
    "text, reason",
    [
        *((text, NO_FORM) for text in ("", "P", "PT", "P1DT", "1D", "5", "p1d", "PT5s", " P1D", "P1D ", "P1D\n")),
        *((text, NO_FORM) for text in ("P1H", "PT1D", "PT1S2M", "P1W2D", "P1.5D", "PT1.5H", "PT.5S", "PT5.S")),
        *((text, NO_FORM) for text in ("P+1D", "P-1D", "PT٣S", "1 00:00:00", "00:00:05", "P1D/P2D", "PT0.1234567S")),
        *((text, NO_FIXED_LENGTH) for text in ("P1Y", "P1M", "P1Y2M3D", "P1MT1M")),
        *((text, "must not be negative.") for text in ("-P1D", "-PT5S")),
        *((text, TOO_LONG) for text in ("P3651D", "P522W", "PT315360001S", "P999999999W")),
    ],
)
def test_anything_else_is_no_duration(text: str, reason: str) -> None:
    with pytest.raises(InvalidDuration) as refused:
        parse_duration(text)
    assert str(refused.value) == reason

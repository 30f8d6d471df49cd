"""Whatever a journey looks like: it is refused with the places, or it can be walked, and every walk stops."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from journeys.steps.context import EarlyEvent
from journeys.steps.course import MAX_STEPS_IN_ONE_GO, Course, parse_course, walk_on
from journeys.steps.definition import STEP_TYPES, names_within, parse_steps
from journeys.steps.exit_rules import InvalidExitRules, parse_exit_rules
from journeys.steps.provider import parse_provider
from journeys.steps.rehearsal import rehearse
from journeys.steps.results import (
    Answered,
    Arrival,
    AwaitChange,
    AwaitEvent,
    Ended,
    First,
    Heard,
    Pause,
    Send,
    Stop,
    TimedOut,
    Wait,
)
from journeys.steps.surroundings import Surroundings
from journeys.steps.written import InvalidSteps
from tests.journeys.steps.any_steps import STEPS, Definition, definitions
from tests.journeys.steps.contexts import NOW, context

EARLY = EarlyEvent(id="6560a1b2c3d4e5f607182902", name="order", properties="{}", from_bridge=False, chain=1, serial=7)
MAILER = parse_provider(
    {
        "url": "https://example.com/{{ inputs.to }}",
        "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
    },
    connection_id="6560a1b2c3d4e5f607182903",
    key="mailer",
)
SURROUNDINGS = Surroundings(providers={"mailer": MAILER}, messages={"sale"})


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """What is refused is drawn anew; Hypothesis complains where that is nearly all."""
    try:
        return parse_course(*draw(definitions()))
    except InvalidSteps:
        reject()


# What stands where something else should: wrong types, and what is right in another place.
JUNK: list[Any] = [
    None, True, 0, -1, 1e308, 10**30, "", " ", "\0", "PT0S", "P1D", "-P9999D", "soon", "9999-12-31T23:59:59Z", "24:00",
    "Mars/Base", "a", "{{ customer.plan }}", "{{ customer.seats | date: 5 }}", "{% for x in (1..99999) %}x{% endfor %}",
    "{{", "a\r\nb", "https://[::1", "steps.a.n", "customer.plan", [], [[]], ["mo", "mo"], [7] * 30, {}, {"now": "-P1D"},
    {"now": 5}, {"$value": "api.payload.n"}, {"$value": "customer.x |"}, {"$value": 5, "more": 1}, {"to": "event.name"},
    {"field": "customer.plan", "op": "in", "to": "customer.plan"}, {"field": "event.name", "op": "gt", "value": "10"},
    {"field": "steps.a.n", "op": "exists"}, {"from": "customer.seats", "else": "UTC"}, {"basic": {"user": "{{ x }}"}},
]  # fmt: skip
NAMES = [
    "to",
    "value",
    "$value",
    "default",
    "if",
    "where",
    "for",
    "at",
    "offset",
    "timezone",
    "next",
    "keep",
    "body",
    "x",
]


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each object or array within the document, with each of its names or numbers."""
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for name, member in list(members):
        yield document, name
        if isinstance(member, dict | list):
            yield from _places(member)


@st.composite
def spoiled(draw: st.DrawFn) -> Definition:
    """A definition in which up to three places hold something else, more, or nothing."""
    document = deepcopy(list(draw(definitions())))
    for _ in range(draw(st.integers(0, 3))):
        inside, name = draw(st.sampled_from([place for place in _places(document) if place[0] is not document]))
        match draw(st.sampled_from(["other", "other", "more", "nothing"])):
            case "nothing":
                del inside[name]
            case "more" if isinstance(inside, dict):
                inside[draw(st.sampled_from(NAMES))] = deepcopy(draw(st.sampled_from(JUNK)))
            case _:
                inside[name] = deepcopy(draw(st.sampled_from(JUNK)))
    return document[0], document[1]


ARRIVALS: dict[type[Stop], list[Arrival]] = {
    Wait: [TimedOut()],
    AwaitEvent: [Heard(), TimedOut()],
    AwaitChange: [Heard(), TimedOut()],
    Send: [Answered(ok=True, reason="It said 200."), Answered(ok=False, reason="It said 500.")],
    Pause: [First()],
}


def test_courses_are_drawn_of_all_types() -> None:
    assert STEPS.keys() == set(STEP_TYPES)


@pytest.mark.slow
@given(course=courses(), data=st.data())
def test_every_walk_stops_and_can_be_taken_up_again(course: Course, data: st.DataObject) -> None:
    walk_to_the_end(course, data)


@given(definition=spoiled(), data=st.data())
def test_whatever_is_written_is_refused_with_its_places_or_walks(definition: Definition, data: st.DataObject) -> None:
    steps, exit_on = definition
    try:
        parse_steps(steps)
        parse_exit_rules(exit_on, names=names_within(steps))
    except (InvalidSteps, InvalidExitRules) as refusal:
        for found in refusal.all_found():
            assert found.place.startswith(("steps", "exitOn"))
            assert found.message.startswith(f"{found.place} ")
        return
    if steps:
        walk_to_the_end(parse_course(steps, exit_on), data)


def walk_to_the_end(course: Course, data: st.DataObject) -> None:
    """On any way, for at most 20 stops."""
    payload = {"n": 3, "plans": ["pro", None]}
    at, walked = replace(context(payload=payload), surroundings=SURROUNDINGS), str(course.first)
    arrival: Arrival = First()
    for _ in range(20):
        at.early = data.draw(st.sampled_from([None, EARLY]))
        walk = walk_on(course, at, step_id=walked, arrival=arrival)
        assert len(walk.step_records) <= MAX_STEPS_IN_ONE_GO + 1
        assert sum(step.heard is not None for step in walk.step_records) <= 1
        assert [step.resumed for step in walk.step_records] == [
            not isinstance(arrival, First) and index == 0 for index in range(len(walk.step_records))
        ]
        if isinstance(walk.stop, Ended):
            return
        assert walk.stop.step_id in course.steps
        if isinstance(walk.stop, Wait | AwaitEvent | AwaitChange):
            assert walk.stop.due_at > at.now
            at.now = walk.stop.due_at
        at.waits_until = walk.stop.until if isinstance(walk.stop, AwaitChange) else None
        walked, arrival = walk.stop.step_id, data.draw(st.sampled_from(ARRIVALS[type(walk.stop)]))


@given(course=courses())
def test_every_rehearsal_ends_or_is_stopped_and_its_clock_never_goes_back(course: Course) -> None:
    rehearsal = rehearse(course, replace(context(), surroundings=SURROUNDINGS), at_most=60)
    times = [step.at for step in rehearsal.steps]
    assert times == sorted(times)
    assert all(time >= NOW for time in times)
    assert rehearsal.ended is not None or len(times) == 60
    assert rehearsal.ended is not None or times[-1] >= NOW + timedelta(seconds=1)

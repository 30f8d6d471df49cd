"""Whatever a journey looks like: what is accepted can be walked, and every walk stops."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

from journeys.steps.context import EarlyEvent
from journeys.steps.course import MAX_STEPS_IN_ONE_GO, Course, parse_course, walk_on
from journeys.steps.definition import STEP_TYPES
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
from tests.journeys.steps.contexts import NOW, context
from tests.support.factories import PRO

IDS = ["a", "b", "c", "d"]
URLS = ["https://example.com", "https://example.com/{{ 1 | divided_by: 0 }}"]
EARLY = EarlyEvent(id="6560a1b2c3d4e5f607182902", name="order", properties="{}", from_bridge=False, chain=1, serial=7)
targets = st.sampled_from([*IDS, None])
# What a step of each type may hold beside its id.
STEPS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "delay": st.one_of(
        st.fixed_dictionaries({"for": st.sampled_from(["PT0S", "PT1S", "P1D"])}),
        st.fixed_dictionaries(
            {"at": st.sampled_from(["2026-12-24", "2020-01-01", "{{ x }}", "9999-12-31"])},
            optional={
                "offset": st.sampled_from(["-P2D", "P3650D"]),
                "timezone": st.sampled_from(["Asia/Tokyo", {"from": "customer.plan", "else": "UTC"}]),
                "onMissing": st.just("continue"),
            },
        ),
        st.fixed_dictionaries(
            {"until": st.just("09:00"), "timezone": st.just("UTC")}, optional={"days": st.just(["mo", "su"])}
        ),
    ),
    "wait_for_event": st.fixed_dictionaries(
        {"event": st.sampled_from(["order", "left"]), "timeout": st.just("PT2S")},
        optional={"onEvent": targets, "onTimeout": targets},
    ),
    "wait_until": st.fixed_dictionaries(
        {
            "if": st.sampled_from(
                [PRO, {"field": "customer.since", "op": "before", "value": {"now": "-P1D"}}, {"not": PRO}]
            ),
            "timeout": st.just("PT2S"),
        },
        optional={"onTrue": targets, "onTimeout": targets},
    ),
    "branch": st.fixed_dictionaries(
        {
            "cases": st.lists(
                st.fixed_dictionaries({"if": st.sampled_from([PRO, {"not": PRO}]), "next": targets}),
                min_size=1,
                max_size=2,
            )
        },
        optional={"else": targets},
    ),
    "split": st.fixed_dictionaries(
        {"paths": st.lists(st.fixed_dictionaries({"weight": st.just(1), "next": targets}), min_size=2, max_size=3)}
    ),
    "update_profile": st.fixed_dictionaries({"attributes": st.just({"plan": "{{ customer.plan }}x"})}),
    "track_event": st.fixed_dictionaries({"eventName": st.sampled_from(["order", "left"])}),
    "webhook": st.fixed_dictionaries(
        {"url": st.sampled_from(URLS)},
        optional={
            "onFailure": st.just("exit"),
            "keep": st.just({"n": "n"}),
            "form": st.sampled_from([{}, {"a": {"$value": "steps.a.n"}}, {"a": {"$value": "customer.plan"}}]),
        },
    ),
    "send": st.fixed_dictionaries(
        {
            "connection": st.sampled_from(["mailer", "gone"]),
            "inputs": st.fixed_dictionaries({"to": st.sampled_from(["{{ customer.email }}", "{{ x }}", " ", 7])}),
        },
        optional={"onFailure": st.just("exit")},
    ),
    "exit": st.fixed_dictionaries({"reason": st.just("Enough.")}),
}
MAILER = parse_provider(
    {
        "url": "https://example.com/{{ inputs.to }}",
        "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
    },
    connection_id="6560a1b2c3d4e5f607182903",
    key="mailer",
)
SURROUNDINGS = Surroundings(providers={"mailer": MAILER})


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """A course of four steps. What is refused is drawn anew; Hypothesis complains where that is nearly all."""
    definition: list[dict[str, Any]] = []
    for step_id in IDS:
        step_type = draw(st.sampled_from(list(STEPS)))
        following = {"next": draw(targets)} if draw(st.booleans()) else {}
        definition.append({"id": step_id, "type": step_type, **draw(STEPS[step_type]), **following})
    rules = draw(
        st.sampled_from([None, [{"event": "left"}], [{"if": {"field": "customer.plan", "op": "eq", "value": "prox"}}]])
    )
    try:
        return parse_course(definition, rules)
    except InvalidSteps:
        reject()


ARRIVALS: dict[type[Stop], list[Arrival]] = {
    Wait: [TimedOut()],
    AwaitEvent: [Heard(), TimedOut()],
    AwaitChange: [Heard(), TimedOut()],
    Send: [Answered(ok=True, reason="It said 200."), Answered(ok=False, reason="It said 500.")],
    Pause: [First()],
}


def test_courses_are_drawn_of_all_types() -> None:
    assert STEPS.keys() == set(STEP_TYPES)


@given(course=courses(), data=st.data())
def test_every_walk_stops_and_can_be_taken_up_again(course: Course, data: st.DataObject) -> None:
    at, walked = replace(context(), surroundings=SURROUNDINGS), "a"
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

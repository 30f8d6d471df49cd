"""The parsed courses that a process keeps: as many as there is room for, by their size."""

import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from engage.process.bounded_cache import BoundedCache
from journeys.engine.enrollments import revisions
from journeys.engine.enrollments.revisions import courses_of
from journeys.models import Journey, JourneyRevision
from journeys.steps.course import Course, parse_course

ROOM = 2_000_000
Steps = list[dict[str, Any]]


def hook(body: object) -> dict[str, Any]:
    return {"id": "send", "type": "webhook", "url": "https://shop.example/", "body": body}


SMALL: Steps = [{"id": "day", "type": "delay", "for": "P1D"}]
LARGE: Steps = [hook(["{{ customer.a }}"] * 150)]


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "_known", BoundedCache[int, Course](most=ROOM))


def revision(journey: Journey, number: int, steps: Steps) -> int:
    made = JourneyRevision.objects.create(
        workspace_id=journey.workspace_id, journey=journey, number=number, steps=steps, exit_on=[], exit_events=[]
    )
    return made.id


def course(revision_id: int) -> Course:
    return courses_of([revision_id]).of(revision_id)


def memory_of(made: Callable[[], Any]) -> int:
    gc.disable()  # what is made then is young to the end, and the rest of the process need not be looked at
    tracemalloc.start()
    try:
        kept = made()
        gc.collect(0)
        taken = tracemalloc.get_traced_memory()[0]
        del kept
        return taken
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.slow
def test_however_many_large_courses_are_parsed_little_memory_is_kept(journey: Journey) -> None:
    ids = [revision(journey, number, LARGE) for number in range(2, 32)]
    course(ids[0])  # what is made once for all courses
    assert memory_of(lambda: [course(one).first for one in ids]) < 2 * ROOM


def test_those_used_last_are_kept(journey: Journey) -> None:
    often, *others = [revision(journey, number, LARGE) for number in range(2, 32)]
    kept = course(often)
    for one in others:
        course(one)
        assert course(often) is kept
    assert course(others[-1]) is course(others[-1])
    first = course(others[0])
    assert course(others[0]) is first


def test_a_small_course_is_kept_beside_many_others(journey: Journey) -> None:
    small = [revision(journey, number, SMALL) for number in range(2, 302)]
    kept = [course(one) for one in small]
    assert all(course(one) is before for one, before in zip(small, kept, strict=True))


def test_one_larger_than_the_room_is_kept_until_the_next(journey: Journey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "_known", BoundedCache[int, Course](most=1))
    one, other = (revision(journey, number, LARGE) for number in (2, 3))
    kept = course(one)
    assert course(one) is kept
    course(other)
    assert course(one) is not kept


@pytest.mark.parametrize(
    "body",
    [
        ["{{a}}"] * 500,
        ["{{a}}" * 500],
        ["{% if a %}{% endif %}" * 200],
        ["{{ a" + " | size" * 240 + " }}"] * 5,
        ["{% if a and b and c and d or e %}x{% endif %}" * 60],
        [[]] * 5_000,
        [{}] * 5_000,
        [1.5] * 5_000,
        ["text"] * 5_000,
        {f"name {number}": None for number in range(3_000)},
        "x" * 200_000,
    ],
    ids=lambda body: json.dumps(body)[:24],
)
def test_what_a_course_is_taken_to_need_is_about_the_most_that_it_needs(body: object) -> None:
    steps: Steps = [hook(body)]
    written = json.dumps(steps)
    parse_course([hook("{{ a }}")], [])  # what is made once for all courses
    needed = memory_of(lambda: parse_course(json.loads(written), []))
    assert needed < 1.5 * revisions._size((steps, []))

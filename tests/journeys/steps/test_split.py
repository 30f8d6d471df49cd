"""Splits: by chance, and always the same way for the same customer."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeys.steps.split import Split
from tests.customers.facts import NOBODY
from tests.journeys.steps.contexts import context, course, refusal_of, walk
from tests.support.cases import each


def split(*weights: object, step_id: str = "test") -> dict[str, Any]:
    return {"id": step_id, "type": "split", "paths": [{"weight": weight, "next": None} for weight in weights]}


def parsed(step: dict[str, Any]) -> Split:
    found = course(step).steps[step["id"]]
    assert isinstance(found, Split)
    return found


def shares(step: Split, customers: int, journey_id: str = "j") -> list[float]:
    paths = [step.path_of(journey_id=journey_id, customer_id=f"customer-{number}") for number in range(customers)]
    return [paths.count(index) / customers for index in range(len(step.paths))]


@pytest.mark.slow
@given(weights=st.lists(st.floats(0.05, 1) | st.integers(1, 3), min_size=2, max_size=6), journey=st.text(max_size=5))
def test_the_shares_are_near_the_weights(weights: list[float], journey: str) -> None:
    expected = [weight / sum(weights) for weight in weights]
    # Five standard deviations of the share of 2,000 customers are 0.056 at most.
    for share, weight in zip(shares(parsed(split(*weights)), 2000, journey), expected, strict=True):
        assert abs(share - weight) < 0.06


def test_a_customer_always_goes_the_same_way_and_others_others() -> None:
    ways = {walk_of("ada").detail, walk_of("ada").detail}
    assert len(ways) == 1
    assert {walk_of(f"customer-{number}").detail for number in range(50)} == {
        "Path 1 of 2: goes on to 'a'.",
        "Path 2 of 2: the journey ends.",
    }


def walk_of(customer_id: str) -> Any:
    test = {"id": "test", "type": "split", "paths": [{"weight": 1, "next": "a"}, {"weight": 1, "next": None}]}
    end = {"id": "a", "type": "exit", "reason": "Enough."}
    return walk(course(test, end), context(customer=replace(NOBODY, id=customer_id))).step_records[0]


def test_the_way_in_one_step_says_nothing_of_the_way_in_another() -> None:
    one, other = parsed(split(1, 1, step_id="one")), parsed(split(1, 1, step_id="other"))
    ids = [f"customer-{number}" for number in range(2000)]
    same = sum(one.path_of(journey_id="j", customer_id=x) == other.path_of(journey_id="j", customer_id=x) for x in ids)
    assert 0.44 < same / len(ids) < 0.56


def test_the_ways_stay_as_they_are_from_one_release_to_the_next() -> None:
    step = parsed(split(*range(1, 21)))
    assert [step.path_of(journey_id="j", customer_id=str(number)) for number in range(10)] == WAYS


WAYS = [1, 11, 16, 13, 14, 9, 13, 14, 9, 7]


def test_the_bounds_themselves_are_allowed() -> None:
    assert len(parsed(split(*[1_000_000] * 20)).paths) == 20


@each(
    "step, message",
    [
        (split(1), "steps[0].paths must hold at least two paths."),
        (split(*[1] * 21), "steps[0].paths holds 21 items; its maximum is 20."),
        (split(1, 0), "steps[0].paths[1].weight must be more than 0 and at most 1,000,000."),
        (split(1, -1), "steps[0].paths[1].weight must be more than 0 and at most 1,000,000."),
        (split(1, 1_000_001), "steps[0].paths[1].weight must be more than 0 and at most 1,000,000."),
        (split(1, float("nan")), "steps[0].paths[1].weight must be more than 0 and at most 1,000,000."),
        (split(1, True), "steps[0].paths[1].weight must be a number, but a boolean came."),
        (split(1, "2"), "steps[0].paths[1].weight must be a number, but a string came."),
        ({"id": "x", "type": "split", "paths": [{"weight": 1}]}, "steps[0].paths[0].next is required."),
        (
            {"id": "x", "type": "split", "paths": [{"weight": 1, "next": "nowhere"}]},
            "steps[0].paths[0].next is 'nowhere', but no step has this id.",
        ),
    ],
)
def test_a_bad_split_is_refused_with_its_place(step: dict[str, Any], message: str) -> None:
    assert refusal_of(step) == message

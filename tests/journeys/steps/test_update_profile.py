"""Attributes that a journey writes."""

from dataclasses import replace
from typing import Any

from journeys.steps.results import Ended, StepRecord
from tests.customers.facts import NOBODY
from tests.journeys.steps.contexts import ADA, context, course, refusal_of, walk
from tests.support.cases import each


def update(attributes: object, **fields: Any) -> dict[str, Any]:
    return {"id": "grade", "type": "update_profile", "attributes": attributes, **fields}


def test_attributes_are_rendered_and_written() -> None:
    greeting = ["{{ customer.first_name }}", {"x": None}]
    walked = walk(course(update({"plan": "max", "seats": 13, "hi": greeting, "old": None})))
    assert walked.step_records == (
        StepRecord(
            step_id="grade",
            type="update_profile",
            resumed=False,
            state="done",
            detail="Wrote plan, seats, hi, old.",
            writes={"plan": "max", "seats": 13, "hi": ["Ada", {"x": None}], "old": None},
        ),
    )
    assert walked.stop == Ended(step_id="grade", exited=False, reason="The last step is done.")


def test_later_steps_and_conditions_see_what_was_written_and_the_customer_before_does_not_change() -> None:
    again = {"id": "again", "type": "update_profile", "attributes": {"note": "{{ customer.plan }}{{ customer.seats }}"}}
    given = context()
    walked = walk(course(update({"plan": "max", "seats": None}), again), given)
    assert walked.step_records[1].writes == {"note": "max"}
    assert walked.step_records[1].missing == ("customer.seats",)
    assert given.customer.attributes == {
        "first_name": "Ada", "plan": "max", "address": {"city": "London"}, "tags": ["a", "b"], "note": "max",
    }  # fmt: skip
    assert ADA.attributes["plan"] == "pro"


def test_a_condition_that_comes_true_with_a_write_ends_before_the_next_step() -> None:
    end = {"id": "end", "type": "exit", "reason": "Never here."}
    rule = {"if": {"field": "customer.plan", "op": "eq", "value": "max"}}
    walked = walk(course(update({"plan": "max"}), end, exit_on=[rule]))
    assert walked.stop == Ended(step_id="end", exited=True, reason="Exit condition 1 of 1 holds.")


def test_an_attribute_that_cannot_be_rendered_leaves_all_unwritten() -> None:
    given = context()
    walked = walk(course(update({"plan": "max", "x": "{{ customer.nobody }}{{ 1 | divided_by: 0 }}"})), given)
    step_record = walked.step_records[0]
    assert (step_record.state, step_record.writes, step_record.missing) == ("failed", None, ("customer.nobody",))
    assert step_record.detail == (
        "The template of attributes.x failed: the filter divided_by cannot work with what it was given."
    )
    assert given.customer is ADA


def test_a_profile_that_would_grow_too_big_stays_as_it_is() -> None:
    full = replace(NOBODY, attributes={"big": "x" * 210_000})
    given = context(customer=full)
    attributes = {"more": "{{ customer.big | slice: 0, 60000 }}", "most": "{{ customer.big | slice: 0, 10000 }}"}
    step_record = walk(course(update(attributes)), given).step_records[0]
    assert (step_record.state, step_record.writes) == ("failed", None)
    assert step_record.detail == "The profile's attributes would come to 280030 bytes of JSON; the maximum is 278528."
    assert given.customer is full


@each("names, more", [(5, ""), (6, " and 1 more"), (8, " and 3 more")])
def test_many_names_are_cut_short_in_the_detail(names: int, more: str) -> None:
    step_record = walk(course(update({f"a{number}": number for number in range(names)}))).step_records[0]
    assert step_record.detail == f"Wrote a0, a1, a2, a3, a4{more}."


DEEP: dict[str, Any] = {"a": [[[[[[[[[[1]]]]]]]]]]}


@each(
    "attributes, message",
    [
        (None, "steps[0].attributes must be an object, but null came."),
        ([], "steps[0].attributes must be an object, but an array came."),
        ({}, "steps[0].attributes must hold at least one attribute."),
        ({"$plan": 1}, "The attribute name '$plan' in steps[0].attributes starts with $, which is kept for "),
        ({"": 1}, "The attribute name '' in steps[0].attributes is empty."),
        ({"__proto__": 1}, "The attribute name '__proto__' in steps[0].attributes is reserved."),
        (DEEP, "steps[0].attributes is nested more than 10 deep."),
        (
            {"text": "x" * 256 * 1024},
            "The profile's attributes would come to 262155 bytes of JSON; the maximum is 262144.",
        ),
        ({"a": {"b": "{% if %}"}}, "steps[0].attributes.a.b is no valid template: "),
    ],
)
def test_a_bad_update_is_refused_with_its_place(attributes: object, message: str) -> None:
    assert refusal_of(update(attributes)).startswith(message)

"""The kinds of steps as data: every field is told to authors, and the same is JSON Schema."""

from datetime import timedelta

from jsonschema import Draft202012Validator

from engage.json.described import names_of
from journeys.engine.steering.guards import EntryGuard, FailureGuard, Guards, parse_guards
from journeys.journey.asked import GOALS, GUARDS, HOLD_OUT
from journeys.rules.hold_out import parse_hold_out
from journeys.steps.definition import KINDS, parse_steps
from journeys.steps.description import described, exit_rule, fields_of, flat, schema
from journeys.steps.goals import Goal, parse_goals
from journeys.steps.kinds import examples_of
from tests.journeys.steps.any_steps import STEPS

EDITORS = {
    "words", "text", "time", "event", "message", "connection", "choice", "flag", "whole", "weight", "offset",
    "condition", "members", "headers", "paths", "json", "duration", "zone", "days", "step", "in_app_step", "list",
    "auth", "inputs", "number", "percent", "object",
}  # fmt: skip


def test_every_field_of_every_kind_is_told() -> None:
    beside = [exit_rule(), *GUARDS["fields"], *HOLD_OUT["fields"], *GOALS["fields"]]
    for kind in KINDS:
        names = names_of(kind)
        told = [field["name"] for field in flat(fields_of(kind))]
        assert set(told) - {"next"} == {*names.required, *names.optional} - {"next"}, kind.type
        for field in [*flat(fields_of(kind)), *flat(beside)]:
            assert field["label"]
            assert field["type"] in EDITORS
            assert {inner["type"] for inner in field.get("fields", ())} <= EDITORS


def test_a_new_step_of_each_kind_can_be_read_once_it_is_filled_in() -> None:
    assert STEPS.keys() == {one["type"] for one in described()}
    for one in described():
        assert set(one["start"]) >= {"type", *names_of(next(k for k in KINDS if k.type == one["type"])).required}


def test_what_is_asked_of_goals_and_of_the_hold_out_is_what_they_are() -> None:
    names = names_of(Goal)
    assert {field["name"] for field in GOALS["fields"]} == {*names.required, *names.optional}
    begun = {field["name"]: field["start"] for field in GOALS["fields"] if "start" in field}
    assert parse_goals([{**begun, "key": "bought", "event": "order_paid"}])[0].span == timedelta(days=7)
    assert parse_hold_out({field["name"]: field["start"] for field in flat(HOLD_OUT["fields"])}) == 0.1


def test_what_is_asked_of_guards_is_what_they_are() -> None:
    begun = {field["name"]: field["start"] for field in flat(GUARDS["fields"])}
    assert parse_guards(begun) == Guards(
        failures=FailureGuard(failed_share=0.5, of=50), entries=EntryGuard(entries=50_000, per=timedelta(hours=1))
    )


def test_the_schema_takes_what_is_right_and_refuses_other_names_and_types() -> None:
    validator = Draft202012Validator(schema())
    Draft202012Validator.check_schema(schema())
    examples = [example for kind in KINDS for example in examples_of(kind)]
    parse_steps(examples)
    assert [error.message for error in validator.iter_errors(examples)] == []
    wrong = ({"for": 5}, {"for": "P1D", "more": 1}, {"for": "tomorrow"})
    for fields in wrong:
        assert list(validator.iter_errors([{"id": "a", "type": "delay", **fields}])), fields

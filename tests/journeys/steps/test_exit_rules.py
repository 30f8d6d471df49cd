"""`exitOn`: what ends an enrollment wherever it stands."""

from typing import Any

import pytest

from journeys.steps.context import Occurrence
from journeys.steps.events import nothing_known
from journeys.steps.exit_rules import ExitRules, InvalidExitRules, parse_exit_rules
from tests.journeys.steps.contexts import NOW, context
from tests.support.cases import each
from tests.support.factories import PRO

PAID = {"field": "api.payload.paid", "op": "exists"}
PRICEY = {"field": "event.properties.price", "op": "gt", "value": 10}
RULES = [{"event": "order", "where": PRICEY}, {"if": PAID}, {"event": "left"}, {"event": "order"}, {"if": PRO}]


def test_rules_are_read() -> None:
    rules = parse_exit_rules(RULES)
    assert [pattern.name for pattern in rules.events] == ["order", "left", "order"]
    assert len(rules.conditions) == 2
    assert rules.event_names == ("left", "order")


@each("value", [None, []])
def test_there_may_be_none(value: object) -> None:
    rules = parse_exit_rules(value)
    assert rules == ExitRules()
    assert rules.event_names == ()
    assert rules.matching(Occurrence(name="order", properties={}), from_bridge=False, known=nothing_known(NOW)) is None
    assert rules.holding(context().facts()) is None


@each(
    "name, properties, reason",
    [
        ("order", {"price": 12}, "The event 'order' ends the journey."),
        ("order", {"price": 9}, None),
        ("left", {}, "The event 'left' ends the journey."),
        ("other", {"price": 12}, None),
    ],
)
def test_an_event_that_matches_says_why(name: str, properties: dict[str, Any], reason: str | None) -> None:
    rules = parse_exit_rules([{"event": "order", "where": PRICEY}, {"event": "left", "where": None}])
    assert (
        rules.matching(Occurrence(name=name, properties=properties), from_bridge=True, known=nothing_known(NOW))
        == reason
    )


def test_a_condition_that_holds_says_which() -> None:
    assert parse_exit_rules([{"if": PAID}, {"if": PRO}]).holding(context().facts()) == "Exit condition 2 of 2 holds."
    assert parse_exit_rules([{"if": PAID}]).holding(context().facts()) is None


def test_there_may_be_20_rules_and_names_of_255_characters() -> None:
    assert len(parse_exit_rules([{"event": "x" * 255}] * 20).events) == 20


@each(
    "value, message",
    [
        ({}, "exitOn must be an array, but an object came."),
        ([{}], "exitOn[0] must hold event, or if."),
        (["order"], "exitOn[0] must be an object, but a string came."),
        ([{"event": "a", "if": PRO}], "exitOn[0].event is not known; what may stand here is if."),
        ([{"if": PRO, "where": PRICEY}], "exitOn[0].where is not known; what may stand here is if."),
        ([{"event": ""}], "exitOn[0].event must not be blank."),
        ([{"event": "x" * 256}], "exitOn[0].event must be at most 255 characters long, not 256."),
        (
            [{"event": "a"}, {"event": "a", "where": {"field": "event.name", "op": "is"}}],
            "exitOn[1].where.op must be one of ",
        ),
        (
            [{"event": "a", "where": PRO | {"field": "plan"}}],
            "exitOn[0].where.field is 'plan', which is no field here; ",
        ),
        ([{"if": {"any": []}}], "exitOn[0].if.any must hold at least one condition."),
        ([{"if": None}], "exitOn[0].if must be an object, but null came."),
        ([{"event": "a"}] * 21, "exitOn holds 21 items; its maximum is 20."),
    ],
)
def test_bad_rules_are_refused_with_their_place(value: object, message: str) -> None:
    with pytest.raises(InvalidExitRules) as refused:
        parse_exit_rules(value)
    assert refused.value.message.startswith(message)

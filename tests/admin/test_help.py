"""The forms tell how steps and conditions are written; what they tell is what the service takes."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from customers.admin.condition_help import COMBINATIONS, OPERATIONS
from customers.conditions import InvalidCondition, Root, parse_condition
from engage.admin.parts.columns import json_line
from engage.models import Workspace
from journeys.journey.studio.help import EXITS, VARIABLES
from journeys.steps.definition import KINDS, parse_steps
from journeys.steps.exit_rules import parse_exit_rules
from journeys.steps.kinds import examples_of
from journeys.steps.written import InvalidSteps

JOURNEY, SEGMENT = "/admin/journeys/journey/add/", "/admin/customers/segment/add/"
WRITTEN = [example for kind in KINDS for example in examples_of(kind)]


def known_fields(step: dict[str, Any]) -> set[str]:
    """The fields that a step of this type may have, as its refusal tells them."""
    with pytest.raises(InvalidSteps) as refused:
        parse_steps([{**step, "nonsense": 1}])
    return set(refused.value.message.rstrip(".").partition("may stand here is ")[2].split(", "))


def test_the_form_of_a_journey_tells_every_type_of_step(staff: Client, acme: Workspace) -> None:
    page = unescape(staff.get(JOURNEY).content.decode())
    for kind in KINDS:
        assert f"<code>{kind.type}</code>" in page
        assert all(f"<code>{json_line(example)}</code>" in page for example in examples_of(kind))
    assert all(f"<code>{{{{ {name} }}}}</code>" in page for name in VARIABLES)
    assert ".md" not in page


def test_both_forms_tell_every_operation_of_conditions(staff: Client, acme: Workspace) -> None:
    for url in (JOURNEY, SEGMENT):
        page = unescape(staff.get(url).content.decode())
        for operation in (*OPERATIONS, *COMBINATIONS):
            assert f"<code>{operation.written}</code>" in page
            assert all(f"<code>{op}</code>" in page for op in operation.ops)
        assert ".md" not in page
    with pytest.raises(InvalidCondition) as refused:
        parse_condition({"field": "customer.plan", "op": "nonsense"}, roots=list(Root))
    told = [op for operation in OPERATIONS for op in operation.ops]
    known = refused.value.message.partition("must be one of ")[2].partition(", not ")[0]
    assert sorted(told) == sorted(known.split(", "))


def test_the_steps_that_are_shown_are_a_journey(subtests: pytest.Subtests) -> None:
    assert len(parse_steps(WRITTEN)) == len(WRITTEN)
    for kind in KINDS:
        with subtests.test(type=kind.type):
            examples = examples_of(kind)
            assert {field for example in examples for field in example} | {"next"} == known_fields(examples[0])


def test_the_conditions_and_exits_that_are_shown_are_such() -> None:
    for operation in (*OPERATIONS, *COMBINATIONS):
        for op in operation.ops:
            example = {**operation.example, "op": op} if operation in OPERATIONS else operation.example
            parse_condition(example, roots={Root.CUSTOMER})
    assert parse_exit_rules(list(EXITS)).event_names == ("bought",)

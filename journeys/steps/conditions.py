"""Conditions of a definition, which may ask for what its steps keep."""

from collections.abc import Collection

from customers.conditions import ENROLLED, Condition, Field, InvalidCondition, Root, parse_condition, tests_of
from engage.json.documents import Part
from journeys.rendering import NAMES, Names, may_have_a_value
from journeys.steps.written import Written


def read_condition(part: Part, *, stored: bool, names: Names = NAMES, roots: Collection[Root] = ENROLLED) -> Condition:
    """The condition in this part, which may be `stored` (see `parse_condition`).

    What steps keep must be among the `names`. Refuses an invalid one with the document's own refusal.
    """
    try:
        condition = parse_condition(part.value, roots=roots, place=part.place, stored=stored)
    except InvalidCondition as invalid:
        part.refuse_for(invalid)
    if not stored:
        for test in tests_of(condition):
            for field in test.fields:
                refuse_unkept(part, field, names)
    return condition


def condition_within(where: Written, part: Part) -> Condition:
    """The condition in this part of what is being parsed."""
    return read_condition(part, stored=where.stored, names=where.names)


def refuse_unkept(part: Part, field: Field, names: Names) -> None:
    """Refuses the part if it asks for what no step keeps."""
    if field.root is Root.STEPS and not may_have_a_value((Root.STEPS.value, *field.path), names):
        part.refuse(f"asks for {field.name}, which no step keeps.")

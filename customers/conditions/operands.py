"""Which `value` each `op` takes."""

from enum import StrEnum
from typing import Any

from customers.conditions.instants import parse_instant
from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH, depth, describe, unstorable

MAX_LISTED = 1000


class Op(StrEnum):
    """What a test does. `ne`, `not_in` and `not_exists` are parsed as `not` around these."""

    EQ = "eq"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    EXISTS = "exists"
    BEFORE = "before"
    AFTER = "after"


def parse_operand(part: Part, op: Op) -> Any:
    """The value that the test compares with: JSON; for `in` a list of it, for `before` and `after` a datetime."""
    match op:
        case Op.IN:
            return [_json(item) for item in _listed(part)]
        case Op.GT | Op.GTE | Op.LT | Op.LTE:
            return _of_type(part, int, float, str, expected="a number or a string")
        case Op.CONTAINS:
            return _of_type(part, int, float, str, bool, expected="a string, a number or a boolean")
        case Op.STARTS_WITH | Op.ENDS_WITH:
            return _of_type(part, str, expected="a string")
        case Op.BEFORE | Op.AFTER:
            text = _of_type(part, str, expected="a string")
            instant = parse_instant(text)
            if instant is None:
                part.refuse("must be a time in ISO 8601 such as 2026-11-20 or 2026-11-20T19:08:00Z.")
            return instant
        case _:
            return _json(part)


def refuse_templates(part: Part) -> None:
    """Refuses a value that holds a template: conditions compare with what is written, so it would equal nothing."""
    match part.value:
        case str() as text if "{{" in text or "{%" in text:
            part.refuse("is a template, but a condition compares with the text as it is written.")
        case list():
            for item in part.items():
                refuse_templates(item)
        case dict():
            for member in part.members().values():
                refuse_templates(member)


def _listed(part: Part) -> list[Part]:
    items = part.items(at_most=MAX_LISTED)
    if not items:
        part.refuse("must hold at least one value.")
    return items


def _of_type(part: Part, *types: type, expected: str) -> Any:
    if type(part.value) not in types:
        part.refuse(f"must be {expected}, but {describe(part.value)} came.")
    return _json(part)


def _json(part: Part) -> Any:
    """Any JSON value that can be stored, except null: nothing equals it; `exists` and `not_exists` test for it."""
    if part.is_null:
        part.refuse("must not be null; exists and not_exists ask whether there is a value.")
    if depth(part.value) > STORED_DEPTH:
        part.refuse(f"is nested more than {STORED_DEPTH} deep.")
    if problem := unstorable(part.value):
        part.refuse(f"holds {problem}, which cannot be stored.")
    return part.value

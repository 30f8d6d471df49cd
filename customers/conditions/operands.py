"""Which `value` each `op` takes."""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from customers.conditions.instants import parse_instant
from customers.identifier_rules import comparable_email, one_spelling, stored_phone
from engage.json.documents import Part
from engage.json.durations import InvalidDuration, parse_offset
from engage.json.storable import STORED_DEPTH, depth, describe, unstorable

MAX_LISTED = 1000
_LONGEST_OFFSET = 100
_NUMBER = re.compile(r"\s*[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?\s*")
_TO = 'Name a field in "to", instead of "value".'
_OF_FIELD = re.compile(r"(?:api\.(?:payload|properties)|event\.properties|customer\.attributes)(?:\.[^\s.]+)+")


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


ORDERED = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})


@dataclass(frozen=True)
class FromNow:
    """`{"now": "-P7D"}`: the instant that is so far from the moment at which the test is made."""

    offset: timedelta


def parse_operand(part: Part, op: Op) -> Any:
    """The value that the test compares with: JSON; for `in` a list of it, for `before` and `after` an instant."""
    match op:
        case Op.IN:
            return [_json(item) for item in _listed(part)]
        case Op.GT | Op.GTE | Op.LT | Op.LTE:
            return _of_type(part, int, float, str, expected="a number or a string")
        case Op.CONTAINS:
            return _of_type(part, int, float, str, bool, expected="a string, a number or a boolean")
        case Op.STARTS_WITH | Op.ENDS_WITH:
            return _of_type(part, str, expected="a string")
        case Op.BEFORE | Op.AFTER if isinstance(part.value, dict):
            return FromNow(_offset(part.fields(required=["now"])["now"]))
        case Op.BEFORE | Op.AFTER:
            text = _of_type(part, str, expected="a string")
            instant = parse_instant(text)
            if instant is None:
                part.refuse(
                    "must be a time in ISO 8601 such as 2026-11-20 or 2026-11-20T19:08:00Z, "
                    'or one that is so far from now: {"now": "-P7D"}.'
                )
            return instant
        case _:
            return _json(part)


def refuse_what_never_holds(part: Part, op: Op, *, inside: bool = False) -> None:
    """Refuses values that are not what they seem: conditions compare with what is written, so they equal nothing.

    `inside` of a list or object that is the value as a whole, there may be objects.
    """
    match part.value:
        case str() as text if "{{" in text or "{%" in text:
            part.refuse(f"is a template, but a condition compares with the text as it is written. {_TO}")
        case str() as text if _OF_FIELD.fullmatch(text):
            part.refuse(f"is the name of a field, but a condition compares with the text as it is written. {_TO}")
        case str() as text if op in ORDERED and _NUMBER.fullmatch(text):
            part.refuse(
                "is a text, which is less or more than texts alone, letter by letter. "
                f"Write the number: {text.strip()}."
            )
        case dict() if inside:
            for member in part.members().values():
                refuse_what_never_holds(member, op, inside=True)
        case dict() if op not in {Op.BEFORE, Op.AFTER}:
            part.refuse(f"must not be an object. {_TO}")
        case list():
            for item in part.items():
                refuse_what_never_holds(item, op, inside=inside or op is not Op.IN)


def as_stored(operand: Any, op: Op, identifier: str | None) -> Any:
    """The operand beside an identifier (its column), in the spelling of those that are stored; any other as it is."""
    match operand:
        case list():
            return [as_stored(item, op, identifier) for item in operand]
        case str() if identifier == "email":
            return comparable_email(operand) if op in {Op.EQ, Op.IN} else _in_lower_case(operand)
        case str() if identifier == "phone" and op in {Op.EQ, Op.IN}:
            return stored_phone(operand)
        case str() if identifier is not None:
            return one_spelling(operand)
    return operand


def _in_lower_case(text: str) -> str:
    return text.lower() if text.isascii() else one_spelling(text)


def _offset(part: Part) -> timedelta:
    try:
        return parse_offset(part.text(at_most=_LONGEST_OFFSET))
    except InvalidDuration as invalid:
        part.refuse(str(invalid))


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

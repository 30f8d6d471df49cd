"""A condition about one customer, evaluated in Python."""

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Any

from customers.conditions.fields import Field, Source
from customers.conditions.instants import parse_instant
from customers.conditions.operands import FromNow, Op
from customers.conditions.tree import AllOf, AnyOf, Condition, FieldTest, Not


@dataclass(frozen=True, kw_only=True)
class CustomerFacts:
    """A customer's identifiers and attributes, named as the model names them.

    Without defaults: a field that somebody forgot to fill in would be missing in Python while SQL sees its value.
    """

    id: str
    external_id: str | None
    email: str | None
    phone: str | None
    user_id: str | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a condition may refer to: the customer, the trigger's payload, and the event; `now` is when that is.

    `kept` is what steps kept of answers, by their ids; `answer` has the `status`, `headers` and `body` of one.
    """

    customer: CustomerFacts
    now: datetime
    payload: Mapping[str, Any] = field(default_factory=dict)
    event_name: str | None = None
    event_properties: Mapping[str, Any] = field(default_factory=dict)
    event_message: str | None = None
    event_verified: bool | None = None
    entrance: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)


def evaluate(condition: Condition, facts: Facts) -> bool:
    """Whether the condition holds."""
    match condition:
        case AllOf(conditions):
            return all(evaluate(inner, facts) for inner in conditions)
        case AnyOf(conditions):
            return any(evaluate(inner, facts) for inner in conditions)
        case Not(inner):
            return not evaluate(inner, facts)
        case FieldTest():
            value, operand = value_of(condition.field, facts), condition.operand
            if isinstance(operand, Field | FromNow):
                operand = _looked_up(condition.op, operand, facts)
                if operand is None:
                    return False
            return value is not None and _TESTS[condition.op](value, operand)


def _looked_up(op: Op, operand: Field | FromNow, facts: Facts) -> Any:
    """What the value is compared with; None if that is missing, or should be an instant and is none."""
    if isinstance(operand, FromNow):
        return facts.now + operand.offset
    value = value_of(operand, facts)
    return instant_of(value) if op in {Op.BEFORE, Op.AFTER} else value


def instant_of(value: Any) -> datetime | None:
    """The instant that a JSON value is; None if it is none."""
    return parse_instant(value) if isinstance(value, str) else None


def value_of(field: Field, facts: Facts) -> Any:  # noqa: C901 (one case for each source)
    """The field's value; None if it is missing."""
    match field.source:
        case Source.CUSTOMER:
            first, *rest = field.path
            column, customer = field.identifier_column, facts.customer
            return reduce(_member, rest, getattr(customer, column) if column else _member(customer.attributes, first))
        case Source.ATTRIBUTES:
            return reduce(_member, field.path, facts.customer.attributes)
        case Source.PAYLOAD:
            return reduce(_member, field.path, facts.payload)
        case Source.EVENT_NAME:
            return facts.event_name
        case Source.EVENT_MESSAGE:
            return facts.event_message
        case Source.EVENT_VERIFIED:
            return facts.event_verified
        case Source.EVENT_PROPERTIES:
            return reduce(_member, field.path, facts.event_properties)
        case Source.ENTRANCE_ID:
            return facts.entrance
        case Source.STEPS:
            return reduce(_member, field.path, facts.kept)
        case Source.ANSWER:
            return reduce(_member, field.path, facts.answer)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _comparable(value: Any) -> Hashable:
    """The JSON value with its type, so that values are equal exactly if jsonb considers them equal."""
    match value:
        case bool() | None | str():
            return type(value).__name__, value
        case list():
            return "array", tuple(map(_comparable, value))
        case Mapping():
            return "object", frozenset((name, _comparable(item)) for name, item in value.items())
        case _:
            return "number", _decimal(value)


def _decimal(number: float | Decimal) -> Decimal:
    """The number as JSON writes it: 0.1 is a tenth, not the nearest float."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(value: Any, operand: Any) -> bool:
        if isinstance(value, str) and isinstance(operand, str):
            return compare(value, operand)
        return _is_number(value) and _is_number(operand) and compare(_decimal(value), _decimal(operand))

    return test


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, list) and _comparable(operand) in map(_comparable, value)


def _is_in(value: Any, operand: Any) -> bool:
    return isinstance(operand, list) and _comparable(value) in map(_comparable, operand)


def _of_texts(compare: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, operand: isinstance(value, str) and isinstance(operand, str) and compare(value, operand)


def _of_instants(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(value: Any, operand: Any) -> bool:
        instant = instant_of(value)
        return instant is not None and compare(instant, operand)

    return test


# The operand may be of any type, if it is another field's value.
_TESTS: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: lambda value, operand: _comparable(value) == _comparable(operand),
    Op.GT: _ordered(operator.gt),
    Op.GTE: _ordered(operator.ge),
    Op.LT: _ordered(operator.lt),
    Op.LTE: _ordered(operator.le),
    Op.IN: _is_in,
    Op.CONTAINS: _contains,
    Op.STARTS_WITH: _of_texts(str.startswith),
    Op.ENDS_WITH: _of_texts(str.endswith),
    Op.EXISTS: lambda _value, _operand: True,
    Op.BEFORE: _of_instants(operator.lt),
    Op.AFTER: _of_instants(operator.gt),
}

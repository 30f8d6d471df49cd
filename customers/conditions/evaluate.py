"""A condition about one customer, evaluated in Python, within the budget of processor time that holds.

What a large list or object is compared as is made once, however many tests ask (comparable.py).
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import structlog

from customers.conditions.comparable import comparable, decimal_of, items_of
from customers.conditions.fields import Field, Source
from customers.conditions.instants import parse_instant
from customers.conditions.operands import FromNow, Op
from customers.conditions.tree import AllOf, AnyOf, Condition, FieldTest, Not
from engage.notations.sizes import KIB
from engage.process.budget import Budget, OverBudget, current

log = structlog.get_logger(__name__)
_Test = Callable[[Any, Any, Budget], bool]


@dataclass(kw_only=True)  # made at each step of a walk; frozen, it would take twice as long
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

    def with_attributes(self, attributes: Mapping[str, Any]) -> "CustomerFacts":
        """The same customer; `replace` takes three times as long."""
        return CustomerFacts(
            id=self.id,
            external_id=self.external_id,
            email=self.email,
            phone=self.phone,
            user_id=self.user_id,
            attributes=attributes,
        )


@dataclass(kw_only=True)  # as above
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
    """Whether the condition holds. Raises OverBudget."""
    return _holds(condition, facts, current().begin())


def holds(condition: Condition, make_facts: Callable[[], Facts], *, counting: bool = False) -> bool:
    """The same of what may decide otherwise next time: it does not hold this time if that would take too long.

    `counting`: to make the facts is part of that.
    """
    budget = current()
    try:
        budget.begin(at_once=counting)
        return _holds(condition, make_facts(), budget)
    except OverBudget as over:
        log.warning("condition_over_budget", why=over.message)
        return False


def _holds(condition: Condition, facts: Facts, budget: Budget) -> bool:
    match condition:
        case FieldTest():  # before the others, because most conditions are one
            value, operand = value_of(condition.field, facts), condition.operand
            if isinstance(operand, Field | FromNow):
                operand = _looked_up(condition.op, operand, facts)
                if operand is None:
                    return False
            if value is None:
                return False
            budget.spend(1 + len(value) // KIB if isinstance(value, str) else 1)
            return _TESTS[condition.op](value, operand, budget)
        case AllOf(conditions):
            return all(_holds(inner, facts, budget) for inner in conditions)
        case AnyOf(conditions):
            return any(_holds(inner, facts, budget) for inner in conditions)
        case Not(inner):
            return not _holds(inner, facts, budget)


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> _Test:
    def test(value: Any, operand: Any, _: Budget) -> bool:
        if isinstance(value, str) and isinstance(operand, str):
            return compare(value, operand)
        return _is_number(value) and _is_number(operand) and compare(decimal_of(value), decimal_of(operand))

    return test


def _contains(value: Any, operand: Any, budget: Budget) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, list) and comparable(operand, budget) in items_of(value, budget)


def _is_in(value: Any, operand: Any, budget: Budget) -> bool:
    return isinstance(operand, list) and comparable(value, budget) in items_of(operand, budget)


def _of_texts(compare: Callable[[str, str], bool]) -> _Test:
    return lambda value, operand, _: isinstance(value, str) and isinstance(operand, str) and compare(value, operand)


def _of_instants(compare: Callable[[Any, Any], bool]) -> _Test:
    def test(value: Any, operand: Any, _: Budget) -> bool:
        instant = instant_of(value)
        return instant is not None and compare(instant, operand)

    return test


# The operand may be of any type, if it is another field's value.
_TESTS: dict[Op, _Test] = {
    Op.EQ: lambda value, operand, budget: comparable(value, budget) == comparable(operand, budget),
    Op.GT: _ordered(operator.gt),
    Op.GTE: _ordered(operator.ge),
    Op.LT: _ordered(operator.lt),
    Op.LTE: _ordered(operator.le),
    Op.IN: _is_in,
    Op.CONTAINS: _contains,
    Op.STARTS_WITH: _of_texts(str.startswith),
    Op.ENDS_WITH: _of_texts(str.endswith),
    Op.EXISTS: lambda _value, _operand, _budget: True,
    Op.BEFORE: _of_instants(operator.lt),
    Op.AFTER: _of_instants(operator.gt),
}

"""A condition about many customers, compiled to SQL.

Every value and every key is a parameter with an explicit type, because statements are prepared. No stored value makes
the SQL raise: each cast is guarded by a check of its input. A test of a missing value or one of the wrong type is NULL
and becomes false, so `not` means in SQL what it means in Python.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.conditions.fields import Field, Source
from customers.conditions.instants import GRAMMAR
from customers.conditions.operands import ORDERED, FromNow, Op
from customers.conditions.tree import AllOf, AnyOf, Condition, FieldTest, Not
from engage.database.fragment import Fragment, compose

# The instant in `text`, NULL if it is not one. By itself PostgreSQL would round what is finer than microseconds, and
# read a time without an offset in the session's time zone.
_INSTANT = Fragment(
    """CASE WHEN text ~ %s::text AND pg_input_is_valid(left(text, 10), 'date') THEN (
        regexp_replace(text, %s::text, '\\1') || CASE WHEN text ~ 'Z|[T ].*[+-]' THEN '' ELSE 'Z' END
    )::timestamptz END""",
    [GRAMMAR, "([.][0-9]{6})[0-9]+"],
)
_SIGNS = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<=", Op.BEFORE: "<", Op.AFTER: ">"}


@dataclass(frozen=True, kw_only=True)
class Columns:
    """SQL expressions of the statement around the condition, in which `customer` is a row of customers_customer.

    `payload` and `event_properties` are of the type jsonb, `event_name`, `event_message` and `entrance` are strings,
    and `event_verified` is a boolean; by default they are missing. `now` is when it is: by default, when the
    transaction began.
    """

    payload: str = "NULL::jsonb"
    event_name: str = "NULL::text"
    event_properties: str = "NULL::jsonb"
    event_message: str = "NULL::text"
    event_verified: str = "NULL::boolean"
    entrance: str = "NULL::text"
    now: str = "now()"


def compile_condition(condition: Condition, *, columns: Columns) -> Fragment:
    """An SQL expression that is true if the condition holds and false if not, never NULL."""
    match condition:
        case AllOf(conditions):
            return _joined(" AND ", conditions, columns)
        case AnyOf(conditions):
            return _joined(" OR ", conditions, columns)
        case Not(inner):
            return compose("(NOT {})", compile_condition(inner, columns=columns))
        case FieldTest():
            value = compile_value(condition.field, columns=columns)
            if isinstance(condition.operand, Field):
                to = compile_value(condition.operand, columns=columns)
                return compose("coalesce({}, false)", _test_of_two(condition.op, value, to))
            return compose("coalesce({}, false)", _test(condition, value, columns))


def _joined(word: str, conditions: tuple[Condition, ...], columns: Columns) -> Fragment:
    parts = [compile_condition(condition, columns=columns) for condition in conditions]
    return compose(f"({word.join(['{}'] * len(parts))})", *parts)


def compile_value(field: Field, *, columns: Columns) -> Fragment:
    """An SQL expression for the field's value, of the type jsonb; SQL's or JSON's NULL if it is missing."""
    match field.source:
        case Source.CUSTOMER if field.identifier_column:
            return _within(f"to_jsonb(customer.{field.identifier_column})", field.path[1:])
        case Source.CUSTOMER | Source.ATTRIBUTES:
            return _within("customer.attributes", field.path)
        case Source.PAYLOAD:
            return _within(f"({columns.payload})", field.path)
        case Source.EVENT_NAME:
            return Fragment(f"to_jsonb({columns.event_name})")
        case Source.EVENT_MESSAGE:
            return Fragment(f"to_jsonb({columns.event_message})")
        case Source.EVENT_VERIFIED:
            return Fragment(f"to_jsonb({columns.event_verified})")
        case Source.EVENT_PROPERTIES:
            return _within(f"({columns.event_properties})", field.path)
        case Source.ENTRANCE_ID:
            return Fragment(f"to_jsonb({columns.entrance})")
        case Source.STEPS | Source.ANSWER:  # of an enrollment: sets of customers are not asked about these
            return Fragment("NULL::jsonb")


def _within(start: str, path: tuple[str, ...]) -> Fragment:
    """Uses `->` with text, which enters only objects, as a field's path does; `#>` would also enter arrays."""
    return Fragment(start + " -> %s::text" * len(path), path)


def _test(test: FieldTest, value: Fragment, columns: Columns) -> Fragment:
    match test.op:
        case Op.EQ:
            return compose("({}) = {}", value, _json(test.operand))
        case Op.IN:
            return compose("({}) IN (SELECT jsonb_array_elements({}))", value, _json(test.operand))
        case Op.GT | Op.GTE | Op.LT | Op.LTE:
            return _ordered(_SIGNS[test.op], value, test.operand)
        case Op.CONTAINS:
            return _contains(value, test.operand)
        case Op.STARTS_WITH:
            return compose("starts_with({}, {})", _text_of(value), _text(test.operand))
        case Op.ENDS_WITH:
            return compose("right({}, length({})) = {}", _text_of(value), _text(test.operand), _text(test.operand))
        case Op.EXISTS:
            return compose("jsonb_typeof({}) <> 'null'", value)
        case Op.BEFORE | Op.AFTER:
            return compose(f"{{}} {_SIGNS[test.op]} {{}}", _instant_in(value), _instant(test.operand, columns))


def _test_of_two(op: Op, value: Fragment, to: Fragment) -> Fragment:
    """The test of a value against another one, which may be missing or of any type."""
    if op in ORDERED:
        return _in_order(_SIGNS[op], value, to)
    match op:
        case Op.IN:
            return _is_member(value, of=to)
        case Op.CONTAINS:
            within = compose("strpos({}, {}) > 0", _text_of(value), _text_of(to))
            return compose("coalesce({}, {})", within, _is_member(to, of=value))
        case Op.STARTS_WITH:
            return compose("starts_with({}, {})", _text_of(value), _text_of(to))
        case Op.ENDS_WITH:
            end = _text_of(to)
            return compose("right({}, length({})) = {}", _text_of(value), end, end)
        case Op.BEFORE | Op.AFTER:
            return compose(f"{{}} {_SIGNS[op]} {{}}", _instant_in(value), _instant_in(to))
        case _:
            return compose("nullif({}, 'null') = ({})", value, to)


def _in_order(sign: str, value: Fragment, to: Fragment) -> Fragment:
    texts = compose(f'{{}} COLLATE "C" {sign} {{}}', _text_of(value), _text_of(to))
    return compose(
        "coalesce(jsonb_typeof({}) = 'number' AND jsonb_typeof({}) = 'number'"
        f" AND ({{}}) {sign} ({{}}), false) OR {{}}",
        value, to, value, to, texts,
    )  # fmt: skip


def _is_member(value: Fragment, *, of: Fragment) -> Fragment:
    """Whether the value is in the list; NULL if that is no list."""
    return compose(
        "CASE jsonb_typeof({}) WHEN 'array' THEN"
        " EXISTS (SELECT FROM jsonb_array_elements({}) AS listed (item) WHERE item = nullif({}, 'null')) END",
        of, of, value,
    )  # fmt: skip


def _ordered(sign: str, value: Fragment, operand: Any) -> Fragment:
    if isinstance(operand, str):
        return compose(f'{{}} COLLATE "C" {sign} {{}}', _text_of(value), _text(operand))
    return compose(f"(jsonb_typeof({{}}) = 'number' AND ({{}}) {sign} {{}})", value, value, _json(operand))


def _contains(value: Fragment, operand: Any) -> Fragment:
    member = compose("({}) @> {}", value, _json([operand]))
    if not isinstance(operand, str):
        return member
    return compose("coalesce(strpos({}, {}) > 0, {})", _text_of(value), _text(operand), member)


def _instant_in(value: Fragment) -> Fragment:
    """The instant that a jsonb value is; NULL if it is none. OFFSET keeps the planner from inlining the text."""
    return compose("(SELECT {} FROM (SELECT {} OFFSET 0) AS found (text))", _INSTANT, _text_of(value))


def _instant(operand: datetime | FromNow, columns: Columns) -> Fragment:
    if isinstance(operand, FromNow):
        return Fragment(f"({columns.now} + %s::interval)", [operand.offset])
    return Fragment("%s::timestamptz", [operand.isoformat()])


def _text_of(value: Fragment) -> Fragment:
    """The string in a jsonb value; NULL if it is not a string."""
    return compose("CASE jsonb_typeof({}) WHEN 'string' THEN ({}) #>> '{{}}' END", value, value)


def _text(text: str) -> Fragment:
    return Fragment("%s::text", [text])


def _json(value: Any) -> Fragment:
    return Fragment("%s::jsonb", [json.dumps(value)])

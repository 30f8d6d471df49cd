"""Parses a condition from its JSON into a tree that can be evaluated."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from customers.conditions.fields import Field, Root, parse_field, refuse_position
from customers.conditions.operands import Op, as_stored, parse_operand, refuse_what_never_holds
from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.json.mistakes import none_of

MAX_DEPTH = 10
MAX_TESTS = 100
_MAX_OP_LENGTH = 40
_NEGATIONS = {"ne": Op.EQ, "not_in": Op.IN, "not_exists": Op.EXISTS}
_Parsed = TypeVar("_Parsed")
_OPS = [*Op, *_NEGATIONS]


class InvalidCondition(Refusal):
    """A condition is malformed; the message begins with the place: `all[1].not.op is …`."""

    error = "Invalid condition"


@dataclass(frozen=True)
class AllOf:
    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class Not:
    condition: "Condition"


@dataclass(frozen=True)
class FieldTest:
    """`operand` is JSON; for `in` a list of it, for `before` and `after` a datetime or FromNow, for `exists` None.

    With `to`, it is a Field, whose value is looked up like that of `field`.
    """

    field: Field
    op: Op
    operand: Any = None

    @property
    def fields(self) -> list[Field]:
        """All that it looks up."""
        return [self.field, self.operand] if isinstance(self.operand, Field) else [self.field]


Condition = AllOf | AnyOf | Not | FieldTest


def parse_condition(value: object, *, roots: Collection[str], place: str = "", stored: bool = False) -> Condition:
    """The tree of a condition written as JSON.

    `roots` are the first names of fields that are known where the condition is used (see `Root`); `place` says where
    that is, at the beginning of an error's message. A `stored` one was saved before, and need not keep to rules that
    came later: that no value is one that never holds. Raises InvalidCondition.
    """
    part = Part(value, place, InvalidCondition)
    condition = _parse(part, _Rules(roots, stored), depth=1)
    tests = len(tests_of(condition))
    if tests > MAX_TESTS:
        part.refuse(f"holds {tests} tests; its maximum is {MAX_TESTS}.")
    return condition


def warnings_about(value: object, *, roots: Collection[str], place: str) -> list[Refusal]:
    """Why a stored condition would be refused if it were written anew: rules that came later than it."""
    try:
        parse_condition(value, roots=roots, place=place)
    except InvalidCondition as invalid:
        return invalid.all_found()
    return []


class _Rules(NamedTuple):
    roots: Collection[str]
    stored: bool


def _parse(part: Part, rules: _Rules, *, depth: int) -> Condition:
    if depth > MAX_DEPTH:
        part.refuse(f"is nested too deeply; conditions go at most {MAX_DEPTH} deep.")
    names = part.members().keys()
    if "all" in names:
        return AllOf(_only(part, "all", lambda inner: _parse_list(inner, rules, depth=depth + 1)))
    if "any" in names:
        return AnyOf(_only(part, "any", lambda inner: _parse_list(inner, rules, depth=depth + 1)))
    if "not" in names:
        return Not(_only(part, "not", lambda inner: _parse(inner, rules, depth=depth + 1)))
    if not names & {"field", "op"}:
        part.refuse("must hold all, any or not, or field and op.")
    return _parse_test(part, rules)


def _only(part: Part, name: str, parse: Callable[[Part], _Parsed]) -> _Parsed:
    """What stands under this name, beside which nothing may stand."""
    with Reading() as read:
        fields = part.fields(required=[name], reading=read)
        return read(lambda: parse(fields[name]))


def _parse_list(part: Part, rules: _Rules, *, depth: int) -> tuple[Condition, ...]:
    with Reading() as read:
        conditions = tuple(read.each(part.items(at_most=MAX_TESTS), lambda item: _parse(item, rules, depth=depth)))
    if not conditions:
        part.refuse("must hold at least one condition.")
    return conditions


def _parse_test(part: Part, rules: _Rules) -> Condition:
    written = part.field("op")
    name = written.text(at_most=_MAX_OP_LENGTH)
    written.require(none_of(_OPS, name))
    op = _NEGATIONS.get(name) or Op(name)
    operand: Any = None
    beside = [] if op is Op.EXISTS else ["to"] if "to" in part.members() else ["value"]
    with Reading() as read:
        parts = part.fields(required=["field", "op", *beside], reading=read)
        field = read(lambda: parse_field(parts["field"], roots=rules.roots))
        if not rules.stored:
            for named in parts.keys() & {"field", "to"}:
                read(partial(refuse_position, parts[named]))
        if beside == ["to"]:
            operand = read(lambda: parse_field(parts["to"], roots=rules.roots))
        elif beside:
            operand = read(lambda: parse_operand(parts["value"], op))
            if not rules.stored:
                read(lambda: refuse_what_never_holds(parts["value"], op))
    test = FieldTest(field, op, as_stored(operand, op, field.identifier))
    return Not(test) if name in _NEGATIONS else test


def tests_of(condition: Condition) -> list[FieldTest]:
    """All tests of the condition."""
    match condition:
        case AllOf(conditions) | AnyOf(conditions):
            return [test for inner in conditions for test in tests_of(inner)]
        case Not(inner):
            return tests_of(inner)
        case FieldTest():
            return [condition]


def roots_of(condition: Condition) -> set[Root]:
    """What its tests look at."""
    return {field.root for test in tests_of(condition) for field in test.fields}

"""Why a condition holds or does not, in words: `customer.plan is "free", wanted "pro"`.

Of `all`, the first part that fails is to blame, and of `any` every part. The values stand in the words, so these are as
personal as the customer: they belong where erasing the customer removes them. What no time is left for is not told.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from customers.conditions.evaluate import Facts, evaluate, value_of
from customers.conditions.fields import Field
from customers.conditions.operands import FromNow, Op
from customers.conditions.tree import AllOf, AnyOf, Condition, FieldTest, Not
from engage.json.durations import duration_in_words
from engage.process.budget import OverBudget, current

LONGEST_VALUE = 200  # characters; what is longer is cut
MOST_TOLD = 5
_UNITS_OF_LARGE = 100
_JSON = json.JSONEncoder(ensure_ascii=False)

# What is wanted of a value, and what if it was wanted that the test does not hold.
_WANTED = {
    Op.EQ: ("{}", "anything but {}"),
    Op.GT: ("more than {}", "not more than {}"),
    Op.GTE: ("at least {}", "not at least {}"),
    Op.LT: ("less than {}", "not less than {}"),
    Op.LTE: ("at most {}", "not at most {}"),
    Op.IN: ("one of {}", "none of {}"),
    Op.CONTAINS: ("something that contains {}", "nothing that contains {}"),
    Op.STARTS_WITH: ("a text that starts with {}", "no text that starts with {}"),
    Op.ENDS_WITH: ("a text that ends with {}", "no text that ends with {}"),
    Op.EXISTS: ("a value", "no value"),
    Op.BEFORE: ("a time before {}", "no time before {}"),
    Op.AFTER: ("a time after {}", "no time after {}"),
}


@dataclass(kw_only=True)  # each branch of a walk makes one
class Findings:
    """What the tests came to: whether each holds, and the value of a field of theirs as JSON, cut (None: none)."""

    holds: Callable[[FieldTest], bool]
    value: Callable[[Field], str | None]


@dataclass(frozen=True, kw_only=True)
class _Decided:
    """Whether a condition holds, and the tests that decided it, each with whether it was wanted to hold."""

    holds: bool
    by: list[tuple[FieldTest, bool]]


def findings_of(facts: Facts) -> Findings:
    """What the tests come to with these facts."""
    return Findings(
        holds=lambda test: evaluate(test, facts),
        value=lambda field: None if (value := value_of(field, facts)) is None else _as_json(value),
    )


def why_not(condition: Condition, findings: Findings) -> list[str]:
    """The tests because of which the condition does not hold, at most MOST_TOLD; none if it does hold."""
    try:
        decided = _decide(condition, findings, wanted=True)
    except OverBudget as over:
        return [f"It {over.message}"]
    if decided.holds:
        return []
    return _first(
        f"{_is(test, findings)}, wanted {_wanted(test, findings, wanted=wanted)}" for test, wanted in decided.by
    )


def values_that_decide(conditions: Iterable[Condition], findings: Findings) -> list[str]:
    """What the tests found because of which each condition holds or does not: `customer.plan is "free"`."""
    return _first(_is(test, findings) for condition in conditions for test in _deciding(condition, findings))


def _deciding(condition: Condition, findings: Findings) -> list[FieldTest]:
    """A lone test decides, whatever it comes to; each branch of a walk asks, and most have just one."""
    if isinstance(condition, FieldTest):
        return [condition]
    return [test for test, _ in _decide(condition, findings, wanted=True).by]


def in_words(condition: Condition) -> str:
    """What the condition asks for: `customer.plan is "pro" and api.payload.total is more than 5`."""
    return _in_words(condition, wanted=True, inner=False)


def _in_words(condition: Condition, *, wanted: bool, inner: bool) -> str:
    match condition:
        case AllOf(conditions) | AnyOf(conditions):
            word = " and " if isinstance(condition, AllOf) is wanted else " or "
            text = word.join(_in_words(one, wanted=wanted, inner=True) for one in conditions)
            return f"({text})" if inner and len(conditions) > 1 else text
        case Not(negated):
            return _in_words(negated, wanted=not wanted, inner=inner)
        case FieldTest(field=field, op=Op.EXISTS):
            return f"{field.name} has {_wanted(condition, wanted=wanted)}"
        case FieldTest(field=field):
            return f"{field.name} is {_wanted(condition, wanted=wanted)}"


def cut(text: str) -> str:
    """The text of a value, at most LONGEST_VALUE characters of it."""
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _decide(condition: Condition, findings: Findings, *, wanted: bool) -> _Decided:
    match condition:
        case AllOf(conditions):
            return _decide_several(conditions, findings, wanted=wanted, until=False)
        case AnyOf(conditions):
            return _decide_several(conditions, findings, wanted=wanted, until=True)
        case Not(inner):
            decided = _decide(inner, findings, wanted=not wanted)
            return _Decided(holds=not decided.holds, by=decided.by)
        case FieldTest():
            return _Decided(holds=findings.holds(condition), by=[(condition, wanted)])


def _decide_several(conditions: Sequence[Condition], findings: Findings, *, wanted: bool, until: bool) -> _Decided:
    """One part that comes to `until` decides alone; else all parts decide together."""
    by: list[tuple[FieldTest, bool]] = []
    for condition in conditions:
        decided = _decide(condition, findings, wanted=wanted)
        if decided.holds is until:
            return decided
        by += decided.by
    return _Decided(holds=not until, by=by)


def _first(texts: Iterable[str]) -> list[str]:
    """The first different ones."""
    found: dict[str, None] = {}
    try:
        for text in texts:
            found[text] = None
            if len(found) == MOST_TOLD:
                break
    except OverBudget:  # what was found until then is told
        pass
    return list(found)


def _is(test: FieldTest, findings: Findings) -> str:
    value = findings.value(test.field)
    return f"{test.field.name} has no value" if value is None else f"{test.field.name} is {value}"


def _wanted(test: FieldTest, findings: Findings | None = None, *, wanted: bool) -> str:
    """With findings, the value of another field stands beside its name."""
    template = _WANTED[test.op][0 if wanted else 1]
    match test.operand:
        case Field() as to:
            value = findings and (findings.value(to) or "no value")
            return template.format(f"{to.name} ({value})" if value else to.name)
        case FromNow(offset):
            return template.format(_from_now(offset))
        case datetime() as instant:
            return template.format(instant.isoformat().replace("+00:00", "Z"))
        case list() as listed if test.op is Op.IN:
            return template.format(cut(", ".join(map(_as_json, listed[:LONGEST_VALUE]))))
    return template.format(_as_json(test.operand))


def _from_now(offset: timedelta) -> str:
    if not offset:
        return "now"
    return f"{duration_in_words(abs(offset))} {'ago' if offset < timedelta() else 'from now'}"


def _as_json(value: Any) -> str:
    """The value as JSON, as far as it is shown."""
    if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > LONGEST_VALUE):
        current().spend(_UNITS_OF_LARGE)
    if isinstance(value, str):
        return cut(_JSON.encode(value[:LONGEST_VALUE]))
    text = ""
    for piece in _JSON.iterencode(value):
        text += piece
        if len(text) > LONGEST_VALUE:
            break
    return cut(text)

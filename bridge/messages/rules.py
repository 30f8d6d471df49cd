"""Rules for the values that a message may write: `{"type": "number", "required": true, "max": 10}`.

A rule has a `type` (string, number, boolean, date) and optionally `required`, `max` (of a number; of a string's
length), `values` (one of these), `pattern` (of the whole string, in RE2's syntax) and `many` (a list, each of whose
items follows the rule: several checked boxes, say). That of a form's field may say how it looks: `label`,
`placeholder`, `multiline`, and `options` in the place of `values`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

import re2

from customers.conditions.instants import parse_instant
from engage.json.documents import Part
from engage.json.storable import InvalidJson, parse_value
from engage.notations.plurals import plain
from engage.notations.sizes import KIB

MAX_VALUES = 100
_MAX_PATTERN = 500
_MAX_ITEMS = 100
_MAX_LABEL = 500
# As HTML writes them: ".5", "05" and "1e2" as well, which JSON does not know.
_NUMBER = re.compile(r"(-?)(?=\.?[0-9])0*+([0-9]*+(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_LEADING_ZERO = re.compile(r"\s*-?0[0-9]")
_SWITCHES = {"true": True, "on": True, "false": False, "off": False}


class RuleType(StrEnum):
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a value must be."""

    type: RuleType
    required: bool = False
    max: float | None = None
    values: tuple[Any, ...] | None = None
    pattern: str | None = None
    many: bool = False
    drawn: Mapping[str, Any] = field(default_factory=dict)  # how a form's field looks

    @property
    def only_value(self) -> Any:
        """The value, where there is no choice; else None."""
        return self.values[0] if self.values is not None and len(self.values) == 1 and not self.many else None

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, in words that do not contain it; None if nothing is."""
        if not self.many:
            return self._problem_of_one(value)
        if not isinstance(value, list):
            return "must be a list."
        if len(value) > _MAX_ITEMS:
            return f"must have at most {_MAX_ITEMS} items."
        return next((problem for item in value if (problem := self._problem_of_one(item))), None)

    def _problem_of_one(self, value: Any) -> str | None:
        if not _IS[self.type](value):
            return f"must be {_NAMED[self.type]}."
        if self.values is not None and value not in self.values:
            return "is none of the values that the message lists."
        if self.max is not None and (len(value) if self.type is RuleType.STRING else value) > self.max:
            characters = " characters long" if self.type is RuleType.STRING else ""
            return f"must be at most {plain(self.max)}{characters}."
        if self.pattern is not None and not _compiled(self.pattern).fullmatch(value):
            return "does not have the form that the message asks for."
        return None

    def typed(self, value: Any) -> Any:
        """A form's value with its type: "3" is 3 for a number. None for an empty input, which counts as absent.

        What does not fit stays as it is, for `problem` to name.
        """
        if self.many:
            items = value if isinstance(value, list) else [value]
            return [typed for item in items if (typed := self._typed_one(item)) is not None]
        return self._typed_one(value)

    def _typed_one(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not value:
            return None
        match self.type:
            case RuleType.NUMBER if (number := _number(value)) is not None:
                return number
            case RuleType.BOOLEAN:
                return _SWITCHES.get(value.strip().lower(), value)
        return value


@lru_cache(maxsize=256)  # each takes 64 KiB at most
def _compiled(pattern: str) -> Any:
    """In time that grows with the text and not faster, whatever the pattern: anybody may send the text."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 * KIB
    return re2.compile(pattern, options)


def _number(text: str) -> int | float | None:
    """The number that an input of HTML writes so, as a body of JSON has it; None if it is none, or is not finite."""
    written = _NUMBER.fullmatch(text.strip())
    if written is not None:
        sign, rest = written.groups()
        number = f"{sign}{rest}" if rest[:1].isdigit() else f"{sign}0{rest}"
        for exponent in ("", "e0"):  # beyond JSON's integers it is a float, as in HTML
            with suppress(InvalidJson):
                found: int | float = parse_value(f"{number}{exponent}".encode())
                return found
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS: Mapping[RuleType, Callable[[Any], bool]] = {
    RuleType.STRING: lambda value: isinstance(value, str),
    RuleType.NUMBER: _is_number,
    RuleType.BOOLEAN: lambda value: isinstance(value, bool),
    RuleType.DATE: lambda value: isinstance(value, str) and parse_instant(value) is not None,
}
_NARROWEST_FIRST = (RuleType.BOOLEAN, RuleType.NUMBER, RuleType.DATE, RuleType.STRING)
_NAMED = {
    RuleType.STRING: "a string",
    RuleType.NUMBER: "a number",
    RuleType.BOOLEAN: "a boolean",
    RuleType.DATE: "a date or a time in ISO 8601",
}


def type_of(value: Any, *, typed: bool) -> RuleType | None:
    """The narrowest type that takes the value; None if none does. With `typed` it is a form's: "3" is a number."""
    if isinstance(value, str) and typed:
        if _number(value) is not None and not _LEADING_ZERO.match(value):  # a postcode keeps its zero
            return RuleType.NUMBER
        if value.strip().lower() in _SWITCHES:
            return RuleType.BOOLEAN
    return next((kind for kind in _NARROWEST_FIRST if _IS[kind](value)), None)


def parse_rule(part: Part, *, drawn: bool = False) -> Rule:
    """Refuses, with the place, what is no rule. `drawn`: it is of a form's field, which may say how that looks."""
    looks = _LOOKS if drawn else ()
    fields = part.fields(required=["type"], optional=["required", "max", "values", "pattern", "many", *looks])
    kind = RuleType(fields["type"].choice(tuple(RuleType)))
    return Rule(
        type=kind,
        required="required" in fields and fields["required"].flag(),
        max=_max(fields["max"], kind) if "max" in fields else None,
        values=_choices(fields, kind),
        pattern=_pattern(fields["pattern"], kind) if "pattern" in fields else None,
        many="many" in fields and fields["many"].flag(),
        drawn={name: _LOOKS[name](fields[name]) for name in looks if name in fields},
    )


def _label(part: Part) -> str:
    return part.text(at_most=_MAX_LABEL)


def _options(part: Part) -> Any:
    for item in part.items(at_most=MAX_VALUES):
        _label(item.fields(required=["value", "label"])["label"])
    return part.value


_LOOKS: Mapping[str, Callable[[Part], Any]] = {
    "label": _label, "placeholder": _label, "multiline": Part.flag, "options": _options
}  # fmt: skip


def _choices(fields: Mapping[str, Part], kind: RuleType) -> tuple[Any, ...] | None:
    if "options" not in fields:
        return _values(fields["values"], kind) if "values" in fields else None
    if "values" in fields:
        fields["values"].refuse("cannot stand beside options.")
    values = [option.field("value").value for option in fields["options"].items(at_most=MAX_VALUES)]
    return _values(Part(values, fields["options"].place, fields["options"].refusal), kind)


def _max(part: Part, kind: RuleType) -> float:
    if kind not in {RuleType.NUMBER, RuleType.STRING}:
        part.refuse("is only for numbers, and for the length of strings.")
    return part.number()


def _values(part: Part, kind: RuleType) -> tuple[Any, ...]:
    items = part.items(at_most=MAX_VALUES)
    if not items:
        part.refuse("must hold at least one value.")
    for item in items:
        if not _IS[kind](item.value):
            item.refuse_type(_NAMED[kind])
    return tuple(item.value for item in items)


def _pattern(part: Part, kind: RuleType) -> str:
    if kind is not RuleType.STRING:
        part.refuse("is only for strings.")
    text = part.text(at_most=_MAX_PATTERN)
    try:
        _compiled(text)
    except re2.error:
        part.refuse("is no regular expression that RE2 knows: it has no look-around and no back-references.")
    return text


def named_rules(part: Part, *, at_most: int, drawn: bool = False) -> dict[str, Rule]:
    """The rules of an object, by name."""
    members = part.members()
    if len(members) > at_most:
        part.refuse(f"holds {len(members)} names; its maximum is {at_most}.")
    return {name: parse_rule(rule, drawn=drawn) for name, rule in members.items()}


def as_json(rule: Rule) -> dict[str, Any]:
    """The rule as it is written."""
    written: dict[str, Any] = {"type": str(rule.type)}
    if rule.required:
        written["required"] = True
    for name in ("max", "pattern"):
        if (value := getattr(rule, name)) is not None:
            written[name] = value
    if rule.values is not None and "options" not in rule.drawn:
        written["values"] = list(rule.values)
    if rule.many:
        written["many"] = True
    return {**written, **rule.drawn}


__all__: Sequence[str] = ["MAX_VALUES", "Rule", "RuleType", "as_json", "named_rules", "parse_rule", "type_of"]

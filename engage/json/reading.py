"""Reads JSON into typed objects: both spellings of a field, strict types, bounded arrays, objects that can be stored.

The object is a frozen dataclass whose fields say what may come (engage/json/fields.py). A field takes one type alone:
a number is no string. `null` counts as absent, and unknown fields are ignored. A class may declare

- `one_of`: names of which at least one must be present, and the message if none is;
- `problems(self)`: what is wrong with the fields together, looked at once each of them is right.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin

from engage.errors import FailureDetail, InvalidRequest, MissingParameter, Refusal
from engage.json import mistakes
from engage.json.compact import json_bytes, same_json
from engage.json.fields import (
    Items,
    Member,
    Parsed,
    RequiredWithout,
    Stored,
    Text,
    Whole,
    is_choice,
    members,
    unwrapped,
)
from engage.json.storable import STORED_DEPTH, depth, describe

Shape = TypeVar("Shape")
Reader = Callable[[Any], Any]


class ArraySizeExceeded(Refusal):
    """An array in the body has more items than allowed."""

    error = "Array size exceeded"


class Problem(NamedTuple):
    """What is wrong with a field; `path` is where it is. `message` goes on from it, or is a sentence of its own."""

    path: str
    message: str
    is_missing: bool = False
    is_sentence: bool = False

    @property
    def in_words(self) -> str:
        return self.message if self.is_sentence else f"{self.path} {self.message}"


class AtLeastOne(NamedTuple):
    """At least one of these fields must be present, or the message tells so."""

    names: tuple[str, ...]
    message: str


def missing(path: str) -> Problem:
    return Problem(path, mistakes.REQUIRED, is_missing=True)


def read(shape: type[Shape], body: Any) -> Shape:
    """The typed object in a body. Raises MissingParameter, ArraySizeExceeded, InvalidRequest, or what a parser does.

    A class that takes a body as it was sent says so by `of_body`.
    """
    if (of_body := getattr(shape, "of_body", None)) and isinstance(body, dict):
        return cast("Shape", of_body(body))
    try:
        made: Shape = _reader(cast("Any", shape))(body)
    except _Problems as found:
        raise found.as_refusal() from None
    return made


class _Problems(Exception):
    def __init__(self, found: Iterable[Problem]) -> None:
        self.found = list(found)

    def below(self, path: str) -> list[Problem]:
        """The same, for whoever holds this value at that path."""
        return [problem._replace(path=_joined(path, problem.path)) for problem in self.found]

    def as_refusal(self) -> Refusal:
        kind = MissingParameter if all(problem.is_missing for problem in self.found) else InvalidRequest
        details = [FailureDetail(field=problem.path, message=problem.in_words) for problem in self.found]
        return kind(
            " ".join(problem.in_words for problem in self.found), details=details if len(self.found) > 1 else ()
        )


def _joined(path: str, below: str) -> str:
    return f"{path}.{below}" if below and not below.startswith("[") else f"{path}{below}"


def _wrong(message: str) -> _Problems:
    return _Problems([Problem("", message)])


def _refuse(mistake: str) -> None:
    """Raises for what is wrong, if anything is."""
    if mistake:
        raise _wrong(mistake)


@cache
def _reader(shape: type) -> "_ObjectReader":
    return _ObjectReader(shape)


@dataclass(frozen=True)
class _Field:
    name: str
    spelling: str
    read: Reader
    blank: Text | None
    is_required: bool
    required_without: str | None

    @classmethod
    def of(cls, member: Member) -> "_Field":
        alternative = member.note(RequiredWithout)
        return cls(
            name=member.name,
            spelling=member.spelling,
            read=_value_reader(member.hint, member.notes, member.spelling),
            blank=_text_if_blank_is_absent(member),
            is_required=member.is_required,
            required_without=alternative.other if alternative else None,
        )

    def is_absent(self, value: Any) -> bool:
        """Whether the value counts as left out. A blank text that is too long is refused as any other."""
        if value is None:
            return True
        if self.blank is None or not isinstance(value, str) or value.strip():
            return False
        return self.blank.longest is None or len(value) <= self.blank.longest


def _text_if_blank_is_absent(member: Member) -> Text | None:
    text = Text(longest=None, blank_is_absent=True) if is_choice(member.hint) else member.note(Text)
    return text if text and text.blank_is_absent else None


class _ObjectReader:
    """Reads one shape; made once for each."""

    def __init__(self, shape: type) -> None:
        self.shape = shape
        self.fields = [_Field.of(member) for member in members(shape)]
        self.aliases = {member.also: member.spelling for member in members(shape) if member.also}
        self.by_spelling = {field.spelling: field for field in self.fields}
        self.one_of: AtLeastOne | None = getattr(shape, "one_of", None)
        self.problems: Callable[[Any], Iterable[Problem]] | None = getattr(shape, "problems", None)

    def __call__(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise _wrong(mistakes.not_a("an object", data))
        given = self._fold(data) if self.aliases else data
        values: dict[str, Any] = {}
        wrong: list[Problem] = []
        for field in self.fields:
            value = given.get(field.spelling)
            if field.is_absent(value):
                if field.is_required or (field.required_without and given.get(field.required_without) in (None, "")):
                    wrong.append(missing(field.spelling))
                continue
            try:
                values[field.name] = field.read(value)
            except _Problems as found:
                wrong += found.below(field.spelling)
        if self.one_of and not any(self._has(name, values, wrong) for name in self.one_of.names):
            wrong.append(Problem(self.one_of.names[0], self.one_of.message, is_missing=True, is_sentence=True))
        if wrong:
            raise _Problems(wrong)
        made = self.shape(**values)
        if self.problems and (together := list(self.problems(made))):
            raise _Problems(together)
        return made

    def _has(self, spelling: str, values: Mapping[str, Any], wrong: list[Problem]) -> bool:
        return self.by_spelling[spelling].name in values or any(problem.path == spelling for problem in wrong)

    def _fold(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with each field in its first spelling."""
        folded = {name: value for name, value in body.items() if name not in self.aliases}
        for alias, spelling in self.aliases.items():
            value, field = body.get(alias), self.by_spelling[spelling]
            known = folded.get(spelling)
            if value is None or (known is not None and field.is_absent(value)):
                continue
            if not field.is_absent(known) and not same_json(known, value):
                raise InvalidRequest(f"{spelling} and {alias} are two spellings of one field, but their values differ.")
            folded[spelling] = value
        return folded


def _value_reader(hint: Any, notes: tuple[Any, ...], name: str) -> Reader:
    """How a value of this type is read; it raises _Problems. `name` is the field's."""
    by_kind = {type(note): note for note in notes}
    if parsed := by_kind.pop(Parsed, None):
        return partial(_parsed, _value_reader(parsed.of, tuple(by_kind.values()), name), parsed)
    if hint is str:
        text = by_kind.get(Text, Text())
        return partial(_text, text.longest, if_blank=text.if_blank)
    if hint is int:
        return partial(_whole, by_kind[Whole])
    if hint is bool:
        return _boolean
    if hint is Any:
        return _anything
    if is_dataclass(hint) and isinstance(hint, type):
        return _reader(hint)
    if is_choice(hint):
        return partial(_choice, hint)
    if get_origin(hint) in {dict, Mapping}:
        return partial(_object, by_kind.get(Stored, Stored()))
    if get_origin(hint) in {list, tuple}:
        inner, inner_notes = unwrapped(get_args(hint)[0])
        return partial(_array, name, by_kind[Items], _value_reader(inner, inner_notes, name), inner is str)
    raise TypeError(f"{hint} cannot be read from JSON.")


def _parsed(before: Reader, parsed: Parsed, value: Any) -> Any:
    return parsed.parse(before(value))


def _anything(value: Any) -> Any:
    return value


def _text(longest: int | None, value: Any, *, if_blank: str = "") -> str:
    _refuse(mistakes.not_text(value, at_most=longest))
    if if_blank and not value.strip():
        raise _wrong(f"{mistakes.BLANK} {if_blank}")
    return str(value)


def _whole(bounds: Whole, value: Any) -> int:
    _refuse(mistakes.not_whole(value, most=bounds.most, least=bounds.least))
    return int(value)


def _boolean(value: Any) -> bool:
    _refuse(mistakes.not_flag(value))
    return bool(value)


def _choice(kind: Any, value: Any) -> Any:
    text = _text(None, value)
    _refuse(mistakes.none_of([member.value for member in kind], text))
    return kind(text)


def _array(name: str, items: Items, inner: Reader, are_texts: bool, value: Any) -> list[Any]:  # noqa: FBT001
    expected = "an array of strings" if are_texts else "an array"
    if not isinstance(value, list):
        raise _wrong(mistakes.not_a(expected, value))
    if len(value) > items.most:
        raise ArraySizeExceeded(f"{name} {mistakes.not_items(value, at_most=items.most)}")
    if are_texts:
        for position, item in enumerate(value):
            if not isinstance(item, str):
                raise _wrong(f"must be {expected}, but item {position} is {describe(item)}.")
        return value
    read, wrong = list[Any](), list[Problem]()
    for position, item in enumerate(value):
        try:
            read.append(inner(item))
        except _Problems as found:
            wrong += found.below(f"[{position}]")
    if wrong:
        raise _Problems(wrong)
    return read


def _object(stored: Stored, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(mistakes.not_a("an object", value))
    if depth(value) > STORED_DEPTH:
        raise _wrong(f"is nested more than {STORED_DEPTH} deep.")
    size = json_bytes(value)
    if size > stored.most_bytes:
        raise _wrong(f"is {size} bytes of JSON; its maximum is {stored.most_bytes}.")
    return value

"""What a field of a typed object says beside its Python type, in `Annotated`: how it is spelled, bounded and described.

A plain text among the notes is the field's description. The same types serve bodies, query strings and answers.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from engage.notations.sizes import KIB

Shape = TypeVar("Shape")


@dataclass(frozen=True)
class Spelled:
    """The field's name in JSON if it is not the camel case of its own, and a second one that bodies may use."""

    name: str
    also: str = ""


@dataclass(frozen=True)
class Text:
    """A text of at most this many characters (None: only the body's size bounds it).

    With `blank_is_absent`, one without any visible character counts as left out; with `if_blank` it is refused, and
    this says what to do instead.
    """

    longest: int | None = 1024
    blank_is_absent: bool = False
    if_blank: str = ""


@dataclass(frozen=True)
class Whole:
    """A whole number within these bounds."""

    most: int
    least: int = 1


@dataclass(frozen=True)
class Items:
    """An array of at most this many items. `of` is what each should be, if each is read on its own."""

    most: int
    of: type | None = None


@dataclass(frozen=True)
class Stored:
    """A JSON object that is stored: at most this many bytes when written as JSON, nested at most 10 levels deep."""

    most_bytes: int = 64 * KIB


@dataclass(frozen=True)
class Parsed:
    """The value is read as `of`, and then parsed. The parser raises a Refusal of its own."""

    parse: Callable[[Any], Any]
    of: Any = str


@dataclass(frozen=True)
class RequiredWithout:
    """The field may be left out only if the body has the other one."""

    other: str


class _LeftOut:
    """A member that is left out of an answer if it is None."""


LEFT_OUT = _LeftOut()


@dataclass(frozen=True)
class Member:
    """A field of a typed object, as JSON has it."""

    name: str
    spelling: str
    also: str
    hint: Any
    annotated: Any
    notes: tuple[Any, ...]
    is_optional: bool
    declared: "Field[Any]"

    def note(self, kind: type) -> Any:
        """The last note of this kind, which refines those before it; or None."""
        return next((note for note in reversed(self.notes) if isinstance(note, kind)), None)

    @property
    def description(self) -> str:
        return self.note(str) or ""

    @property
    def is_required(self) -> bool:
        """Whether a body must have it."""
        return self.declared.default is MISSING and self.declared.default_factory is MISSING

    @property
    def is_left_out(self) -> bool:
        return LEFT_OUT in self.notes


def filled(shape: type[Shape], source: object, **given: Any) -> Shape:
    """A typed object with what is given, and all else from the attributes of the source that have the same names."""
    names = _names(cast("Any", shape))
    return shape(**{name: given[name] if name in given else getattr(source, name) for name in names})


@cache
def _names(shape: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(shape))


@cache
def members(shape: type) -> tuple[Member, ...]:
    """The members of a typed object (a dataclass), in order."""
    return tuple(_members(shape))


def spellings(shape: type) -> list[str]:
    """The names that the members may have in a body: the first spelling and, where there is one, the second."""
    return [name for member in members(shape) for name in (member.spelling, member.also) if name]


def _members(shape: type) -> Iterator[Member]:
    hints = get_type_hints(shape, include_extras=True)
    for field in fields(shape):
        if field.metadata.get("hidden"):
            continue
        hint, notes = unwrapped(hints[field.name])
        spelled = next((note for note in notes if isinstance(note, Spelled)), None) or Spelled(camel_case(field.name))
        bare, is_optional = without_none(hint)
        yield Member(field.name, spelled.name, spelled.also, bare, hints[field.name], notes, is_optional, field)


def unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type without its notes, and the notes."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        bare, more = unwrapped(inner)
        return bare, (*notes, *more)
    return hint, ()


def without_none(hint: Any) -> tuple[Any, bool]:
    """The type without None, and whether it allowed that."""
    if get_origin(hint) in {Union, UnionType} and NoneType in get_args(hint):
        others = [member for member in get_args(hint) if member is not NoneType]
        return (others[0] if len(others) == 1 else Union[tuple(others)]), True  # noqa: UP007 (made at run time)
    return hint, False


def is_choice(hint: Any) -> bool:
    """Whether the type is an enumeration of texts."""
    return isinstance(hint, type) and issubclass(hint, Enum)


def camel_case(name: str) -> str:
    """`workspace_id` as `workspaceId`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def snake_case(name: str) -> str:
    """`workspaceId` as `workspace_id`."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)

"""Objects of a document that are read as their dataclass describes them: a field, its name and its rule in one line.

    @dataclass(frozen=True, kw_only=True)
    class Case:
        condition: Condition = within("if", read_condition)
        next: str | None = within("next", WrittenStep.target)

    case = read_object(Case, part, step)

What is not described is refused, as is what is missing, with all other mistakes. Rules over several fields stand in a
class method `check(where, parts, read)`. What authors are told of a field stands in the same line: `about=told(…)`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from engage.json.documents import Fields, Part, Reading

_Value = TypeVar("_Value")
_Where = TypeVar("_Where")
_DESCRIPTION = "written"
About = Mapping[str, Any]
Abouts = Sequence[About]


def told(label: str, kind: str, help: str = "", **more: Any) -> dict[str, Any]:  # noqa: A002
    """What an author is told of a field: its label, the kind of its value, a sentence, and what that kind has beside.

    `start` is what a new object has there.
    """
    return {"type": kind, "label": label, "help": help, **more}


def variants(label: str, *kinds: tuple[str, str, type | Abouts], otherwise: str = "") -> dict[str, Any]:
    """Fields of which one kind alone may stand there: the field that tells it, what authors call it, its fields.

    `otherwise`: what they call it if none does, where that may be.
    """
    return {
        "type": "variants",
        "label": label,
        "otherwise": otherwise,
        "variants": [
            {"name": name, "label": called, "fields": list(abouts_of(of) if isinstance(of, type) else of)}
            for name, called, of in kinds
        ],
    }


@dataclass(frozen=True)
class _Description:
    """The names that a field is read from, and how: it is given what the object is read within, and the parts."""

    read: Callable[[Any, Fields], Any]
    required: Sequence[str] = ()
    optional: Sequence[str] = ()
    about: Abouts = ()


def taken_from(
    read: Callable[[_Where, Fields], _Value],
    *,
    required: Sequence[str] = (),
    optional: Sequence[str] = (),
    default: Any = MISSING,
    about: Abouts = (),
) -> Any:
    """A field that is read from several parts, or from none. The default is that of objects made by hand."""
    return field(default=default, metadata={_DESCRIPTION: _Description(read, required, optional, about)})


def within(
    name: str,
    read: Callable[[_Where, Part], _Value],
    *,
    default: Any = MISSING,
    or_null: bool = False,
    about: About | None = None,
) -> Any:
    """A field read from the part of this name, by what the object is read within.

    With a default, the part may be left out, and with `or_null` it may be null for that.
    """

    def found(where: _Where, parts: Fields) -> Any:
        if default is not MISSING and (name not in parts or (or_null and parts[name].is_null)):
            return default
        return read(where, parts[name])

    if default is MISSING:
        return taken_from(found, required=[name], about=_named(name, about, required=True))
    return taken_from(found, optional=[name], default=default, about=_named(name, about))


def _named(name: str, about: About | None, **more: Any) -> Abouts:
    return () if about is None else [{"name": name, **about, **more}]


def written(
    name: str,
    read: Callable[[Part], _Value],
    *,
    default: Any = MISSING,
    or_null: bool = False,
    about: About | None = None,
) -> Any:
    """As within, if nothing else has to be known."""
    return within(name, lambda _, part: read(part), default=default, or_null=or_null, about=about)


def all_of(kind: type) -> Any:
    """A field that is an object whose own fields stand beside this one's."""
    return taken_from(partial(read_beside, kind), **names_of(kind)._asdict(), about=abouts_of(kind))


class Names(NamedTuple):
    """What may stand in an object."""

    required: Sequence[str]
    optional: Sequence[str]


def names_of(kind: type) -> Names:
    """The names of all fields, in the order in which they are described."""
    each = _descriptions(kind).values()
    return Names([name for one in each for name in one.required], [name for one in each for name in one.optional])


def abouts_of(kind: type) -> list[About]:
    """What authors are told of all fields, in the order in which they are described."""
    return [about for one in _descriptions(kind).values() for about in one.about]


def read_object(kind: type[_Value], part: Part, where: Any = None) -> _Value:
    """The object in this part. Refuses every mistake in it."""
    with Reading() as read:
        parts = part.fields(**names_of(kind)._asdict(), reading=read)
        values = read_values(kind, where, parts, read)
    return kind(**values)


def read_beside(kind: type[_Value], where: Any, parts: Fields) -> _Value:
    """The object whose fields are among these parts."""
    with Reading() as read:
        values = read_values(kind, where, parts, read)
    return kind(**values)


def read_values(kind: type, where: Any, parts: Fields, read: Reading) -> dict[str, Any]:
    """The values of all described fields, by attribute."""
    if check := getattr(kind, "check", None):
        check(where, parts, read)
    return {name: read(partial(one.read, where, parts)) for name, one in _descriptions(kind).items()}


@lru_cache(maxsize=100)
def _descriptions(kind: Any) -> dict[str, _Description]:
    """By attribute; those of its own before what it inherits."""
    described = [one for one in fields(kind) if _DESCRIPTION in one.metadata]
    described.sort(key=lambda one: one.name not in kind.__annotations__)
    return {one.name: one.metadata[_DESCRIPTION] for one in described}


def object_of(kind: type[_Value]) -> Callable[[Any, Part], _Value]:
    """Reads an object that is described by this class."""
    return lambda where, part: read_object(kind, part, where)


def list_of(
    read: Callable[[_Where, Part], _Value], *, at_most: int, least: int, called: str
) -> Callable[[_Where, Part], tuple[_Value, ...]]:
    """Reads an array of at least so many (`called`: "two paths") and at most so many."""

    def items(where: _Where, part: Part) -> tuple[_Value, ...]:
        with Reading() as reading:
            found = reading.each(part.items(at_most=at_most), partial(read, where))
            if len(found) < least:
                part.refuse(f"must hold at least {called}.")
        return tuple(found)

    return items

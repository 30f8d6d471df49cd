"""The fields of a kind of definition: a frozen dataclass whose annotations say what each may be and what it means.

    @dataclass(frozen=True, kw_only=True)
    class SubscriptionFields(Fields):
        url: Annotated[str, "Where events are posted. Required."] = ""
        batch: Annotated[int, "How many events one request has at most; 100 by default.", Whole(100)] = 100

From it come the reader of an item, the defaults, the item as it is written, and the body in the OpenAPI document.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import partial
from typing import Any, cast, get_args, get_origin

from engage.json.documents import Part, Reading
from engage.json.fields import Member, Whole, members, unwrapped

KEY = "key"
Item = dict[str, Any]
Readers = Mapping[str, Callable[[Part], Any]]


@dataclass(frozen=True)
class ReadBy:
    """The value is read by this, which refuses what cannot stand there."""

    read: Callable[[Part], Any]


@dataclass(frozen=True, kw_only=True)
class Described:
    """What stands under a key at `place`, and the values of the fields that are given, by the domain's names."""

    place: str
    key: str
    changes: Mapping[str, Any]


class Fields:
    """The shape of a definition, to inherit from. A body is taken as it was sent: `read_item` tells all its mistakes,
    with those that are found when it is saved.
    """

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Item:
        """What is sent; null counts as absent."""
        return {name: value for name, value in body.items() if value is not None}


def fields_of(shape: type) -> list[Member]:
    """The fields, without the key that names what they are of."""
    return [member for member in members(cast("Any", shape)) if member.name != KEY]


def defaults_of(shape: type) -> dict[str, Any]:
    """What the fields are where nothing is said of them; those without a default are not in it."""
    return {one.name: one.declared.default for one in fields_of(shape) if one.declared.default is not MISSING}


def read_item(item: Part, shape: type, reading: Reading, *, instead: Readers | None = None) -> Described:
    """One item, of a file or a body: what cannot stand there is noted in the reading, and left out of the changes.

    `instead` reads fields, by the names that they are written by, in place of what the shape says, or beside it.
    """
    readers = {one.spelling: (one.name, reader_of(one)) for one in fields_of(shape)}
    readers |= {name: (readers[name][0] if name in readers else name, read) for name, read in (instead or {}).items()}
    parts = item.fields(required=[KEY], optional=readers, reading=reading)
    changes: dict[str, Any] = {}

    def take(name: str, read: Callable[[Part], Any], part: Part) -> None:
        changes[name] = read(part)

    for spelling, (name, read) in readers.items():
        if spelling in parts:
            reading(partial(take, name, read, parts[spelling]))
    return Described(place=item.place, key=reading(parts[KEY].text), changes=changes)


def reader_of(member: Member) -> Callable[[Part], Any]:
    """How its value is read. One that may be None is null where nothing is meant."""
    if own := member.note(ReadBy):
        return cast("Callable[[Part], Any]", own.read)
    read = _reader(member.hint, member.notes)
    return (lambda part: None if part.is_null else read(part)) if member.is_optional else read


def _reader(hint: Any, notes: Sequence[Any]) -> Callable[[Part], Any]:
    bounds = next((note for note in notes if isinstance(note, Whole)), None)
    if hint is int:
        return (lambda part: part.whole(most=bounds.most, least=bounds.least)) if bounds else Part.integer
    if hint is float:
        return Part.number
    if hint is str:
        return Part.text
    if hint is bool:
        return Part.flag
    if hint is Any:
        return lambda part: part.value
    if get_origin(hint) in {list, tuple, Sequence}:
        inner = _reader(*unwrapped(get_args(hint)[0]))
        return lambda part: [inner(item) for item in part.items()]
    raise TypeError(f"{hint} cannot be read from a definition.")

"""Strict reading of a JSON document: wrong, missing and unknown fields are refused, and the refusal names the place.

A refusal is an exception, so whoever reads one part after the other finds the first mistake alone. `Reading` finds all.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Never, Self, TypeVar, cast

from engage.errors import MOST_MISTAKES, Refusal
from engage.json import mistakes

_Value = TypeVar("_Value")


class Reading:
    """Reads part after part; the first refusal is raised at the end of the block, with the others as `further`.

    What could not be read is None inside the block, so a value may be used only after it:

        with Reading() as read:
            url = read(lambda: read_url(fields["url"]))
            body = read(lambda: read_body(fields["body"]))
        return Request(url, body)
    """

    def __init__(self) -> None:
        self._refused: list[Refusal] = []
        self._more = 0

    def __enter__(self) -> Self:
        return self

    def __call__(self, read: Callable[[], _Value]) -> _Value:
        try:
            return read()
        except Refusal as refusal:
            self._keep(refusal)
        except _Missing:
            pass  # refused already
        return cast("_Value", None)

    def each(self, parts: "Iterable[Part]", read: "Callable[[Part], _Value]") -> list[_Value]:
        """What is read of each part, None where it could not be read."""
        return [self(partial(read, part)) for part in parts]

    def note(self, part: "Part", reason: str) -> None:
        """Refuses the part, at the end of the block."""
        if len(self._refused) >= MOST_MISTAKES:
            self._more += 1
            return
        try:
            part.refuse(reason)
        except Refusal as refusal:
            self._refused.append(refusal)

    def _keep(self, refusal: Refusal) -> None:
        found = refusal.all_found()
        kept = found[: MOST_MISTAKES - len(self._refused)]
        self._refused += kept
        self._more += len(found) - len(kept) + (0 if kept else refusal.more)  # of a kept one, `one_of` counts its own

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Refusal):
            self._keep(error)
        elif error is not None:
            return
        if self._refused:
            raise one_of(self._refused, more=self._more)


class _Missing(KeyError):
    """A required field is not there, and that has been refused."""


class Fields(dict[str, "Part"]):
    """The parts of an object by name; inside a reading, one that is missing is not refused again."""

    def __missing__(self, name: str) -> Never:
        raise _Missing(name)


def one_of(refusals: Iterable[Refusal], *, more: int = 0) -> Refusal:
    """The first of the refusals (there is one), with the others as `further`; what is said twice counts once.

    After MOST_MISTAKES, they are added to those that are only counted.
    """
    found: dict[str, Refusal] = {}
    for refusal in refusals:
        more, refusal.more = more + refusal.more, 0
        if len(found) < MOST_MISTAKES:
            found.setdefault(refusal.message, refusal)
        else:
            more += refusal.message not in found
    first, *further = found.values()
    first.further, first.more = further, more
    return first


@dataclass(frozen=True)
class Part:
    """One value of a document, its place (`steps[2].for`; "" is the whole document), and the refusal to raise."""

    value: object
    place: str
    refusal: type[Refusal]

    def refuse(self, reason: str) -> Never:
        """Raises the refusal with a message that begins with the place."""
        raise self._refused(f"{self.place or 'The value'} {reason}", self.place)

    def refuse_for(self, refusal: Refusal) -> Never:
        """Raises what somebody else has found in this part, with the places in it, as the document's own refusal."""
        mine = [self._refused(found.message, found.place) for found in refusal.all_found()]
        raise one_of(mine, more=refusal.more) from None

    def _refused(self, message: str, place: str) -> Refusal:
        refused = self.refusal(message)
        refused.place = place
        return refused

    def refuse_type(self, expected: str) -> Never:
        """Raises the refusal for a wrong type; `expected` is the right one, such as "a string"."""
        self.refuse(mistakes.not_a(expected, self.value))

    def require(self, mistake: str) -> None:
        """Raises the refusal for what is wrong (engage/json/mistakes.py), if anything is."""
        if mistake:
            self.refuse(mistake)

    @property
    def is_null(self) -> bool:
        return self.value is None

    def members(self) -> dict[str, "Part"]:
        """The parts of an object by name. Any names are allowed."""
        if not isinstance(self.value, dict):
            self.refuse_type("an object")
        return {name: self.at(value, name) for name, value in self.value.items()}

    def fields(
        self, *, required: Collection[str] = (), optional: Collection[str] = (), reading: Reading | None = None
    ) -> Fields:
        """The parts of an object by name. It must have all required fields, and no others but the optional ones.

        In a reading, those that are right can be read even if others are missing or unknown.
        """
        found = self.members()
        known = [*required, *optional]

        def check(read: Reading) -> None:
            for name, part in found.items():
                if name not in known:
                    read.note(part, mistakes.unknown(known))
            for name in required:
                if name not in found:
                    read.note(self.at(None, name), mistakes.REQUIRED)

        if reading is not None:
            check(reading)
        else:
            with Reading() as own:
                check(own)
        return Fields({name: part for name, part in found.items() if name in known})

    def field(self, name: str) -> "Part":
        """The part with this name in an object; refused if missing."""
        found = self.members()
        if name not in found:
            self.at(None, name).refuse(mistakes.REQUIRED)
        return found[name]

    def items(self, *, at_most: int | None = None) -> list["Part"]:
        """The parts of an array."""
        self.require(mistakes.not_items(self.value, at_most=at_most))
        values = cast("list[object]", self.value)
        return [Part(value, f"{self.place}[{index}]", self.refusal) for index, value in enumerate(values)]

    def text(self, *, at_most: int | None = None) -> str:
        """A string that is not blank."""
        self.require(mistakes.not_text(self.value))
        text = str(self.value)
        self.require("" if text.strip() else mistakes.BLANK)
        self.require(mistakes.not_text(text, at_most=at_most))
        return text

    def choice(self, choices: Collection[str]) -> str:
        """A string that is one of these."""
        text = self.text()
        self.require(mistakes.none_of(choices, text))
        return text

    def flag(self) -> bool:
        """true or false."""
        self.require(mistakes.not_flag(self.value))
        return bool(self.value)

    def integer(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse_type("a whole number")
        return self.value

    def whole(self, *, most: int, least: int = 1) -> int:
        """A whole number within these bounds."""
        self.require(mistakes.not_whole(self.value, most=most, least=least))
        return cast("int", self.value)

    def number(self) -> float:
        """A number, whole or not."""
        self.require(mistakes.not_number(self.value))
        return cast("float", self.value)

    def at(self, value: object, name: str) -> "Part":
        return Part(value, f"{self.place}.{name}" if self.place else name, self.refusal)

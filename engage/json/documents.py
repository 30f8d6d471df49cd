"""Strict reading of a JSON document: wrong, missing and unknown fields are refused, and the refusal names the place."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Never

from engage.errors import Refusal
from engage.json.storable import describe


@dataclass(frozen=True)
class Part:
    """One value of a document, its place (`steps[2].for`; "" is the whole document), and the refusal to raise."""

    value: object
    place: str
    refusal: type[Refusal]

    def refuse(self, reason: str) -> Never:
        """Raises the refusal with a message that begins with the place."""
        raise self.refusal(f"{self.place or 'The value'} {reason}")

    def refuse_type(self, expected: str) -> Never:
        """Raises the refusal for a wrong type; `expected` is the right one, such as "a string"."""
        self.refuse(f"must be {expected}, but {describe(self.value)} came.")

    @property
    def is_null(self) -> bool:
        return self.value is None

    def members(self) -> dict[str, "Part"]:
        """The parts of an object by name. Any names are allowed."""
        if not isinstance(self.value, dict):
            self.refuse_type("an object")
        return {name: self._at(value, name) for name, value in self.value.items()}

    def fields(self, *, required: Collection[str] = (), optional: Collection[str] = ()) -> dict[str, "Part"]:
        """The parts of an object by name. It must have all required fields, and no others but the optional ones."""
        found = self.members()
        known = [*required, *optional]
        for name, part in found.items():
            if name not in known:
                part.refuse(f"is not known; what may stand here is {', '.join(known)}.")
        for name in required:
            if name not in found:
                self._at(None, name).refuse("is required.")
        return found

    def field(self, name: str) -> "Part":
        """The part with this name in an object; refused if missing."""
        found = self.members()
        if name not in found:
            self._at(None, name).refuse("is required.")
        return found[name]

    def items(self, *, at_most: int | None = None) -> list["Part"]:
        """The parts of an array."""
        if not isinstance(self.value, list):
            self.refuse_type("an array")
        if at_most is not None and len(self.value) > at_most:
            self.refuse(f"holds {len(self.value)} items; its maximum is {at_most}.")
        return [Part(value, f"{self.place}[{index}]", self.refusal) for index, value in enumerate(self.value)]

    def text(self, *, at_most: int | None = None) -> str:
        """A string that is not blank."""
        if not isinstance(self.value, str):
            self.refuse_type("a string")
        if not self.value.strip():
            self.refuse("must not be blank.")
        if at_most is not None and len(self.value) > at_most:
            self.refuse(f"must be at most {at_most} characters long, not {len(self.value)}.")
        return self.value

    def flag(self) -> bool:
        """true or false."""
        if not isinstance(self.value, bool):
            self.refuse_type("a boolean")
        return self.value

    def integer(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse_type("a whole number")
        return self.value

    def _at(self, value: object, name: str) -> "Part":
        return Part(value, f"{self.place}.{name}" if self.place else name, self.refusal)

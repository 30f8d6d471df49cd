"""What the OpenAPI document says of a type that Python does not express: annotations such as `Annotated[int, …]`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The keywords that a schema has instead in the strict form of the OpenAPI document: see engage/calls/schema/forms.py.
STRICT = "x-strict"
# The texts of today, where others may come: what is told of them in the plain form, instead of an `enum`.
KNOWN_VALUES = "x-extensible-enum"
# Or null. Python counts the four separators of ASCII as blank, other languages' `\s` does not.
BLANK = {"pattern": r"^[\s\x1c-\x1f]*$"}


class Keywords:
    """JSON Schema keywords: `Annotated[int, Keywords(minimum=0)]`."""

    def __init__(self, *, strict: Mapping[str, Any] | None = None, **keywords: Any) -> None:
        self.schema = {**keywords, STRICT: strict} if strict else keywords


def known(values: Sequence[str]) -> Keywords:
    """The texts that an answer may have today. Clients must take others, so only the strict form lists them as all."""
    return Keywords(**{KNOWN_VALUES: [*values]}, strict={KNOWN_VALUES: None, "enum": [*values]})


def choice_of(names: Iterable[str]) -> dict[str, Any]:
    """One of these texts. Blank and null count as absent, as in every field, which a choice cannot say."""
    known = [*map(str, names)]
    strict = {"type": ["string", "null"], "enum": None, "anyOf": [{"enum": [*known, None]}, BLANK]}
    return {"type": "string", "enum": known, STRICT: strict}


@dataclass(frozen=True)
class Choice:
    """One of these texts, as a type with a name: `JobStatus = Annotated[str, Choice("JobStatus", ("queued", …))]`."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class OneOf:
    """The name of a type that is one of several objects: `Annotated[QueuedOne | DryRunData, OneOf("Triggered")]`.

    Few generators of clients know such a choice, so in the plain form it is one object with the fields of all.
    """

    name: str

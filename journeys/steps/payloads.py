"""What a journey's payloads must be: a schema (schemas.py), which also says what templates may read of them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engage.errors import Refusal
from engage.json.documents import Part
from journeys.rendering import NAMES, Names
from journeys.steps.schemas import errors_in, in_words, read_schema, validator_of

MOST_MISTAKES = 20
_CHOICES = ("anyOf", "oneOf", "allOf", "not")
_OF_TYPES: Mapping[str, Any] = {"string": "", "number": 0, "integer": 0, "boolean": True, "array": [], "null": None}


class InvalidPayloadSchema(Refusal):
    """The schema is not one that payloads can be held to; the message names the place."""

    error = "Invalid payload schema"


class Mistake(NamedTuple):
    """A rule that a payload does not meet, and where: `payload.items[0].sku`."""

    place: str
    message: str


def check_payload_schema(value: object) -> None:
    """Raises InvalidPayloadSchema, unless it is a schema or None."""
    if value is not None:
        read_schema(Part(value, "payloadSchema", InvalidPayloadSchema))


def mistakes_in(payload: Mapping[str, Any], schema: Mapping[str, Any], *, is_part: bool = False) -> list[Mistake]:
    """The first of the rules that the payload does not meet; without those of the whole, if it is only a part of one.

    May raise OverBudget.
    """

    def counts(error: Any) -> bool:
        return bool(error.absolute_path) or not is_part

    errors = errors_in(dict(payload), validator_of(schema), most=MOST_MISTAKES, where=counts)
    return [Mistake(_place(error.absolute_path), in_words(error)) for error in errors]


def _place(path: Any) -> str:
    return "payload" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def names_with(names: Names, schema: Any) -> Names:
    """The names that templates may begin with, where payloads meet the schema; None stands for none."""
    if not isinstance(schema, Mapping):
        return names
    known = _names_in(schema)
    return {**names, "api": dict.fromkeys(NAMES["api"] or (), known)}


def _names_in(schema: Any) -> Names | None:
    """Those that an object may have; None: any, or it may be something else."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object" or "properties" not in schema:
        return None
    if schema.get("additionalProperties") not in (None, False) or any(word in schema for word in _CHOICES):
        return None
    return {name: _names_in(inner) for name, inner in schema["properties"].items()} | {"size": None}


def example_of(schema: Any) -> Any:
    """A value as the schema describes it: by its examples and defaults, else the simplest of its type."""
    if not isinstance(schema, Mapping):
        return {}
    for word in ("default", "const"):
        if word in schema:
            return schema[word]
    for word in ("examples", "enum"):
        if schema.get(word):
            return schema[word][0]
    return _simplest(schema)


def _simplest(schema: Mapping[str, Any]) -> Any:
    types = schema.get("type", "string")
    kind = types if isinstance(types, str) else next(iter(types), "string")
    if kind == "object":
        return {name: example_of(inner) for name, inner in _shown(schema)}
    if kind in {"number", "integer"}:
        return schema.get("minimum", 0)
    return _OF_TYPES.get(kind)


def _shown(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from schema.get("properties", {}).items()

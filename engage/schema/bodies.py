"""Request bodies in the OpenAPI document, derived from the serializers that read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import force_instance
from drf_spectacular.utils import Direction

from engage.fields import ArrayField, BodySerializer, ObjectField, StrictField, TextArrayField, TextField
from engage.schema.shapes import Schema, or_null
from engage.sizes import KIB
from engage.storable_json import STORED_DEPTH

NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}
BLANK: Schema = {"pattern": r"^\s*$"}  # or null
EMAIL: Schema = {"anyOf": [{"format": "email"}, BLANK]}  # where a blank value counts as absent


@dataclass(frozen=True, eq=False)
class Body:
    """A serializer's body, with JSON Schema keywords that its fields do not express.

    `properties` adds keywords to single fields, in both spellings; `rules` adds keywords to the whole object. `parts`
    are nested serializers with keywords of their own.
    """

    serializer: type[BodySerializer]
    properties: Mapping[str, Schema] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple["Body", ...] = ()


class _BodyExtension(OpenApiSerializerExtension):
    target_class = Body

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.serializer.__name__)

    def get_identity(self, auto_schema: AutoSchema, direction: Direction) -> Any:
        return self.target.serializer

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        body: Body = self.target
        for part in body.parts:  # first, because mapping the serializer would register them without their rules
            auto_schema.resolve_serializer(part, direction)  # type: ignore[arg-type]
        schema = auto_schema._map_serializer(body.serializer, direction)
        properties = {
            name: {**known, **body.properties.get(body.serializer.aliases.get(name, name), {})}
            for name, known in schema["properties"].items()
        }
        return {**schema, "properties": properties, **body.rules}


class _SerializerExtension(OpenApiSerializerExtension):
    """Adds a field's second spelling, and null for optional fields. Unknown fields are allowed."""

    target_class = BodySerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        serializer = force_instance(self.target)
        schema: Schema = auto_schema._map_serializer(serializer, direction, bypass_extensions=True)
        required = schema.get("required", [])
        properties = {}
        for name, known in schema["properties"].items():
            if isinstance(kept := serializer.fields[name], ObjectField):
                bounds = f"At most {kept.max_bytes // KIB} KiB of JSON, nested at most {STORED_DEPTH} levels deep."
                known["description"] = f"{known['description']} {bounds}"
            properties[name] = known if name in required else or_null(known)
            for alias in (alias for alias, meant in serializer.aliases.items() if meant == name):
                same = f"The same as `{name}`. If both are sent, they must be equal."
                properties[alias] = {**properties[name], "description": same}
        return {**schema, "properties": properties}


class _FieldExtension(OpenApiSerializerFieldExtension):
    target_class = StrictField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        match self.target:
            case TextField() as text:
                needed = NOT_BLANK if text.required and text.blank_is_absent else {"type": "string"}
                return needed if text.max_length is None else {**needed, "maxLength": text.max_length}
            case TextArrayField() as texts:
                return {"type": "array", "items": {"type": "string"}, "maxItems": texts.max_items}
            case ArrayField() as array:
                return {"type": "array", "items": {}, "maxItems": array.max_items}
            case ObjectField():
                return {"type": "object"}
            case other:
                raise TypeError(f"{type(other).__name__} has no description.")


def at_least_one_of(*names: str, serializer: type[BodySerializer], value: Schema) -> Schema:
    """The rule that at least one of these fields, in either spelling, matches `value`."""
    return {
        "anyOf": [
            {"required": [name], "properties": {name: value}} for name in _spellings(*names, serializer=serializer)
        ]
    }


def none_of(*names: str, serializer: type[BodySerializer], absent: Schema) -> Schema:
    """The rule that each of these fields, in either spelling, is missing or matches `absent`."""
    return {"properties": dict.fromkeys(_spellings(*names, serializer=serializer), absent)}


def _spellings(*names: str, serializer: type[BodySerializer]) -> list[str]:
    """The names together with their aliases."""
    return [*names, *(alias for alias, meant in serializer.aliases.items() if meant in names)]

"""The answer types as named components of the OpenAPI document."""

from dataclasses import dataclass, is_dataclass
from typing import Any, is_typeddict

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction

from engage.calls.schema.objects import objects_schema
from engage.calls.schema.shapes import Objects, Schema, object_schema, shape_name
from engage.http.envelope import Success
from engage.json.keywords import Choice, known


@dataclass(frozen=True)
class Envelope:
    """The body of a successful answer: its name in the document, and the type of its `data`."""

    name: str
    data: Any


class _ShapeExtension(OpenApiSerializerExtension):
    """Lets drf-spectacular take a TypedDict or a dataclass in place of a serializer."""

    @classmethod
    def _matches(cls, target: Any) -> bool:
        return is_typeddict(target) or (isinstance(target, type) and is_dataclass(target))

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return shape_name(self.target)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return object_schema(self.target, refer=lambda shape: auto_schema.resolve_serializer(shape, direction).ref)


class _ChoiceExtension(OpenApiSerializerExtension):
    target_class = Choice

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.name)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return {"type": "string", **known(self.target.values).schema}


class _ObjectsExtension(OpenApiSerializerExtension):
    target_class = Objects

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.name)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return objects_schema(self.target, refer=lambda shape: auto_schema.resolve_serializer(shape, direction).ref)


class _EnvelopeExtension(OpenApiSerializerExtension):
    target_class = Envelope

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.name)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return object_schema(
            Success[self.target.data],  # type: ignore[name-defined]
            refer=lambda shape: auto_schema.resolve_serializer(shape, direction).ref,
        )

"""The answer types as named components of the OpenAPI document."""

from typing import Any, get_args, get_origin, is_typeddict

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction

from engage.envelope import Success
from engage.schema.shapes import Schema, object_schema


class _TypedDictExtension(OpenApiSerializerExtension):
    """Lets drf-spectacular take a TypedDict, also a generic one with its argument, in place of a serializer."""

    @classmethod
    def _matches(cls, target: Any) -> bool:
        return is_typeddict(get_origin(target) or target)

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return _name(self.target)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return object_schema(self.target, refer=lambda shape: auto_schema.resolve_serializer(shape, direction).ref)


def _name(shape: Any) -> str:
    """`JobData` for itself, `JobAnswer` for `Success[JobData]`, `SingleOrBulkAnswer` for a choice of two."""
    if get_origin(shape) is not Success:
        return str(shape.__name__)
    (data,) = get_args(shape)
    return "Or".join(member.__name__.removesuffix("Data") for member in get_args(data) or [data]) + "Answer"

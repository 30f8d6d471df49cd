"""JSON Schema from the types that answers are declared with."""

from collections.abc import Callable, Mapping
from inspect import getdoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from engage.keywords import Keywords

Schema = dict[str, Any]
# Returns the `$ref` to a TypedDict's component.
Refer = Callable[[Any], Schema]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}


def object_schema(shape: Any, *, refer: Refer) -> Schema:
    """The schema of a TypedDict. It allows no properties other than those declared.

    A generic TypedDict is passed with its argument: `Success[JobData]`.
    """
    declared = get_origin(shape) or shape
    bound = dict(zip(getattr(declared, "__parameters__", ()), get_args(shape), strict=True))
    members = get_type_hints(declared, include_extras=True)
    return {
        "type": "object",
        "description": getdoc(declared),
        "properties": {name: type_schema(bound.get(hint, hint), refer=refer) for name, hint in members.items()},
        "required": [name for name in members if name in declared.__required_keys__],
        "additionalProperties": False,
    }


def type_schema(hint: Any, *, refer: Refer) -> Schema:
    """The schema of a type. In `Annotated`, a string is the description."""
    arguments = get_args(hint)
    match get_origin(hint):
        case None:
            return dict(_PLAIN[hint]) if hint in _PLAIN else refer(hint)
        case origin if origin is Annotated:
            return _annotated(type_schema(arguments[0], refer=refer), arguments[1:])
        case origin if origin is NotRequired:
            return type_schema(arguments[0], refer=refer)
        case origin if origin is Literal:
            return {**_PLAIN[type(arguments[0])], "enum": list(arguments)}
        case origin if origin is list:
            return {"type": "array", "items": type_schema(arguments[0], refer=refer)}
        case origin if origin in {dict, Mapping}:
            return {"type": "object", "additionalProperties": type_schema(arguments[1], refer=refer)}
        case origin if origin in {Union, UnionType}:
            return _union([type_schema(argument, refer=refer) for argument in arguments])
        case _:
            return refer(hint)


def _annotated(schema: Schema, notes: tuple[Any, ...]) -> Schema:
    for note in notes:
        match note:
            case str():
                schema["description"] = note
            case Keywords():
                schema |= note.schema
    return schema


def _union(members: list[Schema]) -> Schema:
    """`X | None` becomes X with one more type, which reads better than `oneOf`."""
    if len(members) == 2 and members[1] == _PLAIN[NoneType] and "type" in members[0]:  # noqa: PLR2004
        return or_null(members[0])
    return {"oneOf": members}


def or_null(schema: Schema) -> Schema:
    """The schema, with null allowed as well."""
    if "type" not in schema:
        described = {"description": schema["description"]} if "description" in schema else {}
        return {"anyOf": [schema, {"type": "null"}], **described}
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable

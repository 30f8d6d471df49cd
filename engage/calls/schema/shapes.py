"""JSON Schema from the types that answers are declared with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from inspect import getdoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from engage.json.fields import Member, is_choice, members
from engage.json.instants import Instant
from engage.json.keywords import KNOWN_VALUES, STRICT, Choice, Keywords, OneOf, known

Schema = dict[str, Any]
# Returns the `$ref` to the component of a TypedDict, a Choice or Objects.
Refer = Callable[[Any], Schema]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    # Few generators of clients know a type that is null alone.
    NoneType: {"type": ["string", "null"], "description": "Always null.", STRICT: {"type": "null"}},
    Any: {},
}

# A type of its own, so that it has one name in clients.
JSON_OBJECT: Schema = {
    "type": "object",
    "additionalProperties": True,
    "description": "Any JSON object: names and values are the caller's own.",
}
JSON_OBJECT_REFERENCE: Schema = {"$ref": "#/components/schemas/JsonObject"}


def shape_name(shape: Any) -> str:
    """The name of an answer's component: `Job` for JobData, or the `schema_name` that its class gives."""
    if "schema_name" in vars(shape):
        return str(shape.schema_name)
    return str(shape.__name__).removesuffix("Data").removesuffix("Record")


def object_schema(shape: Any, *, refer: Refer) -> Schema:
    """The schema of a TypedDict. Only its strict form forbids other properties, because answers may gain fields.

    A generic TypedDict is passed with its argument: `Success[JobData]`.
    """
    declared = get_origin(shape) or shape
    if is_dataclass(declared):
        return _schema_of_dataclass(declared, refer=refer)
    bound = dict(zip(getattr(declared, "__parameters__", ()), get_args(shape), strict=True))
    members = get_type_hints(declared, include_extras=True)
    return {
        "type": "object",
        "description": getdoc(declared),
        "properties": {name: type_schema(bound.get(hint, hint), refer=refer) for name, hint in members.items()},
        "required": [name for name in members if name in declared.__required_keys__],
        STRICT: {"additionalProperties": False},
    }


def _schema_of_dataclass(shape: Any, *, refer: Refer) -> Schema:
    known = members(shape)
    return {
        "type": "object",
        "description": getdoc(shape),
        "properties": {member.spelling: _member_schema(member, refer=refer) for member in known},
        "required": [member.spelling for member in known if not member.is_left_out],
        STRICT: {"additionalProperties": False},
    }


def _member_schema(member: Member, *, refer: Refer) -> Schema:
    if member.is_left_out:  # instead of being null
        return _annotated(type_schema(member.hint, refer=refer), member.notes, refer=refer)
    return type_schema(member.annotated, refer=refer)


def type_schema(hint: Any, *, refer: Refer) -> Schema:
    """The schema of a type. In `Annotated`, a string is the description."""
    arguments = get_args(hint)
    match get_origin(hint):
        case origin if origin is Annotated and isinstance(arguments[1], OneOf):
            return refer(Objects(arguments[1].name, tuple(_shapes(arguments[0]))))
        case None:
            return _named(hint, refer=refer)
        case origin if origin is Annotated:
            return _annotated(type_schema(arguments[0], refer=refer), arguments[1:], refer=refer)
        case origin if origin is NotRequired:
            return type_schema(arguments[0], refer=refer)
        case origin if origin is Literal:
            return _literal(arguments)
        case origin if origin in {list, tuple, Sequence}:
            return {"type": "array", "items": type_schema(arguments[0], refer=refer)}
        case origin if origin in {dict, Mapping} and arguments[1] is Any:
            return dict(JSON_OBJECT_REFERENCE)
        case origin if origin in {dict, Mapping}:
            return {"type": "object", "additionalProperties": type_schema(arguments[1], refer=refer)}
        case origin if origin in {Union, UnionType}:
            return _union(arguments, refer=refer)
        case _:
            return refer(hint)


def _named(hint: Any, *, refer: Refer) -> Schema:
    if hint is datetime:
        return type_schema(Instant, refer=refer)
    if is_choice(hint):
        return {"type": "string", **known([choice.value for choice in hint]).schema}
    return dict(_PLAIN[hint]) if hint in _PLAIN else refer(hint)


def _annotated(schema: Schema, notes: tuple[Any, ...], *, refer: Refer) -> Schema:
    for note in notes:
        match note:
            case str():
                schema["description"] = note
            case Keywords():
                schema |= note.schema
            case Choice():
                schema = refer(note)
    return schema


def _literal(values: tuple[Any, ...]) -> Schema:
    """The schema of some texts, or of one boolean. Few generators of clients know a boolean that has one value."""
    match values:
        case (bool() as value,):
            return {"type": "boolean", "description": f"Always {str(value).lower()}.", STRICT: {"enum": [value]}}
        case (str() as value,):
            return {"type": "string", "const": value}
        case _:
            return {"type": "string", **known(values).schema}


def _union(members: tuple[Any, ...], *, refer: Refer) -> Schema:
    """`X | None` becomes X with one more type, which reads better than `oneOf`."""
    match members:
        case (member, last) if last is NoneType:
            return or_null(type_schema(member, refer=refer))
        case _:
            raise TypeError(f"{members} needs a name: Annotated[…, OneOf(…)].")


def or_null(schema: Schema) -> Schema:
    """The schema, with null allowed as well. One that says no more than a description allows everything already.

    What the strict form of such a one allows is for whoever wrote it to say.
    """
    if not schema.keys() - {"description", STRICT}:
        return schema
    if "type" not in schema or KNOWN_VALUES in schema:
        described = {"description": schema["description"]} if "description" in schema else {}
        bare = {keyword: value for keyword, value in schema.items() if keyword != "description"}
        return {"anyOf": [bare, {"type": "null"}], **described}
    return {**schema, "type": [schema["type"], "null"]}


@dataclass(frozen=True)
class Objects:
    """Several shapes as one type with a name."""

    name: str
    shapes: tuple[Any, ...]


def _shapes(hint: Any) -> Iterator[Any]:
    """The TypedDicts that a union is made of; those of a union inside it, too."""
    match get_origin(hint):
        case None:
            yield hint
        case origin if origin is Annotated:
            yield from _shapes(get_args(hint)[0])
        case _:
            for member in get_args(hint):
                yield from _shapes(member)

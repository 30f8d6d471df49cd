"""Request bodies in the OpenAPI document, derived from the typed objects that they are read into."""

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from inspect import getdoc
from typing import Any, get_args, get_origin

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction

from engage.calls.schema.shapes import JSON_OBJECT_REFERENCE, Schema, or_null
from engage.json.fields import Items, Member, Parsed, Stored, Text, Whole, is_choice, members, unwrapped
from engage.json.keywords import BLANK, STRICT, Keywords, choice_of
from engage.json.storable import STORED_DEPTH
from engage.notations.sizes import KIB

NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}
_OF_PATCH = "A merge patch (RFC 7396): what is absent stays, and null takes away."
OPTIONAL = "x-optional"  # until the document is finished: the request need not have this body


def or_blank(**keywords: Any) -> Schema:
    """What these keywords say, or a blank value, where that counts as absent."""
    return {"anyOf": [keywords, BLANK]}


EMAIL: Schema = {STRICT: or_blank(format="email")}


def body_name(shape: type) -> str:
    """The name of a body's component: `TriggerRequest` for TriggerBody, `SubmitAction` for a SubmitActionPart."""
    return shape.__name__.replace("Body", "Request").replace("Fields", "Request").removesuffix("Part")


def at_least_one_of(*names: str, value: Schema) -> Schema:
    """The rule that at least one of these fields (each spelling is one) matches `value`."""
    return {"anyOf": [{"required": [name], "properties": {name: value}} for name in names]}


def none_of(*names: str, absent: Schema) -> Schema:
    """The rule that each of these fields (each spelling is one) is missing or matches `absent`."""
    return {"properties": dict.fromkeys(names, absent)}


@dataclass(eq=False)
class TypedBody:
    """A body that is read into this dataclass. With `optional`, no body at all is as good as an empty object.

    The class may have `rules`: keywords for the strict form of the whole object, which the call tells in words as well.
    `partial` is that of a PATCH, a merge patch to it: drf-spectacular sets it.
    """

    shape: type
    optional: bool = False
    partial: bool = False


class _TypedBodyExtension(OpenApiSerializerExtension):
    """Adds null for optional fields, and to the strict form each field's second spelling. Unknown fields are allowed.

    The plain form has one spelling of each field: in camel case, as many generators write names, both are the same.
    """

    target_class = TypedBody

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return body_name(self.target.shape)

    def get_identity(self, auto_schema: AutoSchema, direction: Direction) -> Any:
        return self.target.shape

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        properties: dict[str, Schema] = {}
        second: dict[str, Schema] = {}
        known = members(self.target.shape)
        merges = self.target.partial
        required = sorted(member.spelling for member in known if member.is_required and not merges)
        for member in known:
            described = {**self._schema_of(member, auto_schema, direction), "description": _described(member)}
            takes_null = not member.is_required and "enum" not in described
            properties[member.spelling] = or_null(described) if takes_null else described
            if member.also:
                second[member.also] = {
                    **properties[member.spelling],
                    "description": f"The same as `{member.spelling}`.",
                }
                properties[member.spelling]["description"] += also_spelled(member)
        return {
            "type": "object",
            "description": _OF_PATCH if merges else getdoc(self.target.shape),
            "properties": properties,
            **({"required": required} if required else {}),
            STRICT: {
                "properties": properties | second,
                **({} if merges else _rules(self.target.shape)),
            },
            **({OPTIONAL: True} if self.target.optional else {}),
        }

    def _schema_of(self, member: Member, auto_schema: AutoSchema, direction: Direction) -> Schema:
        def reference(shape: type) -> Schema:
            inner: Any = TypedBody(shape)
            return dict(auto_schema.resolve_serializer(inner, direction).ref)

        if is_dataclass(member.hint) and isinstance(member.hint, type):
            return reference(member.hint)
        schema, items = member_schema(member), member.note(Items)
        (each, _), *_ = [unwrapped(inner) for inner in get_args(member.hint)] or [(None, ())]
        if is_dataclass(each) and isinstance(each, type):
            return {**schema, "items": reference(each)}
        if items and items.of:  # any other item is refused, without affecting the others
            item = reference(items.of)
            return {**schema, "items": item, STRICT: {"items": {"anyOf": [item, {}]}}}
        return schema


def also_spelled(member: Member) -> str:
    """A sentence, after a space, that tells the field's second spelling; "" if it has none."""
    return f" May also be called `{member.also}`." if member.also else ""


def _rules(shape: Any) -> Schema:
    """The rules of a shape, and that of its `one_of`."""
    names = shape.one_of.names if hasattr(shape, "one_of") else ()
    known = {member.spelling: member for member in members(shape)}
    spellings = [(known[name], known[name].spelling) for name in names]
    spellings += [(known[name], known[name].also) for name in names if known[name].also]
    rules = [{"required": [text], "properties": {text: _present(member)}} for member, text in spellings]
    return ({"anyOf": rules} if rules else {}) | getattr(shape, "rules", {})


def _present(member: Member) -> Schema:
    return NOT_BLANK if member.hint is str else {"type": _plain_schema(member, member.hint).get("type", "object")}


def member_schema(member: Member) -> Schema:
    """The schema of a body's field or of a parameter, without its description."""
    schema = _plain_schema(member, member.hint)
    for note in member.notes:
        if isinstance(note, Keywords):
            schema |= note.schema
    return schema


def _plain_schema(member: Member, hint: Any) -> Schema:
    if parsed := member.note(Parsed):
        hint = parsed.of
    if hint is str:
        text = member.note(Text) or Text(longest=None)
        visible = text.if_blank or (member.is_required and text.blank_is_absent)
        needed = NOT_BLANK if visible else {"type": "string"}
        return dict(needed) if text.longest is None else {**needed, "maxLength": text.longest}
    if hint is int:
        bounds = member.note(Whole)
        return {"type": "integer"} | ({"minimum": bounds.least, "maximum": bounds.most} if bounds else {})
    if hint is bool:
        return {"type": "boolean"}
    if hint is float:
        return {"type": "number"}
    if hint is Any:
        return {}
    if is_choice(hint):
        return choice_of(choice.value for choice in hint)
    if get_origin(hint) in {list, tuple, Sequence}:
        inner, _ = unwrapped(get_args(hint)[0])
        items = member.note(Items)
        most = {"maxItems": items.most} if items else {}
        return {"type": "array", "items": {"type": "string"} if inner is str else {}, **most}
    return dict(JSON_OBJECT_REFERENCE)


def _described(member: Member) -> str:
    stored = member.note(Stored)
    if stored is None:
        return member.description
    size = stored.most_bytes // KIB
    return f"{member.description} At most {size} KiB of JSON, nested at most {STORED_DEPTH} levels deep."

"""Request bodies in the OpenAPI document, derived from the serializers that read them."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, is_dataclass
from inspect import getdoc
from typing import Any, get_args, get_origin

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import force_instance
from drf_spectacular.utils import Direction
from rest_framework.serializers import Field

from engage.http.fields import (
    ArrayField,
    BodySerializer,
    ObjectField,
    StrictField,
    TextArrayField,
    TextField,
)
from engage.json.fields import Items, Member, Parsed, Stored, Text, Whole, is_choice, members, unwrapped
from engage.json.keywords import STRICT, Keywords
from engage.json.storable import STORED_DEPTH
from engage.schema.shapes import JSON_OBJECT_REFERENCE, Schema, or_null
from engage.sizes import KIB

NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}
# Or null. Python counts the four separators of ASCII as blank, other languages' `\s` does not.
BLANK: Schema = {"pattern": r"^[\s\x1c-\x1f]*$"}
OPTIONAL = "x-optional"  # until the document is finished: the request need not have this body


def or_blank(**keywords: Any) -> Schema:
    """What these keywords say, or a blank value, where that counts as absent."""
    return {"anyOf": [keywords, BLANK]}


EMAIL: Schema = {STRICT: or_blank(format="email")}


def choice_of(names: Iterable[str]) -> Schema:
    """One of these texts. Blank and null count as absent, as in every field, which a choice cannot say."""
    known = [*map(str, names)]
    strict = {"type": ["string", "null"], "enum": None, "anyOf": [{"enum": [*known, None]}, BLANK]}
    return {"type": "string", "enum": known, STRICT: strict}


def body_name(serializer: type) -> str:
    """The name of a body's component: `TriggerRequest` for TriggerBody, `SubmitAction` for a SubmitActionPart."""
    return serializer.__name__.replace("Body", "Request").removesuffix("Part")


def body_reference(serializer: type[BodySerializer]) -> Schema:
    """The schema that refers to a body's component."""
    return {"$ref": f"#/components/schemas/{body_name(serializer)}"}


@dataclass(frozen=True, eq=False)
class Body:
    """A serializer's body, with JSON Schema keywords that its fields do not express.

    `properties` adds keywords to single fields, in both spellings; `rules` adds keywords to the strict form of the
    whole object, so the call has to tell them in words as well. `parts` are nested serializers with keywords of their
    own. With `optional`, no body at all is as good as an empty object.
    """

    serializer: type[BodySerializer]
    properties: Mapping[str, Schema] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple["Body", ...] = ()
    optional: bool = False

    def described(self, properties: Mapping[str, Schema]) -> dict[str, Schema]:
        """These properties with the keywords that the fields do not express."""
        aliases = self.serializer.aliases
        return {
            name: {**known, **self.properties.get(aliases.get(name, name), {})} for name, known in properties.items()
        }


class _BodyExtension(OpenApiSerializerExtension):
    target_class = Body

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return body_name(self.target.serializer)

    def get_identity(self, auto_schema: AutoSchema, direction: Direction) -> Any:
        return self.target.serializer

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        body: Body = self.target
        for part in body.parts:  # first, because mapping the serializer would register them without their rules
            auto_schema.resolve_serializer(part, direction)  # type: ignore[arg-type]
        schema = auto_schema._map_serializer(body.serializer, direction)
        strict = {"properties": body.described(schema[STRICT]["properties"]), **body.rules}
        optional = {OPTIONAL: True} if body.optional else {}
        return {**schema, "properties": body.described(schema["properties"]), STRICT: strict, **optional}


class _SerializerExtension(OpenApiSerializerExtension):
    """Adds null for optional fields, and to the strict form each field's second spelling. Unknown fields are allowed.

    The plain form has one spelling of each field: in camel case, as many generators write names, both are the same.
    """

    target_class = BodySerializer
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return body_name(type(force_instance(self.target)))

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        serializer = force_instance(self.target)
        schema: Schema = auto_schema._map_serializer(serializer, direction, bypass_extensions=True)
        required = schema.get("required", [])
        properties, second = {}, {}
        for name, known in schema["properties"].items():
            described = {**_referring(known), "description": _description(known, serializer.fields[name])}
            properties[name] = described if name in required else or_null(described)
            for alias in _aliases(name, serializer):
                second[alias] = {**properties[name], "description": f"The same as `{name}`."}
            properties[name]["description"] += also_called(name, serializer)
        return {**schema, "properties": properties, STRICT: {"properties": properties | second}}


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
                return dict(JSON_OBJECT_REFERENCE)
            case other:
                raise TypeError(f"{type(other).__name__} has no description.")


def _referring(known: Schema) -> Schema:
    """The bare reference, where drf-spectacular has wrapped one with a description."""
    match known:
        case {"allOf": [{"$ref": target}]}:
            return {"$ref": target}
        case _:
            return known


def _description(known: Schema, kept: Field[Any, Any, Any, Any]) -> str:
    if not isinstance(kept, ObjectField):
        return str(known["description"])
    bounds = f"At most {kept.max_bytes // KIB} KiB of JSON, nested at most {STORED_DEPTH} levels deep."
    return f"{known['description']} {bounds}"


def also_called(name: str, serializer: BodySerializer | type[BodySerializer]) -> str:
    """A sentence, after a space, that tells the field's second spelling; "" if it has none."""
    return "".join(f" May also be called `{alias}`." for alias in _aliases(name, serializer))


def at_least_one_of(*names: str, serializer: type[BodySerializer] | None = None, value: Schema) -> Schema:
    """The rule that at least one of these fields, in either spelling of the serializer, matches `value`."""
    return {
        "anyOf": [
            {"required": [name], "properties": {name: value}} for name in _spellings(*names, serializer=serializer)
        ]
    }


def none_of(*names: str, serializer: type[BodySerializer] | None = None, absent: Schema) -> Schema:
    """The rule that each of these fields, in either spelling of the serializer, is missing or matches `absent`."""
    return {"properties": dict.fromkeys(_spellings(*names, serializer=serializer), absent)}


def _spellings(*names: str, serializer: type[BodySerializer] | None) -> list[str]:
    """The names together with their aliases."""
    return [*names, *(alias for name in names if serializer for alias in _aliases(name, serializer))]


def _aliases(name: str, serializer: BodySerializer | type[BodySerializer]) -> list[str]:
    return [alias for alias, meant in serializer.aliases.items() if meant == name]


# Bodies that are typed objects --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TypedBody:
    """A body that is read into this dataclass. With `optional`, no body at all is as good as an empty object.

    The class may have `rules`: keywords for the strict form of the whole object, which the call tells in words as well.
    """

    shape: type
    optional: bool = False


class _TypedBodyExtension(OpenApiSerializerExtension):
    """As for serializers: null for optional fields, and in the strict form each field's second spelling."""

    target_class = TypedBody

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return body_name(self.target.shape)

    def get_identity(self, auto_schema: AutoSchema, direction: Direction) -> Any:
        return self.target.shape

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        properties: dict[str, Schema] = {}
        second: dict[str, Schema] = {}
        known = members(self.target.shape)
        required = sorted(member.spelling for member in known if is_required(member))
        for member in known:
            described = {**self._schema_of(member, auto_schema, direction), "description": _described(member)}
            takes_null = not is_required(member) and "enum" not in described
            properties[member.spelling] = or_null(described) if takes_null else described
            if member.also:
                second[member.also] = {
                    **properties[member.spelling],
                    "description": f"The same as `{member.spelling}`.",
                }
                properties[member.spelling]["description"] += also_spelled(member)
        return {
            "type": "object",
            "description": getdoc(self.target.shape),
            "properties": properties,
            **({"required": required} if required else {}),
            STRICT: {
                "properties": properties | second,
                **_at_least_one(self.target.shape),
                **getattr(self.target.shape, "rules", {}),
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
        if items and items.of:  # any other item is refused, without affecting the others
            item = reference(items.of)
            return {**schema, "items": item, STRICT: {"items": {"anyOf": [item, {}]}}}
        return schema


def also_spelled(member: Member) -> str:
    """A sentence, after a space, that tells the field's second spelling; "" if it has none."""
    return f" May also be called `{member.also}`." if member.also else ""


def _at_least_one(shape: Any) -> Schema:
    """The rule of a shape's `one_of`."""
    names = shape.one_of.names if hasattr(shape, "one_of") else ()
    known = {member.spelling: member for member in members(shape)}
    spellings = [(known[name], known[name].spelling) for name in names]
    spellings += [(known[name], known[name].also) for name in names if known[name].also]
    rules = [{"required": [text], "properties": {text: _present(member)}} for member, text in spellings]
    return {"anyOf": rules} if rules else {}


def _present(member: Member) -> Schema:
    return NOT_BLANK if member.hint is str else {"type": _plain_schema(member, member.hint)["type"]}


def is_required(member: Member) -> bool:
    declared = member.declared
    return declared.default is MISSING and declared.default_factory is MISSING


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
        needed = NOT_BLANK if is_required(member) and text.blank_is_absent else {"type": "string"}
        return dict(needed) if text.longest is None else {**needed, "maxLength": text.longest}
    if hint is int:
        bounds = member.note(Whole)
        return {"type": "integer", "minimum": bounds.least, "maximum": bounds.most}
    if hint is bool:
        return {"type": "boolean"}
    if is_choice(hint):
        return choice_of(choice.value for choice in hint)
    if get_origin(hint) in {list, tuple}:
        inner, _ = unwrapped(get_args(hint)[0])
        return {
            "type": "array",
            "items": {"type": "string"} if inner is str else {},
            "maxItems": member.note(Items).most,
        }
    return dict(JSON_OBJECT_REFERENCE)


def _described(member: Member) -> str:
    stored = member.note(Stored)
    if stored is None:
        return member.description
    size = stored.most_bytes // KIB
    return f"{member.description} At most {size} KiB of JSON, nested at most {STORED_DEPTH} levels deep."

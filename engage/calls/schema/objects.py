"""What is one of several objects, as one object: few generators of clients know a choice of them."""

from typing import Any

from engage.calls.schema.shapes import Objects, Refer, Schema, object_schema
from engage.json.keywords import KNOWN_VALUES, STRICT


def objects_schema(objects: Objects, *, refer: Refer) -> Schema:
    """One object with the properties of all shapes, of which those are required that all have.

    The strict form says which of them come together: it is one of the shapes.
    """
    schemas = [object_schema(shape, refer=refer) for shape in objects.shapes]
    names = dict.fromkeys(name for schema in schemas for name in schema["properties"])
    required = [name for name in names if all(name in schema["required"] for schema in schemas)]
    return {
        "type": "object",
        "description": "\n".join(["One of these:", *map(_in_words, schemas)]),
        "properties": {name: _of_any(name, schemas) for name in names},
        **({"required": required} if required else {}),
        STRICT: {"properties": None, "required": None, "oneOf": [refer(shape) for shape in objects.shapes]},
    }


def _in_words(schema: Schema) -> str:
    required = schema["required"]
    fields = [f"`{name}`" if name in required else f"`{name}` (not always)" for name in schema["properties"]]
    return f"- {schema['description']} It has {', '.join(fields)}."


def _of_any(name: str, objects: list[Schema]) -> Schema:
    """A property of those objects that have it, described as in the first of them. Texts become an `enum`."""
    schemas: list[Schema] = [schema["properties"][name] for schema in objects if name in schema["properties"]]
    if any(_inner(schema) != _inner(schemas[0]) for schema in schemas):
        raise TypeError(f"{name} holds one thing in one object, and another thing in another.")
    merged = {keyword: value for schema in reversed(schemas) for keyword, value in schema.items()}
    types, texts = dict.fromkeys(_each(_types, schemas)), dict.fromkeys(_each(_texts, schemas))
    if types:
        merged["type"] = [*types] if len(types) > 1 else next(iter(types))
    if texts:
        merged["enum"] = [*texts]
    return {keyword: value for keyword, value in merged.items() if keyword not in {"const", KNOWN_VALUES}}


def _inner(schema: Schema) -> list[Any]:
    return [schema.get(keyword) for keyword in ("$ref", "items", "additionalProperties")]


def _each(read: Any, schemas: list[Schema]) -> list[str]:
    return [value for schema in schemas for value in read(schema)]


def _types(schema: Schema) -> list[str]:
    said = schema.get("type", [])
    return [said] if isinstance(said, str) else said


def _texts(schema: Schema) -> list[str]:
    return [schema["const"]] if "const" in schema else schema.get(KNOWN_VALUES, [])

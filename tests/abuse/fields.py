"""Fields that are of another type, longer, or said in two ways: whatever fields the document describes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.abuse.calls import Call, Case, Spoil, cases, resolved

_OF_PYTHON = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_SAME = "The same as `"


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types that a field may have, where an integer is a number, too; none where the document is silent."""
    said = resolved(schema).get("type", [])
    types = {said} if isinstance(said, str) else set(said)
    return types | {"integer"} if "number" in types else types


def _places(call: Call) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every described field of the body and of the objects in it, with its schema."""
    for name, schema in call.fields.items():
        yield (name,), resolved(schema)
        for inner, inside in resolved(schema).get("properties", {}).items():
            yield (name, inner), resolved(inside)


def _with(call: Call, place: tuple[str, ...], value: Any) -> Call:
    body = dict(call.body or {})
    name, *inner = place
    if inner:
        known = body.get(name)
        body[name] = {**(known if isinstance(known, dict) else {}), inner[0]: value}
    else:
        body[name] = value
    return replace(call, body=body)


def every_field_is(value: Any) -> Spoil:
    """Each field in its turn has this value, where the document says that its type is another one."""
    kind = _OF_PYTHON[type(value)]

    def spoil(call: Call) -> Iterable[Call]:
        for place, schema in _places(call):
            if (types := _types(schema)) and kind not in types:
                yield _with(call, place, value)

    return spoil


def every_text_is(text_of: Any) -> Spoil:
    """Each string in its turn is the one made of its greatest length."""

    def spoil(call: Call) -> Iterable[Call]:
        for place, schema in _places(call):
            if "string" in _types(schema) and "maxLength" in schema:
                yield _with(call, place, text_of(schema["maxLength"]))

    return spoil


def every_array_is(items_of: Any, *, of_text: bool = True) -> Spoil:
    """Each array in its turn is the one made of its greatest size; `of_text`: only arrays of strings."""

    def spoil(call: Call) -> Iterable[Call]:
        for place, schema in _places(call):
            is_of_text = resolved(schema.get("items", {})).get("type") == "string"
            if "array" in _types(schema) and (is_of_text or not of_text):
                yield _with(call, place, items_of(schema.get("maxItems", 1000)))

    return spoil


def every_alias(kind: str, one: Any, other: Any) -> Spoil:
    """Each field of this type that has two spellings is sent in both, with two values."""

    def spoil(call: Call) -> Iterable[Call]:
        for alias, schema in call.fields.items():
            said = str(schema.get("description", ""))
            if said.startswith(_SAME) and kind in _types(schema):
                name = said.removeprefix(_SAME).partition("`")[0]
                yield _with(_with(call, (name,), one), (alias,), other)

    return spoil


TYPES = cases(
    "type",
    {
        "zero": every_field_is(0),
        "a number": every_field_is(7),
        "a negative number": every_field_is(-1),
        "the greatest number": every_field_is(2**64 - 1),
        "a fraction": every_field_is(0.5),
        "true": every_field_is(True),
        "false": every_field_is(False),
        "a word": every_field_is("ada"),
        "a number in a string": every_field_is("7"),
        "JSON in a string": every_field_is("{}"),
        "null in a string": every_field_is("null"),
        "an empty array": every_field_is([]),
        "an array of one string": every_field_is(["ada"]),
        "an array of arrays": every_field_is([[]]),
        "an array of null": every_field_is([None]),
        "an empty object": every_field_is({}),
        "an object": every_field_is({"a": 1}),
        "an operator": every_field_is({"$ne": None}),
        "an object with indices": every_field_is({"0": "ada", "length": 1}),
    },
)

TEXTS = cases(
    "text",
    {
        "a character too long": every_text_is(lambda most: "x" * (most + 1)),
        "twice as long": every_text_is(lambda most: "x" * 2 * most),
        "too long in emoji": every_text_is(lambda most: "😀" * (most + 1)),
    },
)

ARRAYS = cases(
    "array",
    {
        "one item too many": every_array_is(lambda most: ["x"] * (most + 1), of_text=False),
        "twice as many items": every_array_is(lambda most: [f"x{n}" for n in range(2 * most)], of_text=False),
        "too many items that are null": every_array_is(lambda most: [None] * (most + 1), of_text=False),
        "a number": every_array_is(lambda _: [7]),
        "a fraction": every_array_is(lambda _: [0.5]),
        "true": every_array_is(lambda _: [True]),
        "null": every_array_is(lambda _: [None]),
        "an array": every_array_is(lambda _: [["ada"]]),
        "an object": every_array_is(lambda _: [{"external_id": "ada"}]),
        "a number at the end": every_array_is(lambda _: ["ada", "bob", 7]),
        "null between strings": every_array_is(lambda _: ["ada", None, "bob"]),
        "an object at the end of many": every_array_is(lambda most: ["x"] * (most - 1) + [{}]),
    },
)

ALIASES = cases(
    "alias",
    {
        "two names": every_alias("string", "ada", "bob"),
        "two cases": every_alias("string", "ada", "Ada"),
        "a space at the end": every_alias("string", "ada", "ada "),
        "a name and a number": every_alias("string", "7", 7),
        "a name and an array of it": every_alias("string", "ada", ["ada"]),
        "two arrays": every_alias("array", ["ada"], ["bob"]),
        "two orders": every_alias("array", ["ada", "bob"], ["bob", "ada"]),
        "an array and nothing": every_alias("array", ["ada"], []),
        "an array and one item more": every_alias("array", ["ada"], ["ada", "ada"]),
        "an array and a string": every_alias("array", ["ada"], "ada"),
        "two objects": every_alias("object", {"a": 1}, {"a": 2}),
        "an object and nothing": every_alias("object", {"a": 1}, {}),
        "one and true": every_alias("object", {"a": 1}, {"a": True}),
        "one and a string": every_alias("object", {"a": 1}, {"a": "1"}),
        "an object and an array": every_alias("object", {"a": 1}, ["a"]),
    },
)

ALL: list[Case] = [*TYPES, *TEXTS, *ARRAYS, *ALIASES]

"""The document as it is served can be read by generators of clients."""

import json
import re
from collections.abc import Iterator
from typing import Any

from config.docs.documentation import openapi_document
from engage.json.keywords import KNOWN_VALUES, STRICT
from tests.support.cases import each
from tests.support.conformance import at, escaped, referred, target

_SCHEMA = "content/application~1json/schema"
_OF_TEXTS = {"pattern", "format", "minLength", "maxLength", "enum", "const"}


def schemas(part: Any, place: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema below this part of the document, with its place."""
    if isinstance(part, list):
        for number, item in enumerate(part):
            yield from schemas(item, f"{place}/{number}")
    if not isinstance(part, dict):
        return
    if place.endswith(("/schema", "/items", "/additionalProperties")) or re.search(
        r"/(properties|schemas)/[^/]+$|/(anyOf|oneOf|allOf)/\d+$", place
    ):
        yield place, part
    for name, inner in part.items():
        if name not in {"example", "examples"}:
            yield from schemas(inner, f"{place}/{name}")


ALL = [*schemas(openapi_document())]


def types(schema: dict[str, Any]) -> set[str]:
    said = schema.get("type", [])
    return {said} if isinstance(said, str) else set(said)


def test_the_walk_finds_the_schemas() -> None:
    found = dict(ALL)
    assert found["#/components/schemas/TriggerRequest/properties/external_ids/items"] == {"type": "string"}
    assert any("/parameters/" in place for place in found)


def test_the_keywords_of_the_strict_form_are_not_in_it() -> None:
    assert STRICT not in json.dumps(openapi_document())


def test_every_array_tells_its_items() -> None:
    assert [place for place, schema in ALL if "array" in types(schema) and not schema.get("items")] == []


def test_every_object_tells_its_properties_or_that_it_has_any() -> None:
    untold = {"properties", "additionalProperties"}
    assert [place for place, schema in ALL if "object" in types(schema) and not untold & schema.keys()] == []


def test_what_is_told_of_a_value_comes_with_its_type() -> None:
    assert [place for place, schema in ALL if _OF_TEXTS & schema.keys() and not types(schema)] == []


def test_null_is_allowed_beside_another_type_only() -> None:
    alone = [place for place, schema in ALL if types(schema) == {"null"}]
    assert [place for place in alone if not re.search(r"/anyOf/[1-9]$", place)] == []


def test_no_value_is_told_of_a_boolean() -> None:
    told = {"enum", "const"}
    assert [place for place, schema in ALL if "boolean" in types(schema) and told & schema.keys()] == []


def test_no_operation_answers_successes_of_two_types() -> None:
    """Or a generated client gives the type of the rarer one, or raises when the other comes."""
    for path, operations in openapi_document()["paths"].items():
        for method, operation in operations.items():
            successes = {status: answer for status, answer in operation["responses"].items() if status < "300"}
            found = {json.dumps(answer["content"]["application/json"]["schema"]) for answer in successes.values()}
            assert len(found) == 1, f"{method} {path}"


def test_nothing_is_one_of_several_types_but_null() -> None:
    assert [place for place, schema in ALL if {"oneOf", "allOf"} & schema.keys()] == []
    choices = [(place, schema["anyOf"]) for place, schema in ALL if "anyOf" in schema]
    assert [place for place, choice in choices if choice[1:] != [{"type": "null"}]] == []


def test_an_enum_stands_alone() -> None:
    """Null is no text, and a text from a list has no length."""
    enums = [(place, schema) for place, schema in ALL if "enum" in schema]
    assert len(enums) > 10
    assert [place for place, enum in enums if types(enum) != {"string"} or None in enum["enum"]] == []
    assert [place for place, enum in enums if {"maxLength", "minLength", "pattern", "format"} & enum.keys()] == []


def test_texts_of_answers_are_open_except_those_that_tell_objects_apart() -> None:
    strict = {place for place, schema in schemas(openapi_document(strict=True)) if "enum" in schema}
    opened = {place: schema for place, schema in ALL if KNOWN_VALUES in schema}
    assert {"#/components/schemas/JobStatus", "#/components/schemas/JobResult"} <= opened.keys() <= strict
    assert [place for place, text in opened.items() if "take others as well." not in text["description"]] == []
    closed = [place.split("/")[3:] for place, schema in ALL if "enum" in schema and "/components/schemas/" in place]
    of_answers = [".".join(place) for place in closed if not place[0].endswith(("Request", "SubmitAction"))]
    told_apart = ["CustomerResult", "EventResult", "Reported", "TriedResult", "Triggered"]
    assert sorted(of_answers) == [f"{name}.properties.status" for name in told_apart]


def test_a_model_has_no_name_that_languages_and_libraries_have() -> None:
    taken = "Array Blob Date Error Event File FormData Headers List Map Object Pair Promise Record Request Response Set"
    assert {*taken.split()} & {*openapi_document()["components"]["schemas"]} == set()


def test_a_parameter_that_is_a_boolean_has_no_default() -> None:
    """Clients in PHP would send it with every call."""
    assert [place for place, schema in ALL if "boolean" in types(schema) and "default" in schema] == []


def test_rules_between_fields_are_left_to_words() -> None:
    rules = {"if", "then", "else", "not", "dependentRequired", "dependentSchemas"}
    assert [place for place, schema in ALL if rules & schema.keys()] == []
    objects = [(place, schema) for place, schema in ALL if "properties" in schema]
    assert [place for place, schema in objects if {"anyOf", "oneOf", "allOf"} & schema.keys()] == []


def _camel_case(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "", name).lower()


def test_no_two_names_beside_each_other_are_the_same_in_camel_case() -> None:
    operations = [operation for path in openapi_document()["paths"].values() for operation in path.values()]
    beside = [[*schema["properties"]] for _, schema in ALL if "properties" in schema]
    beside += [[referred(parameter)["name"] for parameter in operation["parameters"]] for operation in operations]
    beside.append([*openapi_document()["components"]["schemas"]])
    assert [names for names in beside if len({*map(_camel_case, names)}) < len(names)] == []


def test_all_failures_are_of_one_type() -> None:
    failures = [
        at(f"{target(f'/paths/{escaped(path)}/{method}/responses/{status}')}/{_SCHEMA}", strict=False)
        for path, operations in openapi_document()["paths"].items()
        for method, operation in operations.items()
        for status in operation["responses"]
        if int(status) >= 400
    ]
    assert len(failures) > 100
    assert [schema for schema in failures if schema != {"$ref": "#/components/schemas/Failure"}] == []
    properties = at("/components/schemas/Failure", strict=False)["properties"]
    assert [*properties] == ["success", "error", "message", "code", "requestId", "details"]


@each("name", ["TriggerRequest", "TriggerAnswer", "JobAnswer", "Job", "CustomerRequest", "Customer"])
def test_types_have_names_that_say_what_they_are(name: str) -> None:
    assert name in openapi_document()["components"]["schemas"]


def test_it_names_the_server_that_serves_it() -> None:
    assert [server["url"] for server in openapi_document()["servers"]] == ["/"]

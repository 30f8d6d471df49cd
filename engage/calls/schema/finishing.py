"""The last step in building the OpenAPI document."""

import json
import re
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from engage.calls.schema.bodies import OPTIONAL
from engage.calls.schema.every_call import failures_in_words
from engage.calls.schema.forms import StrictGenerator, plain_form, strict_form
from engage.calls.schema.headers import HEADERS, add_headers, headers_in_words
from engage.calls.schema.shapes import JSON_OBJECT, Schema, object_schema, shape_name
from engage.calls.schema.sharing import share
from engage.http.envelope import Failure


def finish(result: Schema, generator: SchemaGenerator, **_: Any) -> Schema:
    """A drf-spectacular hook: adds headers, types and words that all calls share, and picks the document's form."""
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    components = result["components"]
    optional = {name for name, schema in components["schemas"].items() if schema.pop(OPTIONAL, False)}
    for operation in operations:
        if "requestBody" in operation:
            operation["requestBody"]["required"] = _body_name(operation["requestBody"]) not in optional
        add_headers(operation)
    components["headers"] = dict(HEADERS)
    components["schemas"]["JsonObject"] = JSON_OBJECT
    _describe(Failure, components["schemas"])
    components["schemas"] = dict(sorted(components["schemas"].items()))
    share(operations, components)
    result["info"]["description"] += (
        f"\n\n**Every answer** has those of these headers that apply to it.\n\n{headers_in_words()}"
        f"\n\n**Every call** can fail with those of these errors that apply to it. Others stand with the call.\n\n"
        f"{failures_in_words()}"
    )
    finished: Schema = strict_form(result) if isinstance(generator, StrictGenerator) else plain_form(result)
    _drop_unused(finished)
    return finished


def _drop_unused(document: Schema) -> None:
    """Drops schemas to which nothing leads, such as the shapes that only the strict form tells apart."""
    schemas, used = document["components"]["schemas"], set[str]()
    waiting = _references(document["paths"]) | _references({**document["components"], "schemas": None})
    while waiting:
        used |= waiting
        waiting = {name for user in waiting for name in _references(schemas[user])} - used
    document["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in used}


def _references(part: Any) -> set[str]:
    """The names of the schemas to which this part of the document refers."""
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(part)))


def _body_name(body: Schema) -> str:
    (content, *_) = body["content"].values()
    return str(content["schema"].get("$ref", "")).rpartition("/")[2]


def _describe(shape: Any, schemas: Schema) -> Schema:
    """Adds the shape, and those that it refers to, to the components. Returns the reference to it."""
    name = shape_name(shape)
    schemas[name] = object_schema(shape, refer=lambda inner: _describe(inner, schemas))
    return {"$ref": f"#/components/schemas/{name}"}

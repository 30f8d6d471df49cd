"""The last step in building the OpenAPI document: parts that many calls share become components."""

from typing import Any

from drf_spectacular.generators import SchemaGenerator

from engage.envelope import Failure
from engage.keywords import STRICT
from engage.schema.access import API_KEY
from engage.schema.forms import StrictGenerator, plain_form, strict_form
from engage.schema.shapes import JSON_OBJECT, Schema, object_schema, shape_name


def _header(description: str, *, kind: str = "string", always: bool = False) -> Schema:
    return {"description": description, "required": always, "schema": {"type": kind}}


_OF_EVERY_ANSWER = {
    "X-Request-Id": _header("The id of the request: the caller's, or a generated one.", always=True),
}
_OF_A_COUNTED_CALL = {
    "X-RateLimit-Limit": _header("The number of calls allowed per window.", kind="integer", always=True),
    "X-RateLimit-Remaining": _header("The number of calls left in this window.", kind="integer", always=True),
    "X-RateLimit-Reset": _header("When the window ends, as a Unix timestamp in seconds.", kind="integer", always=True),
    "RateLimit-Policy": _header('The limit in the format of the IETF draft: `"trigger";q=100;w=60`.', always=True),
    "RateLimit": _header('What is left of the limit, in the same format: `"trigger";r=42;t=18`.', always=True),
}
_IF_COUNTED = "-If-Counted"
_OF_A_CALL_IF_COUNTED = {
    f"{name}{_IF_COUNTED}": {
        **header,
        "description": f"{header['description']} Absent if the call was answered before it was counted.",
        "required": False,
    }
    for name, header in _OF_A_COUNTED_CALL.items()
}
_RETRY_AFTER = {
    "Retry-After": _header("How many seconds to wait before trying again; at least 1.", kind="integer", always=True)
}
_AUTHENTICATE = {"WWW-Authenticate": _header("`Bearer`.", always=True)}
_HEADERS = {
    **_OF_EVERY_ANSWER,
    **_OF_A_COUNTED_CALL,
    **_OF_A_CALL_IF_COUNTED,
    **_RETRY_AFTER,
    **_AUTHENTICATE,
}
# Always refused before the call is counted.
_UNCOUNTED = {"401"}
# May come before or after the call is counted: an unknown host or address, or a failure on our side.
_PERHAPS_COUNTED = {"400", "404", "500", "503"}


def finish(result: Schema, generator: SchemaGenerator, **_: Any) -> Schema:
    """A drf-spectacular hook: adds headers and `Failure`, makes every body required, and shares common failures."""
    result["components"]["headers"] = _HEADERS
    schemas = result["components"]["schemas"]
    schemas["JsonObject"] = JSON_OBJECT
    _describe(Failure, schemas)
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True
        for status, response in operation["responses"].items():
            shared = {
                component.removesuffix(_IF_COUNTED): {"$ref": f"#/components/headers/{component}"}
                for component in _headers_of(status, operation)
            }
            response["headers"] = response.get("headers", {}) | shared
    result["components"]["responses"] = _shared_responses(result["paths"])
    finished: Schema = strict_form(result) if isinstance(generator, StrictGenerator) else plain_form(result)
    return finished


def _describe(shape: Any, schemas: Schema) -> Schema:
    """Adds the shape, and those that it refers to, to the components. Returns the reference to it."""
    name = shape_name(shape)
    schemas[name] = object_schema(shape, refer=lambda inner: _describe(inner, schemas))
    return {"$ref": f"#/components/schemas/{name}"}


def _shared_responses(paths: Schema) -> Schema:
    """Replaces each call's single-code failures with references, and returns the shared responses they refer to."""
    shared: Schema = {}
    for responses in (operation["responses"] for path in paths.values() for operation in path.values()):
        for status, response in responses.items():
            codes = _codes(response)
            if len(codes) != 1:
                continue
            name = codes[0].title().replace("_", "")
            if shared.setdefault(name, response) == response:
                responses[status] = {"$ref": f"#/components/responses/{name}"}
    return shared


def _codes(response: Schema) -> list[str]:
    strict = response["content"]["application/json"]["schema"].get(STRICT, {})
    return [either["properties"]["code"]["const"] for either in strict.get("anyOf", [])]


def _headers_of(status: str, operation: Schema) -> list[str]:
    """The components of `_HEADERS` that describe the headers of an answer."""
    names = [*_OF_EVERY_ANSWER]
    if status in _PERHAPS_COUNTED:
        names += _OF_A_CALL_IF_COUNTED
    elif status not in _UNCOUNTED:
        names += _OF_A_COUNTED_CALL
    if status in {"429", "503"}:
        names += _RETRY_AFTER
    if status == "401" and {API_KEY: []} in operation["security"]:
        names += _AUTHENTICATE
    return names

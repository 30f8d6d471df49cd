"""The headers of answers, which every call has in common."""

from engage.calls.schema.access import API_KEY
from engage.calls.schema.shapes import Schema


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
_AUTHENTICATE = {"WWW-Authenticate": _header("`Bearer`, or the header that has to tell it.", always=True)}
_SCOPE_NEEDED = {"WWW-Authenticate-If-Scope-Missing": _header("What scope the call needs, where the key lacks that.")}
_LOCATION = {"Location": _header("The address of what was created.", always=True)}
_CODINGS = {"Accept-Encoding": _header("`gzip`, where the body has another `Content-Encoding`.")}
HEADERS = {
    **_OF_EVERY_ANSWER,
    **_OF_A_COUNTED_CALL,
    **_OF_A_CALL_IF_COUNTED,
    **_RETRY_AFTER,
    **_AUTHENTICATE,
    **_SCOPE_NEEDED,
    **_LOCATION,
    **_CODINGS,
}
_OF_STATUS = {"201": _LOCATION, "401": _AUTHENTICATE, "415": _CODINGS}
# Always refused before the call is counted.
_UNCOUNTED = {"401"}
# May come before or after the call is counted: an unknown host or address, or a failure on our side.
_PERHAPS_COUNTED = {"400", "404", "500", "503"}


def add_headers(operation: Schema) -> None:
    """Adds to each answer of the operation references to the headers that it has."""
    for status, response in operation["responses"].items():
        references = {
            component.partition("-If-")[0]: {"$ref": f"#/components/headers/{component}"}
            for component in _headers_of(status, operation)
        }
        response["headers"] = response.get("headers", {}) | references


def headers_in_words() -> str:
    """A Markdown table of the headers."""
    told = {**_OF_EVERY_ANSWER, **_OF_A_COUNTED_CALL, **_RETRY_AFTER}
    lines = [f"| `{name}` | {header['description']} |" for name, header in told.items()]
    return "\n".join(["| Header | Meaning |", "|---|---|", *lines])


def _headers_of(status: str, operation: Schema) -> list[str]:
    """The components of `HEADERS` that describe the headers of an answer."""
    names = [*_OF_EVERY_ANSWER]
    if status in _PERHAPS_COUNTED:
        names += _OF_A_CALL_IF_COUNTED
    elif status not in _UNCOUNTED:
        names += _OF_A_COUNTED_CALL
    if status in {"429", "503"}:
        names += _RETRY_AFTER
    names += _OF_STATUS.get(status, ())
    if status == "403" and {API_KEY: []} in operation["security"]:
        names += _SCOPE_NEEDED
    return names

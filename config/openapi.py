"""The OpenAPI document's text about the whole service, and the settings that generate it."""

_DESCRIPTION = """
Customer engagement: a server triggers journeys for one customer or for many; an app's SDK reports what people do in
in-app messages.

**Who calls.** Servers send `Authorization: Bearer <API_KEY>`. SDKs send `X-App-Id: <APP_ID>` and no secret. A key and
an app belong to one workspace, and see nothing of any other.

**Bodies** are JSON objects in UTF-8, sent as `application/json`; up to 1 MiB for servers, 64 KiB for SDKs. They may
be packed, with `Content-Encoding: gzip`; unpacked, up to 5 MiB for servers, 64 KiB for SDKs. Fields that are not
named here are ignored. `null` is an absent field. Types are strict: a number is no string. Strings must not hold NUL
or half of a surrogate pair, numbers must fit 64 bits, and no key may stand twice in one object.

**Attributes** have names of 1 to 255 characters that do not begin with `$` and are none of `__proto__`, `constructor`
and `prototype`. All those of one customer are at most 256 KiB of JSON.

**Answers** are JSON, also where something fails. A success has `success: true`, `message` and `data`, and it is
committed. A failure has `success: false`, a short title in `error`, its stable form for programs in `code`, what is
wrong in `message`, and the `requestId` to ask about. What another workspace has is answered like what does not exist.

**Ids** that the service makes are 24 lower-case hexadecimal characters.

**Limits.** Every API key may trigger 100 times a minute unless it was given another limit. Look-ups and the calls
about customers are counted apart from triggers, and reading is allowed ten times as often as writing. SDKs are
limited per app and address, and so are the customers that they create and the journeys that they start. Every counted
answer tells the limit, and what is left of it, in its headers.
"""


def reading_last(endpoint: tuple[str, str, str, object]) -> tuple[bool, bool]:
    """The order of the calls: triggers, other writes, then reads and deletions; otherwise as in the routes."""
    path, _, method, _ = endpoint
    return method in {"GET", "DELETE"}, not path.endswith("/trigger")


SETTINGS = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Engage",
    "VERSION": "1",
    "DESCRIPTION": _DESCRIPTION.strip(),
    "TAGS": [
        {"name": "Journeys", "description": "For servers: trigger a journey, and see what became of it."},
        {"name": "Customers", "description": "For servers: customers, and the segments they are in."},
        {"name": "In-app messages", "description": "For an app's SDK: buttons and forms in messages."},
    ],
    "CAMELIZE_NAMES": True,  # the ids in the paths: workspaceId
    "POSTPROCESSING_HOOKS": ["engage.schema.finishing.finish"],
    "SORT_OPERATIONS": "config.openapi.reading_last",
    "SORT_OPERATION_PARAMETERS": False,
}

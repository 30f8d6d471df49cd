"""Who calls, where to and how: credentials, origins, ids in the path, methods, the headers of a call."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from urllib.parse import urlencode

from engage.credentials.api_keys import KEY_PREFIX
from tests.abuse.calls import Call, Case, Spoil, cases, header
from tests.support.conformance import at, referred

_WELL_FORMED = f"{KEY_PREFIX}{'a' * 43}"
_ID = "68a1f0c2e4b0a1d2c3e4f5b2"


def _key(value: str | None) -> Spoil:
    return header("Authorization", value, to_sdk=False)


def _app(value: str | None) -> Spoil:
    return header("X-App-Id", value, to_sdk=True)


KEYS = cases(
    "key",
    {
        "none": _key(None),
        "empty": _key(""),
        "only the scheme": _key("Bearer"),
        "only the scheme and a space": _key("Bearer "),
        "no scheme": _key(_WELL_FORMED),
        "another scheme": _key(f"Basic {_WELL_FORMED}"),
        "a user and a password": _key("Basic YWRtaW46YWRtaW4="),
        "Digest": _key('Digest username="admin"'),
        "an unknown key": _key(f"Bearer {_WELL_FORMED}"),
        "the prefix alone": _key(f"Bearer {KEY_PREFIX}"),
        "a short key": _key(f"Bearer {_WELL_FORMED[:-1]}"),
        "a long key": _key(f"Bearer {_WELL_FORMED}a"),
        "another prefix": _key(f"Bearer sk_live_{'a' * 43}"),
        "two keys": _key(f"Bearer {_WELL_FORMED}, Bearer {_WELL_FORMED}"),
        "two keys after one scheme": _key(f"Bearer {_WELL_FORMED} {_WELL_FORMED}"),
        "a key in quotes": _key(f'Bearer "{_WELL_FORMED}"'),
        "an id": _key(f"Bearer {_ID}"),
        "null": _key("Bearer null"),
        "undefined": _key("Bearer undefined"),
        "a star": _key("Bearer *"),
        "SQL": _key("Bearer ' OR '1'='1"),
        "a token of another kind": _key("Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."),
        "letters of no alphabet": _key("Bearer ключ"),
        "a NUL": _key("Bearer \x00"),
        "8 KiB": _key("Bearer " + "x" * 8192),
        "the app's id instead": lambda call: [
            replace(call, headers={"Authorization": None, "X-App-Id": _ID}) for _ in range(not call.is_of_sdk)
        ],
    },
)

APPS = cases(
    "app id",
    {
        "none": _app(None),
        "empty": _app(""),
        "a space": _app(" "),
        "an unknown id": _app(_ID),
        "zeros": _app("0" * 24),
        "upper case": _app(_ID.upper()),
        "a short id": _app(_ID[:-1]),
        "a long id": _app(_ID + "0"),
        "two ids": _app(f"{_ID}, {_ID}"),
        "no hexadecimal": _app("g" * 24),
        "a UUID": _app("9f2c4e0d-8b7a-4c1f-8e6d-5b3a2c1d0e9f"),
        "a number": _app("7"),
        "null": _app("null"),
        "undefined": _app("undefined"),
        "a star": _app("*"),
        "a path": _app("../../admin"),
        "SQL": _app("' OR '1'='1"),
        "letters of no alphabet": _app("приложение"),
        "a NUL": _app("\x00"),
        "8 KiB": _app("a" * 8192),
        "an API key": _app(_WELL_FORMED),
        "an API key beside it": header("Authorization", f"Bearer {_WELL_FORMED}", to_sdk=True),
    },
)

# The corpus' app allows https://shop.example alone.
ORIGINS = cases(
    "origin",
    {
        name: header("Origin", origin, to_sdk=True)
        for name, origin in {
            "another one": "https://evil.example",
            "none": "null",
            "empty": "",
            "a star": "*",
            "another scheme": "http://shop.example",
            "another port": "https://shop.example:8443",
            "a subdomain": "https://www.shop.example",
            "the name as the beginning": "https://shop.example.evil.example",
            "the name as the end": "https://evilshop.example",
            "the name as the user": "https://shop.example@evil.example",
            "the name as the path": "https://evil.example/https://shop.example",
            "two": "https://shop.example, https://evil.example",
            "half an IPv6 address": "https://[::1",
            "a script": "javascript:alert(1)",
            "a file": "file://",
            "letters that look alike": "https://\u0455hop.example",
        }.items()
    },
)

_NO_IDS: dict[str, Callable[[str], str]] = {
    "an unknown id": lambda _: _ID,
    "zeros": lambda _: "0" * 24,
    "upper case": lambda known: known.upper().replace("ENROLL", "Enroll") + "F",
    "too short": lambda known: known[:-1],
    "too long": lambda known: known + "0",
    "a space before": lambda known: " " + known,
    "a space after": lambda known: known + " ",
    "a line break after": lambda known: known + "\n",
    "a NUL": lambda _: "\x00",
    "a NUL after": lambda known: known + "\x00",
    "a number": lambda _: "7",
    "a minus": lambda _: "-1",
    "a huge number": lambda _: "9" * 400,
    "a UUID": lambda _: "9f2c4e0d-8b7a-4c1f-8e6d-5b3a2c1d0e9f",
    "null": lambda _: "null",
    "undefined": lambda _: "undefined",
    "a placeholder": lambda _: "{id}",
    "a colon": lambda _: ":id",
    "a star": lambda _: "*",
    "a percent sign": lambda _: "%",
    "a per cent of SQL": lambda known: known[:-1] + "%",
    "an underscore of SQL": lambda known: known[:-1] + "_",
    "SQL": lambda known: known + "' OR '1'='1",
    "a template": lambda _: "{{7*7}}",
    "markup": lambda _: "<script>alert(1)</script>",
    "a way up": lambda _: "../../admin",
    "a point": lambda _: ".",
    "letters of no alphabet": lambda _: "идентификатор",
    "an emoji": lambda _: "😀",
    "full-width digits": lambda known: "\uff10" + known[1:],
    "a question mark": lambda known: "?" + known,
    "a semicolon": lambda known: known + ";a=1",
    "4 KiB": lambda _: "a" * 4096,
    "a job id of words": lambda _: "enroll-journey-customer-now",
    "a job id of zeros": lambda _: f"enroll-{'0' * 24}-{'0' * 24}-0",
    "a job id of a time without end": lambda _: f"enroll-{_ID}-{_ID}-{'9' * 40}",
}


# A new message may have any key, and an entrance is any text.
_ANY_TEXT = {("putMessage", "key"), ("exitJourneyEntrance", "entranceId")}


def _every_id_is(value_of: Callable[[str], str]) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        for name, known in call.ids.items():
            if (call.operation, name) in _ANY_TEXT:
                continue
            yield replace(call, ids={**call.ids, name: value_of(known)})

    return spoil


def _every_id_alone_is(text: str) -> Spoil:
    """Also where a new thing may have any text for its key, and where the body does not repeat it."""

    def spoil(call: Call) -> Iterable[Call]:
        body = call.body and {name: value for name, value in call.body.items() if name != "key"}
        for name in call.ids:
            yield replace(call, ids={**call.ids, name: text}, body=body)

    return spoil


def _every_parameter_is(text: str) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        for parameter in map(referred, at("/paths")[call.template][call.method.lower()]["parameters"]):
            if parameter["in"] == "query":
                yield replace(call, query=f"?{urlencode({parameter['name']: text})}")

    return spoil


IDS = cases(
    "id",
    {name: _every_id_is(value_of) for name, value_of in _NO_IDS.items()}
    | {"a NUL alone": _every_id_alone_is("\x00"), "a NUL within": _every_id_alone_is("a\x00b")}
    | {
        "a parameter with a NUL": _every_parameter_is("a\x00"),
        "a parameter that ends in a NUL": _every_parameter_is("a,\x00"),
    },
)


def _sent_with(method: str) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        if method.lower() not in at("/paths")[call.template]:
            yield replace(call, method=method)

    return spoil


METHODS = cases(
    "method",
    {
        method: _sent_with(method)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW", "post", "QUERY")
    },
)

# Preflights are answered before any view; these are none, or are not for who asks.
CORS = cases(
    "CORS",
    {
        "a preflight without a method": lambda call: [
            replace(call, method="OPTIONS", headers={"Origin": "https://shop.example"})
        ],
        "a preflight of nobody": lambda call: [replace(call, method="OPTIONS", raw=b"{}")],
        "a preflight to a server's call": lambda call: [
            replace(
                call,
                method="OPTIONS",
                headers={"Origin": "https://shop.example", "Access-Control-Request-Method": call.method},
            )
            for _ in range(not call.is_of_sdk)
        ],
    },
)


def _idempotency_key(value: str) -> Spoil:
    def spoil(call: Call) -> Iterable[Call]:
        parameters = at("/paths")[call.template][call.method.lower()]["parameters"]
        if any(referred(parameter)["name"] == "Idempotency-Key" for parameter in parameters):
            yield replace(call, headers={"Idempotency-Key": value})

    return spoil


IDEMPOTENCY_KEYS = cases(
    "Idempotency-Key",
    {
        "empty": _idempotency_key(""),
        "a space inside": _idempotency_key("a b"),
        "a tab": _idempotency_key("a\tb"),
        "a control character": _idempotency_key("a\x07"),
        "a letter beyond ASCII": _idempotency_key("é"),
        "256 characters": _idempotency_key("x" * 256),
        "8 KiB": _idempotency_key("x" * 8192),
    },
)

ALL: list[Case] = [*KEYS, *APPS, *ORIGINS, *IDS, *METHODS, *CORS, *IDEMPOTENCY_KEYS]

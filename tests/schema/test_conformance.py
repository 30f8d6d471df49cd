"""The check that holds the suite's calls to the document can fail."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.conformance import Exchange

ID = "68a1f0c2e4b0a1d2c3e4f5a1"
UNCOUNTED = {"Content-Type": "application/json", "X-Request-Id": "r"}
COUNTED = {
    **UNCOUNTED,
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "99",
    "X-RateLimit-Reset": "1795349663",
    "RateLimit-Policy": '"customers";q=100;w=60',
    "RateLimit": '"customers";r=99;t=18',
}
MEMBERS = Exchange(
    method="POST",
    path=f"/api/v1/customers/{ID}/segments/{ID}/members",
    sent=b'{"add": ["ada"]}',
    status=200,
    headers=COUNTED,
    received=b'{"success": true, "message": "Done.", "data": {"added": 1, "removed": 0, "unknown": []}}',
)
REFUSED = replace(
    MEMBERS,
    sent=b"{",
    status=400,
    received=b'{"success": false, "error": "Invalid request", "message": "No.", "code": "invalid_json", '
    b'"requestId": "r"}',
)


def with_data(**changes: Any) -> bytes:
    body = json.loads(MEMBERS.received)
    return json.dumps({**body, "data": {**body["data"], **changes}}).encode()


def with_failure(**changes: Any) -> bytes:
    return json.dumps({**json.loads(REFUSED.received), **changes}).encode()


def without(header: str) -> Exchange:
    return replace(MEMBERS, headers={name: value for name, value in COUNTED.items() if name != header})


@each("exchange", [MEMBERS, REFUSED, replace(REFUSED, headers=UNCOUNTED)])
def test_what_is_as_documented_passes(exchange: Exchange) -> None:
    exchange.hold_to_document()


@each(
    "changed, complaint",
    [
        (replace(MEMBERS, received=with_data(extra=1)), "'extra' was unexpected"),
        (replace(MEMBERS, received=with_data(added="1")), '"1" is not of type "integer"'),
        (replace(MEMBERS, received=b'{"success": true, "message": "Done."}'), '"data" is a required property'),
        (replace(MEMBERS, received=b'{"success": true, "success2": 1}'), "is not as documented"),
        (replace(MEMBERS, sent=b'{"add": [7]}'), 'The body of POST .* 7 is not of type "string"'),
        (replace(MEMBERS, sent=b"{}"), "The body of POST"),
        (replace(MEMBERS, status=204), "does not know POST .* -> 204"),
        (replace(MEMBERS, headers={**COUNTED, "Content-Type": "text/html"}), "does not know 'text/html'"),
        (replace(MEMBERS, headers={"Content-Type": "application/json"}), "x-request-id"),
        *((without(header), header.lower()) for header in COUNTED if header not in UNCOUNTED),
        (replace(REFUSED, status=406, headers=UNCOUNTED), "x-ratelimit-limit"),
        (replace(MEMBERS, method="PATCH"), "does not know PATCH"),
        (replace(MEMBERS, path="/api/v1/docs"), "does not know /api/v1/docs"),
        (replace(REFUSED, received=with_failure(code="journey_not_found")), "is not valid under any of"),
        (replace(REFUSED, received=with_failure(error="Oops")), "is not valid under any of"),
        (replace(REFUSED, received=with_failure(hint="x")), "'hint' was unexpected"),
        (replace(REFUSED, status=418), "-> 418"),
        (replace(REFUSED, status=429), "retry-after"),
        (replace(REFUSED, status=405, method="PATCH", received=b'{"detail": "No."}'), "is not as documented"),
    ],
)
def test_what_is_not_as_documented_fails(changed: Exchange, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        changed.hold_to_document()


def test_an_address_that_no_route_knows_is_not_its_business() -> None:
    replace(MEMBERS, path="/api/v1/nothing", received=b"?").hold_to_document()


def test_every_call_of_the_suite_is_held_to_the_document(server: ServerClient) -> None:
    with pytest.raises(AssertionError, match="The document does not know /api/v1/docs"):
        server.get("/api/v1/docs")

"""JSON that bites: a clear 4xx in JSON, whatever is sent."""

import json
from io import BytesIO

import pytest

from engage.errors import BodyTooLarge
from engage.http.parsing import StrictJsonParser
from engage.models import Workspace
from journeys.models import Journey, Trigger
from tests.support.calls import customers_path, data, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient

pytestmark = pytest.mark.usefixtures("ada")
ADA = b'{"external_id": "ada", "payload": %s}'

BITING = {
    "no JSON": (b"external_id=ada", "not JSON"),
    "an open object": (b'{"external_id": "ada"', "not JSON"),
    "a trailing comma": (b'{"external_id": "ada",}', "not JSON"),
    "two values": (b'{"external_id": "ada"} {}', "not JSON"),
    "an array": (b'[{"external_id": "ada"}]', "must be a JSON object, but an array came"),
    "a string": (b'"ada"', "must be a JSON object, but a string came"),
    "null": (b"null", "must be a JSON object, but null came"),
    "a byte-order mark": (b"\xef\xbb\xbf{}", "byte-order mark"),
    "UTF-16": ('{"external_id": "ada"}'.encode("utf-16"), "not UTF-8"),
    "Latin-1": (b'{"external_id": "\xe9"}', "not UTF-8"),
    "an encoded surrogate": (b'{"external_id": "\xed\xa0\x80"}', "not UTF-8"),
    "an escaped NUL": (ADA % b'{"a": "x\\u0000y"}', "NUL character"),
    "an escaped NUL in a key": (ADA % b'{"\\u0000": 1}', "NUL character"),
    "a raw control character": (b'{"external_id": "a\x00da"}', "not JSON"),
    "a high surrogate alone": (ADA % b'{"a": "\\ud800"}', "half of a surrogate pair"),
    "a low surrogate alone": (ADA % b'["\\uDC00x"]', "half of a surrogate pair"),
    "surrogates in the wrong order": (ADA % b'{"a": "\\udc00\\ud800"}', "half of a surrogate pair"),
    "NaN": (ADA % b'{"a": NaN}', "payload.a is NaN, which is not JSON"),
    "Infinity": (ADA % b'{"a": Infinity}', "payload.a is Infinity, which is not JSON"),
    "minus Infinity": (ADA % b'{"a": -Infinity}', "payload.a is -Infinity, which is not JSON"),
    "a float beyond 64 bits": (ADA % b'{"a": 1e400}', "out of range"),
    "an integer beyond 64 bits": (ADA % b'{"a": 18446744073709551616}', "out of range"),
    "a very negative integer": (ADA % b'{"a": -9223372036854775809}', "out of range"),
    "an integer of 5000 digits": (ADA % (b'{"a": ' + b"9" * 5000 + b"}"), "out of range"),
    "a key twice": (b'{"external_id": "ada", "external_id": "eve"}', "'external_id' stands twice"),
    "a key twice further in": (ADA % b'{"a": {"b": 1, "b": 2}}', "'b' stands twice"),
    "90,000 arrays": (ADA % (b"[" * 90_000 + b"]" * 90_000), "nested too deeply"),
    "90,000 objects": (ADA % (b'{"a":' * 90_000 + b"1" + b"}" * 90_000), "nested too deeply"),
}


@each("name", BITING)
def test_biting_json_is_a_400_that_says_why(server: ServerClient, journey: Journey, name: str) -> None:
    body, reason = BITING[name]
    answer = trigger(server, journey, body)
    assert reason in refused(answer, status=400, error="Invalid request")
    assert answer["Content-Type"] == "application/json"
    assert not Trigger.objects.exists()


@pytest.mark.slow
@each("call, body", [("batch", b'{"customers": [%s]}'), ("events", b'{"events": [%s]}'), ("events", b"%s")])
@each("opening, closing", [(b'{"a": ', b"}"), (b"[", b"]")])
def test_what_is_nested_too_deeply_to_be_compared_is_a_400(
    acme: Workspace, server: ServerClient, call: str, body: bytes, opening: bytes, closing: bytes
) -> None:
    for levels in (200, 500, *range(840, 920), 980):  # amid these, what reads it once more has just too little stack
        deep = opening * levels + b"1" + closing * levels
        sent = body % (b'{"external_id": %s, "externalId": %s}' % (deep, deep))
        answer = server.post(customers_path(acme, call), sent, headers={"Idempotency-Key": f"deep-{levels}"})
        assert refused(answer, status=400, error="Invalid request") == "The body is nested too deeply.", levels


@each(
    "value",
    [
        b'"\\ud83d\\ude00"', b'"\\\\u0000"', b'"\\u0001"', b"18446744073709551615", b"-9223372036854775808",
        b"0.1", b"1e15",
        b"-0.0", b'"\xf0\x9f\x98\x80"', b'""', b"[[[[[[[[[]]]]]]]]]",
    ],
)  # fmt: skip
def test_what_can_be_stored_is_stored_and_comes_back_the_same(
    server: ServerClient, journey: Journey, value: bytes
) -> None:
    data(trigger(server, journey, ADA % (b'{"a": ' + value + b"}")))
    assert Trigger.objects.get().payload == {"a": json.loads(value)}


def test_a_body_of_more_than_a_mebibyte_is_413(server: ServerClient, journey: Journey) -> None:
    answer = trigger(server, journey, b'{"external_id": "' + b"a" * 1024 * 1024 + b'"}')
    assert refused(answer, status=413, error="Body too large") == "The body is larger than 1024 KiB."


def test_of_a_body_that_is_too_large_no_more_is_read_than_shows_it() -> None:
    body = BytesIO(b" " * 3 * 1024 * 1024)
    with pytest.raises(BodyTooLarge):
        StrictJsonParser().parse(body)
    assert body.tell() == 1024 * 1024 + 1


@each(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
     "application/json; charset=latin-1", 'application/json; Charset="latin-1"', "application/json; charset = latin-1",
     "application/jsonx", "nonsense", "*/*", "application/*", "*/json; charset=utf-8"],
)  # fmt: skip
def test_another_content_type_is_415(server: ServerClient, journey: Journey, content_type: str) -> None:
    answer = trigger(server, journey, {"external_id": "ada"}, content_type=content_type)
    refused(answer, status=415, error="Unsupported media type")


@each(
    "content_type",
    ["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "application/json; charset=utf8"],
)
def test_utf_8_may_be_said(server: ServerClient, journey: Journey, content_type: str) -> None:
    data(trigger(server, journey, {"external_id": "ada"}, content_type=content_type))


def test_an_empty_body_lacks_its_identifier(server: ServerClient, journey: Journey) -> None:
    refused(trigger(server, journey, b""), status=400, error="Missing required parameter")

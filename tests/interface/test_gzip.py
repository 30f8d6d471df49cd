"""Bodies that were packed with gzip: read within limits, and no bomb goes off."""

import gzip
import json
import time
import zlib

import pytest

from engage.models import Workspace
from journeys.models import Journey, Trigger
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST, refused_without_a_trace
from tests.support.calls import customers_path, data, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient

pytestmark = pytest.mark.journey(people=["ada"])

MIB = 1024 * 1024
PACKED = {"Content-Encoding": "gzip"}
ADA = json.dumps({"external_id": "ada"}).encode()


def padded(body: bytes, size: int) -> bytes:
    """The JSON object with spaces at its end."""
    return body + b" " * (size - len(body))


def send(server: ServerClient, journey: Journey, packed: bytes) -> Answer:
    return trigger(server, journey, packed, headers=PACKED)


@each("encoding", ["gzip", "GZIP", " gzip ", "x-gzip"])
def test_a_packed_body_is_read(server: ServerClient, journey: Journey, encoding: str) -> None:
    answer = trigger(server, journey, gzip.compress(ADA), headers={"Content-Encoding": encoding})
    assert data(answer)["queued"] is True


@each("encoding", ["br", "deflate", "gzip, gzip", "x-none"])
def test_another_coding_is_told_the_one_that_there_is(server: ServerClient, journey: Journey, encoding: str) -> None:
    answer = trigger(server, journey, ADA, headers={"Content-Encoding": encoding})
    refused(answer, status=415, error="Unsupported media type")
    assert answer["Accept-Encoding"] == "gzip"
    assert "Accept-Encoding" not in trigger(server, journey, ADA, content_type="text/xml")


@each("encoding", ["identity", ""])
def test_a_plain_body_may_say_so(server: ServerClient, journey: Journey, encoding: str) -> None:
    assert data(trigger(server, journey, ADA, headers={"Content-Encoding": encoding}))["queued"] is True


def test_1_mib_may_come_of_it_and_not_more(server: ServerClient, journey: Journey) -> None:
    assert data(send(server, journey, gzip.compress(padded(ADA, MIB))))["queued"] is True
    answer = send(server, journey, gzip.compress(padded(ADA, MIB + 1)))
    message = refused(answer, status=413, error="Body too large")
    assert message == "The body is larger than 1024 KiB."
    assert Trigger.objects.count() == 1


@each("call, many", [("batch", "customers"), ("events", "events")])
def test_5_mib_may_come_of_a_list_of_customers_or_events(
    server: ServerClient, acme: Workspace, call: str, many: str
) -> None:
    path, nobody = f"{customers_path(acme)}/{call}", json.dumps({many: []}).encode()
    assert server.post(path, gzip.compress(padded(nobody, 5 * MIB)), headers=PACKED).succeeded
    answer = server.post(path, gzip.compress(padded(nobody, 5 * MIB + 1)), headers=PACKED)
    message = refused(answer, status=413, error="Body too large")
    assert message == "The body is larger than 5120 KiB when it is unpacked."


def test_more_than_a_body_may_have_is_not_unpacked_at_all(server: ServerClient, journey: Journey) -> None:
    stored = gzip.compress(padded(ADA, 4 * MIB), compresslevel=0)  # larger than what is in it
    assert len(stored) > 4 * MIB
    message = refused(send(server, journey, stored), status=413, error="Body too large")
    assert message == "The body is larger than 4096 KiB."


@each("path", [ACTION, CAPTURE])
def test_the_bridge_reads_64_kib_and_unpacks_64_kib(sdk: SdkClient, path: str) -> None:
    least = json.dumps(LEAST[path]).encode()
    too_large = sdk.post(path, gzip.compress(padded(least, 64 * 1024 + 1)), headers=PACKED)
    message = refused_without_a_trace(too_large, status=413, error="Body too large")
    assert message == "The body is larger than 64 KiB when it is unpacked."
    assert sdk.post(path, gzip.compress(padded(least, 64 * 1024)), headers=PACKED).status_code == 200


def test_a_bomb_of_200_mib_is_refused_at_its_first_megabytes(
    server: ServerClient, sdk: SdkClient, journey: Journey
) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = b"0" * MIB
    bomb = b"".join(packer.compress(piece) for _ in range(200)) + packer.flush()
    started = time.perf_counter()
    refused(send(server, journey, bomb), status=413, error="Body too large")
    refused(sdk.post(ACTION, bomb[: 64 * 1024], headers=PACKED), status=413, error="Body too large")
    assert time.perf_counter() - started < 0.5


MALFORMED = {
    "plain JSON": (ADA, "not gzip"),
    "another packing": (zlib.compress(ADA), "not gzip"),
    "a header alone": (gzip.compress(ADA)[:10], "ends too early"),
    "a lost end": (gzip.compress(ADA)[:-1], "ends too early"),
    "a broken middle": (gzip.compress(ADA)[:12] + b"\xff\xff\xff" + gzip.compress(ADA)[15:], "not gzip"),
    "a wrong checksum": (gzip.compress(ADA)[:-8] + b"\0" * 8, "not gzip"),
    "more after its end": (gzip.compress(ADA) + b"x", "goes on after the end"),
    "a second member": (gzip.compress(ADA) + gzip.compress(b" "), "goes on after the end"),
}


@each("name", MALFORMED)
def test_what_is_not_gzip_is_refused(server: ServerClient, journey: Journey, name: str) -> None:
    body, reason = MALFORMED[name]
    answer = send(server, journey, body)
    assert reason in refused(answer, status=400, error="Invalid request")
    assert answer.json()["code"] == "invalid_gzip"
    assert not Trigger.objects.exists()


def test_what_was_packed_is_held_to_the_same_rules(server: ServerClient, journey: Journey) -> None:
    twice = gzip.compress(gzip.compress(ADA))
    assert "not UTF-8" in refused(send(server, journey, twice), status=400, error="Invalid request")
    assert "not JSON" in refused(send(server, journey, gzip.compress(b"{")), status=400, error="Invalid request")


@each("encoding", ["br", "deflate", "zstd", "compress", "gzip, gzip", "gzip, identity", "x"])
def test_other_encodings_are_415(server: ServerClient, journey: Journey, encoding: str) -> None:
    answer = trigger(server, journey, gzip.compress(ADA), headers={"Content-Encoding": encoding})
    refused(answer, status=415, error="Unsupported media type")


def test_packed_or_not_is_the_same_call(server: ServerClient, journey: Journey) -> None:
    key = {"Idempotency-Key": "1"}
    trigger(server, journey, ADA, headers=key)
    answer = trigger(server, journey, gzip.compress(ADA), headers={**key, **PACKED})
    assert answer["Idempotency-Replayed"] == "true"

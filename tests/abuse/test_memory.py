"""What a body costs in memory: little, however it is packed, and nothing once it is answered."""

import gc
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.views import APIView

from config.wsgi import application
from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.abuse.service import Service
from tests.support.bridge_calls import ACTION, LEAST
from tests.support.calls import data, refused, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory, JourneyFactory

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024 * 1024
MOST_VALUES = 100_000
PACKED = {"Content-Encoding": "gzip"}


@contextmanager
def nothing_left() -> Iterator[None]:
    """No request and no view, beside those that are there before: a test that failed keeps its own."""
    gc.collect()
    gc.disable()
    before = {id(one) for one in left_to_the_collector()}
    try:
        yield
        assert [one for one in left_to_the_collector() if id(one) not in before] == []
    finally:
        gc.enable()


def body(before: bytes, repeated: bytes, times: int, after: bytes) -> bytes:
    return b'{"external_id": "ada", ' + before + b",".join([repeated] * times) + after + b"}"


VALUES = {
    "objects": body(b'"more": [', b"{}", MOST_VALUES, b"]"),
    "arrays": body(b'"more": [', b"[]", MOST_VALUES, b"]"),
    "numbers": body(b'"more": [', b"1", MOST_VALUES, b"]"),
    "members": body(b'"more": {', b'"a": 1', MOST_VALUES, b"}"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_more_than_100_000_values_are_refused_before_they_are_made(
    server: ServerClient, acme: Workspace, kind: str
) -> None:
    journey = JourneyFactory.create(workspace=acme)
    answer = trigger(server, journey, gzip.compress(VALUES[kind]), headers=PACKED)
    message = refused(answer, status=400, error="Invalid request")
    assert message == "The body holds more than 100,000 values."
    assert not EnrollmentJob.objects.exists()


def test_what_stands_in_a_text_is_no_value(server: ServerClient, acme: Workspace) -> None:
    text = json.dumps("[{" + "," * 2 * MOST_VALUES + '"\\')
    answer = trigger(server, JourneyFactory.create(workspace=acme), body(b'"more": ', text.encode(), 1, b""))
    assert refused(answer, status=404, error="Customer not found")


@pytest.mark.slow
def test_no_call_leaves_its_request_to_the_collector(service: Service) -> None:
    with nothing_left():
        for call in service.calls.values():
            spent(service.caller_of(call).headers, call.method, call.path, json.dumps(call.body).encode())


@pytest.mark.slow
def test_no_refused_call_leaves_its_request_to_the_collector(service: Service) -> None:
    with nothing_left():
        for call in service.calls.values():
            headers = service.caller_of(call).headers
            for sent, raw in ((headers, b"{"), (headers, b"[]"), ({}, b"{}"), (headers | {"Accept": "a/b"}, b"{}")):
                assert spent(sent, call.method, call.path, raw)


@pytest.mark.slow
@pytest.mark.parametrize("packed", [gzip.compress(b'{"a": [' + b"{}," * 1_700_000 + b"0]}"), VALUES["objects"]])
def test_a_process_stays_small_whatever_servers_send(acme: Workspace, packed: bytes) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme))
    path = f"/api/v1/customers/{acme.id}/batch"
    headers = server.headers | (PACKED if packed[:2] == b"\x1f\x8b" else {})
    assert grown_by(lambda: spent(headers, "POST", path, packed)) < 30 * MIB


@pytest.mark.slow
def test_a_process_stays_small_whatever_pages_send(sdk: SdkClient) -> None:
    values = b'{"a": [' + b"{}," * 21_000 + b"0]}"
    assert grown_by(lambda: spent(sdk.headers, "POST", ACTION, values)) < 5 * MIB
    assert data(sdk.post(ACTION, LEAST[ACTION]), status=200)


def left_to_the_collector() -> list[Any]:
    """The requests and views that are there; not by isinstance, which asks what a proxy stands for."""
    return [one for one in gc.get_objects() if issubclass(type(one), Request | APIView)]


def grown_by(call: Any) -> int:
    """The bytes by which this process grows with 40 calls, beyond what the first one took."""
    call()
    before = resident()
    for _ in range(40):
        call()
    return resident() - before


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def spent(headers: dict[str, str], method: str, path: str, raw: bytes) -> int:
    """The status of the answer, all of which has been read as a web server does."""
    environ = RequestFactory().generic(method, path, raw, "application/json", headers=headers).environ
    statuses: list[str] = []
    answer = application({**environ, "wsgi.input": BytesIO(raw)}, lambda status, _headers: statuses.append(status))
    for _ in answer:
        pass
    answer.close()  # type: ignore[attr-defined]
    return int(statuses[0].split()[0])

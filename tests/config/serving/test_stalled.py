"""The service while callers stall: half a body, an answer that nobody reads, connections that say nothing."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection

import pytest

from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import JourneyFactory
from tests.support.web_server import Web

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits, pytest.mark.usefixtures("ada")]

NUMBER = 50
PROMPT_SECONDS = 5.0  # a few milliseconds on a machine with nothing else to do
ACTION = "/api/v1/sdk/bridge/action"


def head(method: str, path: str, headers: dict[str, str], **more: object) -> bytes:
    fields = {"Host": "127.0.0.1", **headers, **{name.replace("_", "-"): value for name, value in more.items()}}
    lines = (f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", "")
    return "\r\n".join(lines).encode()


@contextmanager
def callers(web: Web, number: int, sent: bytes, *, buffer: int | None = None) -> Iterator[list[socket.socket]]:
    """So many callers who have said this, and then neither say nor read anything."""
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(web.connect(buffer=buffer))) for _ in range(number)]
        for client in clients:
            client.sendall(sent)
        yield clients


def assert_all_is_served(web: Web, server: ServerClient, acme: Workspace) -> None:
    """Probes and a call, promptly; the call is committed."""
    for path in ("/livez", "/readyz", "/metrics"):
        assert web.get(path, timeout=PROMPT_SECONDS) == 200
    journey = JourneyFactory.create(workspace=acme)
    connection = HTTPConnection("127.0.0.1", web.port, timeout=PROMPT_SECONDS)
    with closing(connection):
        body = json.dumps({"external_id": "ada"})
        headers = {**server.headers, "Content-Type": "application/json"}
        connection.request("POST", f"/api/v1/journeys/{acme.id}/{journey.id}/trigger", body, headers)
        assert connection.getresponse().status == 202
    assert EnrollmentJob.objects.filter(journey=journey).count() == 1


def test_half_a_body_holds_up_nobody(web: Web, sdk: SdkClient, server: ServerClient, acme: Workspace) -> None:
    sent = head("POST", ACTION, sdk.headers, Content_Type="application/json", Content_Length=1000) + b'{"external_id": '
    with callers(web, NUMBER, sent):
        assert_all_is_served(web, server, acme)


def test_chunks_that_do_not_end_hold_up_nobody(web: Web, sdk: SdkClient, server: ServerClient, acme: Workspace) -> None:
    chunked = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
    with callers(web, NUMBER, head("POST", ACTION, sdk.headers, **chunked) + b"2\r\n{ \r\n"):
        assert_all_is_served(web, server, acme)


def test_answers_that_nobody_reads_hold_up_nobody(web: Web, server: ServerClient, acme: Workspace) -> None:
    """Each asks for a large file again and again, so that no buffer of the system can hold it."""
    sent = head("GET", "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js", {}) * 10
    with callers(web, NUMBER, sent, buffer=4096):
        assert_all_is_served(web, server, acme)


def test_idle_connections_hold_up_nobody(web: Web, server: ServerClient, acme: Workspace) -> None:
    with callers(web, 1100, b""):
        assert_all_is_served(web, server, acme)


def test_heads_that_do_not_end_hold_up_nobody(web: Web, server: ServerClient, acme: Workspace) -> None:
    with callers(web, 1100, b"POST /api/v1/sdk/bridge/action HTTP/1.1\r\nHost: a\r\n"):
        assert_all_is_served(web, server, acme)


@pytest.mark.slow
def test_a_body_that_breaks_off_is_not_carried_out(web: Web, server: ServerClient, acme: Workspace) -> None:
    """What has come may be JSON that makes sense."""
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    body = b'{"external_id": "ada"}'
    sent = head("POST", path, server.headers, Content_Type="application/json", Content_Length=len(body) + 10) + body
    said = web.said(sent, then_end=True)
    assert (said.status, said.json()["code"]) == (400, "invalid_request")
    assert EnrollmentJob.objects.count() == 0


@pytest.mark.parametrize(
    ("how", "status"), [({"Authorization": "Bearer nobody"}, 401), ({"Content-Type": "text/plain"}, 415), ({}, 413)]
)
def test_who_still_sends_hears_the_answer(
    web: Web, server: ServerClient, acme: Workspace, how: dict[str, str], status: int
) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    headers = {**server.headers, "Content-Type": "application/json", **how}
    size = 8 * 1024 * 1024
    said = web.said(head("POST", path, headers, Content_Length=size) + b"x" * size)
    assert (said.status, said.headers["connection"], said.json()["success"]) == (status, "close", False)

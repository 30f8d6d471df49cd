"""One request, to servers that are anything but polite: what comes of it, and how long it may take."""

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.utils import timezone

from journeys.engine.webhooks.client import Client, Limits, Request
from journeys.engine.webhooks.deadlines import Deadline
from journeys.engine.webhooks.outcomes import Outcome
from tests.support.cases import each
from tests.support.receiver import Receiver, free_port, running

LOOPBACK = [ip_network("127.0.0.0/8")]
SHORT = Limits(connect=0.2, total=0.4)


def sent(
    url: str, *, headers: Mapping[str, str] = {}, body: bytes | None = b"{}", method: str = "POST", **options: Any
) -> Outcome:
    client = Client(allowed_networks=LOOPBACK, **{"limits": SHORT, **options})
    request = Request(method=method, url=url, headers=headers, signed={"webhook-id": "msg_1"}, body=body)
    return client.send(request, at=timezone.now())


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_is_sent_arrives_as_it_is(receiver: Receiver, method: str) -> None:
    body = '{"name": "Zoë"}'.encode()
    outcome = sent(receiver.url("/ok?a=%20b&c"), method=method, headers={"X-Kind": "Größe"}, body=body)
    [request] = receiver.arrived
    assert (request.method, request.path, request.body) == (method, "/ok?a=%20b&c", body)
    assert request.headers == {
        "host": receiver.host, "accept-encoding": "identity", "connection": "close", "user-agent": "Engage",
        "content-length": str(len(body)), "webhook-id": "msg_1", "x-kind": "Größe",
    }  # fmt: skip
    assert (outcome.status, outcome.answer, outcome.error, outcome.refused) == (200, "Thanks.", "", False)
    assert 0 <= outcome.milliseconds < 400


@pytest.mark.parametrize(
    ("method", "length"), [("GET", None), ("DELETE", None), ("POST", "0"), ("PUT", "0"), ("PATCH", "0")]
)
def test_a_request_without_a_body_says_so(receiver: Receiver, method: str, length: str | None) -> None:
    assert sent(receiver.url(), method=method, body=None).status == 200
    assert receiver.arrived[0].headers.get("content-length") == length


def test_a_journey_cannot_set_what_is_ours_to_set(receiver: Receiver) -> None:
    theirs = {
        "HOST": "evil.example", "Content-Length": "1", "transfer-encoding": "chunked", "Webhook-Id": "msg_2",
        "webhook-signature": "v1,x", "Connection": "keep-alive", "Accept-Encoding": "gzip", "Expect": "100-continue",
        "user-Agent": "Acme", "Authorization": "Bearer x",
    }  # fmt: skip
    assert sent(receiver.url(), headers=theirs).status == 200
    assert receiver.arrived[0].headers == {
        "host": receiver.host, "accept-encoding": "identity", "connection": "close", "user-agent": "Acme",
        "content-length": "2", "webhook-id": "msg_1", "authorization": "Bearer x",
    }  # fmt: skip


@pytest.mark.parametrize(
    "headers", [{"X-Kind": "a\r\nHost: evil"}, {"X-Kind": "a\nb"}, {"X:Kind": "a"}, {"X Kind\r\n": "a"}, {"X": "日本"}]
)
def test_a_header_that_could_become_two_is_refused(receiver: Receiver, headers: dict[str, str]) -> None:
    outcome = sent(receiver.url(), headers=headers)
    assert (outcome.refused, outcome.error) == (True, "The method or a header cannot be sent.")
    assert receiver.arrived == []


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/slow/5", "No answer within 0.4 s."),
        ("/drip-head", "No answer within 0.4 s."),
        ("/reset", "Connection reset by peer."),
        ("/silent", "The connection broke off."),
        ("/noise", "The answer is no HTTP."),
    ],
)
def test_without_an_answer_the_error_says_why_and_in_time(receiver: Receiver, path: str, error: str) -> None:
    began = time.monotonic()
    outcome = sent(receiver.url(path))
    assert time.monotonic() - began < 0.8
    assert (outcome.status, outcome.answer, outcome.error, outcome.refused) == (None, "", error, False)


def test_how_long_it_took_is_told_in_milliseconds(receiver: Receiver) -> None:
    assert 100 <= sent(receiver.url("/slow/0.1")).milliseconds < 1000


def test_a_host_has_as_long_as_is_documented_and_so_much_of_its_answer_is_read() -> None:
    assert Limits() == Limits(connect=2, total=10, answer=64 * 1024)
    assert Client().limits == Limits()


def test_a_dead_port_is_a_connection_refused() -> None:
    assert sent(f"http://127.0.0.1:{free_port()}/").error == "Connection refused."


@each("limits", [SHORT, Limits(connect=5, total=0.2)])
def test_a_host_that_takes_no_connection_costs_the_time_for_connecting(limits: Limits) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as first, socket.socket() as second:
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        began = time.monotonic()
        outcome = sent(f"http://127.0.0.1:{full.getsockname()[1]}/", limits=limits)
    assert time.monotonic() - began < 0.4
    assert outcome.error == f"No connection within {limits.connect:g} s."


def test_a_large_body_arrives_whole(receiver: Receiver) -> None:
    body = os.urandom(8_000_000)  # more than a socket takes at once
    assert sent(receiver.url(), body=body, limits=Limits()).status == 200
    assert receiver.arrived[0].body == body


@each("read", [0, 1_000_000])
def test_a_body_that_is_hardly_read_costs_no_more_than_the_time_for_all(read: int) -> None:
    body = b"x" * 20_000_000  # more than is read meanwhile, and than the sockets take
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        over = Event()

        def serve() -> None:
            connected, _ = deaf.accept()
            with connected, suppress(OSError):
                while not over.wait(0.05):
                    connected.recv(read)

        Thread(target=serve, daemon=True).start()
        began = time.monotonic()
        outcome = sent(f"http://127.0.0.1:{deaf.getsockname()[1]}/", body=body)
        took = time.monotonic() - began
        over.set()
    assert 0.4 <= took < 1.0  # more than for connecting
    assert outcome.error == "No answer within 0.4 s."


def test_a_host_may_answer_before_it_has_read_everything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hasty:

        def serve() -> None:
            connected, _ = hasty.accept()
            with connected:
                connected.recv(1000)
                connected.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nMuch!")
                connected.shutdown(socket.SHUT_WR)  # what is still unread resets the connection

        Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{hasty.getsockname()[1]}/"
        outcome = sent(url, body=b"x" * 20_000_000, limits=Limits(connect=1, total=5))
    assert (outcome.status, outcome.answer, outcome.error) == (413, "Much!", "")


def test_after_the_deadline_no_time_is_left() -> None:
    assert 0 < Deadline.after(10).left() <= 10
    for seconds in (0, -0.5, -10):
        with pytest.raises(TimeoutError):
            Deadline.after(seconds).left()


@pytest.mark.parametrize("path", ["/huge", "/endless"])
def test_of_a_long_answer_only_the_beginning_is_read(receiver: Receiver, path: str) -> None:
    outcome = sent(receiver.url(path), limits=Limits(connect=1, total=5))
    assert (outcome.status, outcome.answer, outcome.error) == (200, "x" * 4096, "")
    assert outcome.milliseconds < 1000


def test_once_the_status_is_there_it_counts_whatever_becomes_of_the_rest(receiver: Receiver) -> None:
    began = time.monotonic()
    outcome = sent(receiver.url("/drip-body"))
    assert time.monotonic() - began < 0.8
    assert (outcome.status, outcome.error) == (200, "The answer broke off.")
    assert set(outcome.answer) == {"x"}


def test_an_answer_that_ends_before_its_length_broke_off(receiver: Receiver) -> None:
    outcome = sent(receiver.url("/cut"))
    assert (outcome.status, outcome.answer, outcome.error) == (200, '{"left": 3}', "The answer broke off.")
    assert not outcome.whole


def test_no_environment_and_no_file_changes_where_a_request_goes(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login engage password {'x' * 8}")
    with running() as proxy:
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        assert sent(receiver.url()).status == 200
        assert proxy.arrived == []
    assert "authorization" not in receiver.arrived[0].headers


def raw(answer: bytes) -> Outcome:
    """What comes of these very bytes as an answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = Event()

        def serve() -> None:
            connected, _ = server.accept()
            with connected, suppress(OSError):  # it may have heard enough
                connected.recv(65536)
                connected.sendall(answer)
                connected.shutdown(socket.SHUT_WR)
                done.wait(2)

        Thread(target=serve, daemon=True).start()
        try:
            return sent(f"http://127.0.0.1:{server.getsockname()[1]}/", limits=Limits(connect=1, total=5))
        finally:
            done.set()


def test_what_is_recorded_of_an_answer_can_be_stored() -> None:
    body = b"\xff\x00ok\xc3" + b"x" * 5000
    outcome = raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + body)
    assert outcome.answer == "\ufffd\ufffdok\ufffd" + "x" * 4091


@each("announced", ["100 Continue", "102 Processing", "103 Early Hints", "199 Soon"])
def test_an_answer_that_announces_another_is_passed_over(announced: str) -> None:
    early = f"HTTP/1.1 {announced}\r\nLink: </style.css>\r\nRetry-After: 99\r\n\r\n".encode()
    outcome = raw(early * 20 + b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nLater")
    assert (outcome.status, outcome.headers["retry-after"], outcome.answer, outcome.error) == (503, "7", "Later", "")


def test_another_protocol_is_an_answer_and_none_that_counts_as_delivered() -> None:
    outcome = raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
    assert (outcome.status, outcome.answer) == (101, "")


@each(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 30_000 + b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 21 + b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 30_000 + b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"<html>",
        b"",
    ],
)
def test_a_bad_head_is_no_answer(answer: bytes) -> None:
    outcome = raw(answer)
    assert outcome.status is None
    assert outcome.error in {"The answer is no HTTP.", "The connection broke off."}


@each("body", [b"zz\r\nx", b"-5\r\nx", b"5\r\nab", b"ffffffffffffffff\r\nab", b"1\r\n" + b"x" * 100])
def test_bad_chunks_end_the_answer(body: bytes) -> None:
    assert raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body).status == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for hooks.test, with its key, that nobody vouches for."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl program")
    pem = tmp_path_factory.mktemp("tls") / "hooks.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=hooks.test", "-addext", "subjectAltName=DNS:hooks.test",
         "-keyout", pem, "-out", pem.with_suffix(".crt")],
        check=True, capture_output=True,
    )  # fmt: skip
    pem.write_text(pem.read_text() + pem.with_suffix(".crt").read_text())
    return pem


@pytest.fixture
def secure(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver that speaks TLS, known as hooks.test and as other.test."""
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, **options: Any) -> Any:
        if host.endswith(".test") and not options["flags"] & socket.AI_NUMERICHOST:
            host = "127.0.0.1"
        return real(host, port, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with running() as receiver:
        receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
        yield receiver


def test_a_certificate_that_nobody_vouches_for_is_refused(secure: Receiver) -> None:
    outcome = sent(f"https://hooks.test:{secure.port}/ok")
    assert outcome.error == "The host's certificate is not valid: self-signed certificate."
    assert (outcome.status, outcome.refused, secure.arrived) == (None, False, [])


def test_a_certificate_has_to_be_the_hosts_own(secure: Receiver, certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert sent(f"https://hooks.test:{secure.port}/ok", tls=trusting).status == 200
    outcome = sent(f"https://other.test:{secure.port}/ok", tls=trusting)
    assert outcome.error.startswith("The host's certificate is not valid: Hostname mismatch")
    assert [request.headers["host"] for request in secure.arrived] == [f"hooks.test:{secure.port}"]


def test_a_server_that_does_not_speak_tls_says_so(receiver: Receiver) -> None:
    assert sent(f"https://127.0.0.1:{receiver.port}/ok").error.startswith("TLS failed: ")


def test_a_handshake_that_never_ends_costs_no_more_than_the_time_for_all() -> None:
    known = ssl.create_default_context()  # read once by each process
    with socket.create_server(("127.0.0.1", 0)) as mute:
        began = time.monotonic()
        outcome = sent(f"https://127.0.0.1:{mute.getsockname()[1]}/", tls=known)
    assert 0.4 <= time.monotonic() - began < 0.8  # more than for connecting
    assert outcome.error == "No answer within 0.4 s."


def test_a_resolver_that_never_answers_costs_no_more_than_the_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()

    def getaddrinfo(*_: Any, **options: Any) -> Any:
        if options["flags"] & socket.AI_NUMERICHOST:
            raise socket.gaierror
        over.wait(5)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    began = time.monotonic()
    outcome = sent("http://hooks.example/")
    over.set()
    assert time.monotonic() - began < 0.8
    assert (outcome.error, outcome.refused) == ("No answer within 0.4 s.", False)


def test_a_name_that_does_not_resolve_is_tried_again_later() -> None:
    outcome = sent(f"http://nobody-{os.getpid()}.invalid/")
    assert (outcome.error, outcome.refused) == ("The host's name could not be resolved.", False)

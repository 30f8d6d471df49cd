"""What callers see of the server itself, with a small application in the service's place."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.support.web_server import Said, Web, web_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

ECHO = """
from pathlib import Path

SEEN = Path(__file__).with_name("seen")

def application(environ, start_response):
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    body = environ["wsgi.input"].read()
    with SEEN.open("a") as seen:
        seen.write(f"{method} {path} {len(body)}\\n")
    if path == "/raises":
        raise ValueError("a secret")
    if path == "/breaks":
        start_response("200 OK", [])
        return breaking()
    if path == "/streams":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (b"%07d\\n" % number for number in range(50_000))
    if path == "/short":
        start_response("200 OK", [("Content-Length", "1000000")])
        return [b"x" * 100_000]
    if path in ("/nothing", "/same"):
        start_response("204 No Content" if path == "/nothing" else "304 Not Modified", [("Content-Length", "0")])
        return []
    said = f"{method} {path} {environ['QUERY_STRING']} {len(body)} {environ.get('CONTENT_LENGTH')}".encode()
    start_response("200 OK", [("Content-Length", str(len(said)))])
    return [said]

def breaking():
    yield b"x" * 200_000
    raise ValueError("a secret")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def web(folder: Path, django_db_setup: None, django_db_blocker: object) -> Iterator[Web]:
    with web_server(
        folder, application=ECHO, WEB_WORKERS="1", WEB_RECEIVE_SECONDS="2", WEB_SEND_SECONDS="2"
    ) as running:
        yield running


def seen(folder: Path, *, path: str) -> list[str]:
    """What has reached the application at this path."""
    return [line for line in (folder / "seen").read_text().splitlines() if line.split()[1] == path]


def test_two_requests_on_one_connection(web: Web) -> None:
    with closing(web.connect()) as client:
        for number in range(2):
            client.sendall(b"POST /two?n=%d HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" % number)
            said = Said.read(client)
            assert (said.status, said.body) == (200, b"POST /two n=%d 5 5" % number)
            assert said.headers["date"].endswith(" GMT")


def test_requests_that_do_not_wait_for_answers_are_answered_in_their_order(web: Web) -> None:
    sent = b"".join(b"GET /line?%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(50))
    with closing(web.connect()) as client:
        client.sendall(sent + b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        raw = b"".join(iter(lambda: client.recv(65536), b""))
    assert [int(part.split()[0]) for part in raw.split(b"GET /line ")[1:]] == list(range(50))
    assert raw.count(b"HTTP/1.1 200 OK") == 51


def test_a_body_in_chunks_byte_by_byte(web: Web) -> None:
    with closing(web.connect()) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for (
            byte
        ) in b"POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n":
            client.sendall(bytes([byte]))
        assert Said.read(client).body == b"POST /chunks  3 3"


@pytest.mark.parametrize(
    ("framing", "parts"),
    [(b"Content-Length: 5", [b"hello"]), (b"Transfer-Encoding: chunked", [b"5\r\n", b"hello\r\n0\r\n\r\n"])],
)
def test_who_waits_for_a_word_before_the_body_gets_it_once(web: Web, framing: bytes, parts: list[bytes]) -> None:
    with closing(web.connect()) as client:
        client.sendall(b"POST /continue HTTP/1.1\r\nHost: a\r\n" + framing + b"\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        for part in parts:
            client.sendall(part)
            time.sleep(0.1)
        raw = client.recv(1000)
        assert raw.startswith(b"HTTP/1.1 200")
        assert raw.endswith(b"POST /continue  5 5")


def test_who_offers_another_protocol_is_served_in_this_one(web: Web) -> None:
    """As Java's client does at first."""
    offered = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"
    said = web.said(b"POST /offer HTTP/1.1\r\nHost: a\r\n" + offered + b"Content-Length: 5\r\n\r\nhello")
    assert said.body == b"POST /offer  5 5"


def test_a_head_is_answered_without_a_body(web: Web) -> None:
    with closing(web.connect()) as client:
        client.sendall(
            b"HEAD /head HTTP/1.1\r\nHost: a\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        raw = b"".join(iter(lambda: client.recv(65536), b""))
    first, second = raw.split(b"\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert b"Content-Length: " in first
    assert second.endswith(b"GET /after  0 None")


@pytest.mark.parametrize(("path", "status"), [(b"/nothing", 204), (b"/same", 304)])
def test_an_answer_that_has_no_body_says_no_length(web: Web, path: bytes, status: int) -> None:
    said = web.said(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert (said.status, said.body, "content-length" in said.headers) == (status, b"", False)


def test_a_long_answer_comes_in_chunks(web: Web) -> None:
    said = web.said(b"GET /streams HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert said.headers["transfer-encoding"] == "chunked"
    assert said.body.endswith(b"0049999\n\r\n0\r\n\r\n")


def test_to_an_old_client_until_the_connection_ends(web: Web) -> None:
    said = web.said(b"GET /streams HTTP/1.0\r\n\r\n")
    assert ("transfer-encoding" in said.headers, said.ended) == (False, True)
    assert said.body == b"".join(b"%07d\n" % number for number in range(50_000))


@pytest.mark.parametrize("path", [b"/breaks", b"/short"])
def test_a_long_answer_that_breaks_off_does_not_look_whole(web: Web, path: bytes) -> None:
    with closing(web.connect()) as client:
        client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            b"".join(iter(lambda: client.recv(65536), b""))


def test_an_application_that_raises_is_a_500_that_tells_nothing(web: Web) -> None:
    said = web.said(b"GET /raises HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (said.status, said.json()["code"]) == (500, "internal_error")
    assert b"secret" not in said.body


@pytest.mark.parametrize(
    "raw", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"]
)
def test_what_is_no_request_is_refused_in_the_envelope(web: Web, raw: bytes) -> None:
    said = web.said(raw)
    assert (said.status, said.ended, said.headers["connection"]) == (400, True, "close")
    assert said.json()["requestId"] == said.headers["x-request-id"]


def test_a_head_without_an_end_is_refused(web: Web) -> None:
    said = web.said(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"a" * 70_000)
    assert (said.status, said.json()["code"]) == (431, "headers_too_large")


# Bodies that break off, are too long or do not come ---------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /broken HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{}",
        b"POST /broken HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        b"POST /broken HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
        b"POST /broken HTTP/1.1\r\nHost: a\r\nContent-Len",
    ],
)
def test_a_request_that_breaks_off_does_not_reach_the_application(web: Web, folder: Path, raw: bytes) -> None:
    said = web.said(raw, then_end=True)
    assert (said.status, said.json()["code"], said.ended) == (400, "invalid_request", True)
    with closing(web.connect()) as client:
        client.sendall(raw)
    assert web.said(b"GET /whole HTTP/1.1\r\nHost: a\r\n\r\n").status == 200
    assert seen(folder, path="/broken") == []


@pytest.mark.parametrize(("number", "then", "last"), [(1, b"", 200), (20, b"", 200), (20, b"GET /ha", 400)])
def test_who_ends_its_side_is_answered_all_that_was_whole(web: Web, number: int, then: bytes, last: int) -> None:
    with closing(web.connect()) as client:
        client.sendall(b"GET /half HTTP/1.1\r\nHost: a\r\n\r\n" * number + then)
        client.shutdown(socket.SHUT_WR)
        raw = b"".join(iter(lambda: client.recv(65536), b""))
    assert raw.count(b"GET /half  0 None") == number
    assert int(raw.split(b"HTTP/1.1 ")[-1].split()[0]) == last


@pytest.mark.parametrize("size", [2 * 1024 * 1024, 12 * 1024 * 1024])
def test_who_sends_too_much_gets_the_answer_and_no_reset(web: Web, folder: Path, size: int) -> None:
    """What the application sees is a byte more than it takes, which it refuses in its own words."""
    head = b"POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size
    for _ in range(5):
        with closing(web.connect()) as client:
            client.sendall(head + b"x" * size)
            said = Said.read(client)
        assert (said.status, said.headers["connection"], said.ended) == (200, "close", True)
        assert said.body == b"POST /large  1048577 1048577"


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{}", b"POST /slow HTTP/1.1\r\nHost: a\r\nHos"],
)
def test_who_does_not_go_on_is_told_and_left(web: Web, folder: Path, sent: bytes) -> None:
    began = time.monotonic()
    said = web.said(sent)
    assert (said.status, said.json()["code"], said.ended) == (408, "request_timeout", True)
    assert 1.5 < time.monotonic() - began < 10
    assert seen(folder, path="/slow") == []


@pytest.mark.slow
def test_who_never_says_a_word_is_left(web: Web) -> None:
    with closing(web.connect()) as client:
        assert client.recv(100) == b""


@pytest.mark.slow
def test_who_drips_is_left_as_well(web: Web, folder: Path) -> None:
    with closing(web.connect()) as client:
        client.sendall(b"POST /drip HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        client.settimeout(0.1)
        began, raw = time.monotonic(), b""
        while not raw and time.monotonic() - began < 20:
            client.sendall(b"x")
            try:
                raw = client.recv(1000)
            except TimeoutError:
                continue
    assert raw.startswith(b"HTTP/1.1 408 ")
    assert seen(folder, path="/drip") == []


@pytest.mark.slow
def test_who_does_not_read_is_left(web: Web) -> None:
    with closing(web.connect(buffer=4096)) as client:
        client.sendall(b"GET /streams HTTP/1.1\r\nHost: a\r\n\r\n" * 40)
        port = client.getsockname()[1]
        wait_until(lambda: not is_connected(web, port), seconds=20)


def is_connected(web: Web, port: int) -> bool:
    """Whether the server still holds the connection from that port."""
    here, there, state = f"0100007F:{web.port:04X}", f"0100007F:{port:04X}", "01"
    return any(line.split()[1:4] == [here, there, state] for line in Path("/proc/net/tcp").read_text().splitlines())

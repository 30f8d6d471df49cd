"""What callers may make the server hold, with bounds that a test reaches: the application lowers them."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.support.web_server import Said, Web, web_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

APPLICATION = """
import sys, time
from pathlib import Path
from config.serving import calls

worker, seen = sys.modules["__main__"], Path(__file__).with_name("seen")
BOUND

def application(environ, start_response):
    with seen.open("a") as lines:
        lines.write(environ["PATH_INFO"] + "\\n")
    last = environ["PATH_INFO"].removeprefix("/admin")
    time.sleep({"/slow": 1.5, "/read": 0.05}.get(last[:5], 0))
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
"""
GET = b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n"


@contextmanager
def bounded(folder: Path, bound: str) -> Iterator[Web]:
    text = APPLICATION.replace("BOUND", bound)
    with web_server(folder, application=text, WEB_WORKERS="1", WEB_THREADS="1") as web:
        yield web


def test_where_connections_are_many_those_that_wait_longest_without_a_request_go(tmp_path: Path) -> None:
    with bounded(tmp_path, "worker.MOST_CONNECTIONS = 20") as web, ExitStack() as stack:
        clients = [stack.enter_context(closing(web.connect())) for _ in range(40)]
        clients[0].settimeout(10)
        assert clients[0].recv(1) == b""
        assert web.said(GET % b"new").body == b"done"
        clients[-1].sendall(GET % b"last")
        assert Said.read(clients[-1]).body == b"done"


def test_where_bodies_take_too_much_memory_the_oldest_that_are_not_whole_give_way(tmp_path: Path) -> None:
    with bounded(tmp_path, "worker._MOST_HELD = 500_000") as web, ExitStack() as stack:
        half = b"POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b"x" * 150_000
        clients = [stack.enter_context(closing(web.connect())) for _ in range(5)]
        for client in clients:
            client.sendall(half)
        refused = Said.read(clients[0])
        assert (refused.status, refused.headers["retry-after"], refused.ended) == (503, "1", True)
        assert web.said(half + b"x" * 50_000).status == 200
        assert web.said(b"POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello").status == 200
        for client in clients:
            client.close()
        wait_until(lambda: web.said(half + b"x" * 50_000).status == 200)  # what they held is free again


@pytest.mark.slow
def test_where_whole_bodies_take_too_much_memory_large_ones_are_refused(tmp_path: Path) -> None:
    with bounded(tmp_path, "worker._MOST_HELD = 500_000") as web, ThreadPoolExecutor(8) as threads:
        large = b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000
        statuses = sorted(threads.map(lambda _: web.said(large).status, range(4)))
    assert statuses == [200, 200, 503, 503]


@pytest.mark.slow
def test_who_calls_much_waits_for_their_own_calls_and_others_do_not(tmp_path: Path) -> None:
    with bounded(tmp_path, "") as web, ThreadPoolExecutor(20) as threads:
        many = b"GET /slow/many HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer many\r\n\r\n"
        crowd = [threads.submit(web.said, many) for _ in range(6)]
        wait_until(lambda: "/slow/many" in (tmp_path / "seen").read_text())
        for who in (b"Authorization: Bearer one", b"X-App-Id: one"):
            assert web.said(b"GET /one HTTP/1.1\r\nHost: a\r\n" + who + b"\r\n\r\n").status == 200
        assert not all(one.done() for one in crowd)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert max(place for place, path in enumerate(seen) if path == "/one") < len(seen) - 2


@pytest.mark.slow
def test_a_crowd_that_no_thread_has_time_for_is_refused(tmp_path: Path) -> None:
    with bounded(tmp_path, "worker._MOST_WAITING = 2") as web, ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(lambda number: web.said(GET % b"slow/%d" % number).status, range(10)))
    assert {200, 503} == set(answers)
    assert len((tmp_path / "seen").read_text().split("/slow/")) - 1 == answers.count(200)


@pytest.mark.slow
def test_who_has_waited_too_long_is_refused_and_nothing_is_done(tmp_path: Path) -> None:
    with bounded(tmp_path, "calls.LONGEST_WAIT = 1.0") as web, ThreadPoolExecutor() as threads:
        first = threads.submit(web.said, GET % b"slow/first")
        wait_until(lambda: "/slow/first" in (tmp_path / "seen").read_text())
        late = threads.submit(web.said, GET % b"slow/late").result()
        assert (first.result().status, late.status, late.json()["code"]) == (200, 503, "service_unavailable")
    assert "/slow/late" not in (tmp_path / "seen").read_text()


def test_a_balancers_probe_does_not_wait_for_those_of_a_crowd(tmp_path: Path) -> None:
    probe = GET % b"readyz"
    with bounded(tmp_path, "") as web, ExitStack() as stack:
        for _ in range(200):
            stranger = stack.enter_context(closing(socket.socket()))
            stranger.bind(("127.0.0.2", 0))
            stranger.connect(("127.0.0.1", web.port))
            stranger.sendall(probe)
        began = time.monotonic()
        assert web.said(probe).status == 200
        assert time.monotonic() - began < 5  # and 10 behind them
    assert (tmp_path / "seen").read_text().count("/readyz") < 150


@pytest.mark.slow
@pytest.mark.parametrize(
    ("busy", "free"),
    [("slow", ["/livez", "/readyz", "/metrics", "/admin/"]), ("admin/slow", ["/livez", "/readyz", "/metrics", "/x"])],
)
def test_neither_probes_nor_staff_wait_for_calls_nor_these_for_staff(
    tmp_path: Path, busy: str, free: list[str]
) -> None:
    with bounded(tmp_path, "") as web, ThreadPoolExecutor() as threads:
        slow = [threads.submit(web.said, GET % busy.encode()) for _ in range(3)]
        wait_until(lambda: busy in (tmp_path / "seen").read_text())
        began = time.monotonic()
        assert [web.get(path) for path in free] == [200] * len(free)
        assert not all(one.done() for one in slow) or time.monotonic() - began > 1.5
        assert [one.result().status for one in slow] == [200, 200, 200]

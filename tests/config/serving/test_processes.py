"""The web server's processes: who replaces them, who stops them, and what was in flight meanwhile."""

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.receiver import free_port
from tests.support.waiting import wait_until
from tests.support.web_server import Said, Web, is_served, somebody_listens, web_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

SLOW = """
import os, time

def application(environ, start_response):
    time.sleep(0.0 if environ["PATH_INFO"] == "/livez" else 2.0)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
"""


STARTS_SLOWLY = f"import time\ntime.sleep(1.5){SLOW}"


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["while it serves", "while it starts"])
def test_nobody_serves_on_when_the_server_was_killed(killed: str, tmp_path: Path) -> None:
    """Or half of the next server's calls would be answered by the old code, with the old settings."""
    application = STARTS_SLOWLY if killed == "while it starts" else SLOW
    with web_server(tmp_path, application=application, ready=False) as web:
        wait_until(lambda: web.children() != [] if killed == "while it starts" else is_served(web.port))
        serving = web.children()
        web.process.kill()
        web.process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in serving))
        assert not somebody_listens(web.port)


@pytest.mark.slow
def test_who_serves_goes_on_while_the_server_lives(tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web:
        at_first = web.children()
        time.sleep(1.5)  # they look every second
        assert web.children() == at_first != []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_what_was_in_flight_is_answered(how: str, tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web, ThreadPoolExecutor() as threads:
        answer = threads.submit(lambda: urlopen(f"http://127.0.0.1:{web.port}/", timeout=20).read())
        time.sleep(0.5)
        web.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGTERM)
        assert answer.result(20) == b"done"
        assert web.process.wait(20) == (-signal.SIGKILL if how == "killed" else 0)
        wait_until(lambda: not somebody_listens(web.port))


@pytest.mark.slow
def test_idle_connections_do_not_hold_up_the_stop(tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web:
        idle = [web.connect() for _ in range(20)]
        wait_until(lambda: web.get("/livez") == 200)
        began = time.monotonic()
        web.process.terminate()
        assert web.process.wait(20) == 0
        assert time.monotonic() - began < 5  # 10 would be the kill
        for one in idle:
            one.close()


def kill_children(web: Web) -> list[int]:
    killed = web.children()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    return killed


@pytest.mark.slow
def test_processes_that_die_again_and_again_are_replaced_again_and_again(tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web:
        for _ in range(3):
            killed = kill_children(web)
            wait_until(lambda dead=killed: len(web.children()) == 2 and not set(dead) & set(web.children()))  # type: ignore[misc]
            wait_until(lambda: is_served(web.port))
        assert web.process.poll() is None


@pytest.mark.slow
def test_where_one_dies_the_others_go_on(tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web:
        first, other = web.children()
        for _ in range(2):
            os.kill(first, signal.SIGKILL)
            wait_until(lambda dead=first: dead not in web.children())  # type: ignore[misc]
            assert web.get("/livez") == 200
            wait_until(lambda: len(web.children()) == 2)
            assert other in web.children()
            first = next(pid for pid in web.children() if pid != other)


@pytest.mark.slow
def test_a_hang_up_replaces_all_and_fails_no_call(tmp_path: Path) -> None:
    with web_server(tmp_path, application=SLOW) as web:
        before = web.children()
        web.process.send_signal(signal.SIGHUP)
        while set(before) & set(web.children()):
            assert web.get("/livez") == 200
        assert len(web.children()) == 2


@pytest.mark.slow
def test_the_next_version_starts_beside_it_on_the_same_port_and_no_call_fails_or_waits(tmp_path: Path) -> None:
    """It listens once it can serve, and says so."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with (
        web_server(tmp_path / "old", application=SLOW) as old,
        web_server(tmp_path / "new", application=STARTS_SLOWLY, port=old.port, ready=False) as new,
    ):
        while new.log.read_text() != "web: serving\n":
            assert old.get("/livez", timeout=1) == 200
        old.process.terminate()
        while old.process.poll() is None:
            assert new.get("/livez", timeout=30) == 200
        assert new.get("/livez", timeout=30) == 200


@pytest.mark.slow
def test_who_waited_for_the_old_version_is_served_by_the_next(tmp_path: Path) -> None:
    """They share one queue, so nobody's connection is reset with that of the old one."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with web_server(tmp_path / "old", application=SLOW) as old:
        stuck = old.children()
        for pid in stuck:
            os.kill(pid, signal.SIGSTOP)
        with closing(old.connect()) as waits, web_server(tmp_path / "new", application=SLOW, port=old.port) as new:
            waits.sendall(b"GET / HTTP/1.1\r\nHost: engage.example\r\n\r\n")
            old.process.kill()
            for pid in stuck:
                os.kill(pid, signal.SIGKILL)
            assert Said.read(waits).status == 200
            assert new.get("/livez") == 200


@pytest.mark.slow
def test_it_serves_though_whoever_has_the_place_where_one_asks_for_the_socket_says_nothing(tmp_path: Path) -> None:
    port = free_port()
    with closing(socket.socket(socket.AF_UNIX)) as mute:
        mute.bind(f"\0engage web 127.0.0.1 {port}")
        mute.listen()
        with web_server(tmp_path, application=SLOW, port=port) as web:
            assert web.get("/livez") == 200


@pytest.mark.slow
def test_an_application_that_cannot_be_loaded_ends_it(tmp_path: Path) -> None:
    with web_server(tmp_path, application="raise SystemExit('This is why.')", ready=False) as web:
        assert web.process.wait(30) == 1
    assert (tmp_path / "web.log").read_text().splitlines() in (["This is why."], ["This is why."] * 2)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HOST", "localhost", "HOST must be an IP address of this machine, not 'localhost'."),
        ("WEB_THREADS", "0", "WEB_THREADS must be a whole number, at least 1 and at most 1000, not '0'."),
        ("WEB_SEND_SECONDS", "soon", "WEB_SEND_SECONDS must be a number of seconds such as 0.5, not 'soon'."),
    ],
)
def test_what_it_cannot_use_is_refused_by_name(
    name: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with web_server(tmp_path, ready=False) as web:
        assert web.process.wait(30) == 1
    assert (tmp_path / "web.log").read_text() == f"{said}\n"

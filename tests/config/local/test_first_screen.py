"""What is shown after a start, with a small server in the service's place."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from config.local import info
from config.local.demo import Demo
from config.local.first_screen import Address, first_screen
from config.local.locks import FileLock
from tests.support.cases import each
from tests.support.receiver import free_port
from tests.support.terminals import HOSTILE, SHOWN, commands_in

DEMO: Demo = {
    "workspace": {
        "workspaceId": "w",
        "apiKeys": {"server": "engage_secret"},
        "apps": {"web": "app"},
        "customers": {"grace": "g"},
        "segments": {"vip": "s"},
        "journeys": {"welcome": "j", "tour": "t", "offer": "o"},
    },
    "adminPassword": "sesame",
    "webhookSecret": "whsec",
}
TRIGGER, JOB = "/api/v1/journeys/w/j/trigger", "/api/v1/journeys/w/jobs/1"
QUEUED = {"status": "queued", "queuedAt": "2026-11-21T12:00:00.000Z", "decidedAt": None, "result": None}
DECIDED = {**QUEUED, "status": "decided", "decidedAt": "2026-11-21T12:00:00.250Z", "result": "enrolled"}


@contextmanager
def answering(*answers: tuple[int, Any]) -> Iterator[tuple[Address, list[Any]]]:
    """A server that gives these answers in turn; where it is, and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.command, self.path, self.headers["Authorization"], json.loads(body or "null")))
            status, answer = answers[len(asked) - 1]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Address(host="127.0.0.1", port=server.server_port), asked
        server.shutdown()


def good(data: Any) -> tuple[int, Any]:
    return 200, {"success": True, "data": data}


def test_a_trigger_is_followed_until_a_worker_has_decided_it() -> None:
    with answering(good({"jobId": "1"}), good(QUEUED), good(QUEUED), good(DECIDED)) as (address, asked):
        screen = first_screen(address=address, demo=DEMO)
    secret = "Bearer engage_secret"
    look = ("GET", JOB, secret, None)
    assert asked == [("POST", TRIGGER, secret, {"external_id": "ada"}), look, look, look]
    assert f"engage runs at {address.url}\n" in screen
    assert "user admin, password sesame" in screen
    assert f"{address.url}/demo " in screen
    assert "decided by a worker after 250 ms: enrolled." in screen


def test_info_shows_the_same_again_without_a_trigger(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(info, "read_demo", lambda: DEMO)
    monkeypatch.setattr(info, "launcher_lock", lambda: tmp_path / "launcher")
    assert info.main() == 0
    stopped = capsys.readouterr().out
    running = FileLock.at(tmp_path / "launcher")
    assert running.try_exclusive()
    running.note("http://127.0.0.2:8123")
    assert info.main() == 0
    shown = capsys.readouterr().out
    assert "make run starts it" in stopped
    assert "make run starts it" not in shown
    assert "http://127.0.0.2:8123/admin/   user admin, password sesame" in shown
    assert "Authorization: Bearer engage_secret" in shown
    monkeypatch.setattr(info, "read_demo", lambda: None)
    assert info.main() == 1


def test_a_trigger_that_is_refused_is_told_as_it_was_answered() -> None:
    with answering((403, {"success": False, "message": "Not this one."})) as (address, _):
        screen = first_screen(address=address, demo=DEMO)
    failure = f"  A trigger was sent just now, and failed. POST {TRIGGER} was answered 403: Not this one.\n"
    assert failure in screen
    assert f"engage runs at {address.url}\n" in screen


def test_what_another_program_answers_commands_no_terminal() -> None:
    with answering((403, {"success": False, "message": HOSTILE})) as (address, _):
        screen = first_screen(address=address, demo=DEMO)
    assert SHOWN in screen
    assert commands_in(screen) == set()


def test_a_trigger_that_nobody_answers_is_told() -> None:
    screen = first_screen(address=Address(host="127.0.0.1", port=free_port()), demo=DEMO)
    assert f"A trigger was sent just now, and failed. POST {TRIGGER}: " in screen
    assert "Connection refused" in screen


def test_a_password_that_is_not_known_is_not_shown_as_one() -> None:
    address = Address(host="127.0.0.1", port=free_port())
    screen = first_screen(address=address, demo={**DEMO, "adminPassword": None})
    assert "password as it was set before; .venv/bin/python manage.py changepassword admin sets another" in screen


@each(
    "host, url",
    [("127.0.0.1", "http://127.0.0.1:8000"), ("shop", "http://shop:8000"), ("::1", "http://[::1]:8000")],
)
def test_an_address_is_shown_as_a_browser_takes_it(host: str, url: str) -> None:
    assert Address(host=host, port=8000).url == url

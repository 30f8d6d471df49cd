"""Logging in, and how often it may be tried."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from structlog.testing import capture_logs

from engage.admin.login.idle_sessions import REFRESHED_SECONDS
from engage.admin.login.passwords import LONGEST_WAIT
from tests.admin.logins import BUSY, LOGIN, tried, while_somebody_logs_in
from tests.support.cases import each

NOW = datetime(2030, 1, 2, 3, 4, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nothing_was_tried(queue: object) -> None:
    """Redis is empty."""


@pytest.fixture
def ada(db: None, settings: Settings) -> User:
    settings.ADMIN_LOGIN_LIMIT = "3/h"
    return User.objects.create_superuser("ada", password="countess")


def test_the_browser_is_told_to_load_nothing_from_elsewhere(staff: Client) -> None:
    for client, path in ((Client(), LOGIN), (staff, "/admin/"), (staff, "/admin/nowhere/")):
        policy = client.get(path)["Content-Security-Policy"]
        assert policy.startswith("default-src 'self'; ")
        assert policy.endswith("; form-action 'self'; frame-ancestors 'none'")
    assert "Content-Security-Policy" not in staff.get("/api/v1/schema")


def status(client: Client, *, password: str, address: str) -> int:
    """302 where it led in."""
    return client.post(LOGIN, {"username": "ada", "password": password}, REMOTE_ADDR=address).status_code


def test_who_guesses_is_refused_after_a_while_and_nobody_else(ada: User, client: Client) -> None:
    assert [status(client, password="guess", address="203.0.113.7") for _ in range(3)] == [200] * 3
    refused = client.post(LOGIN, {"username": "ada", "password": "countess"}, REMOTE_ADDR="203.0.113.7")
    assert refused.status_code == 200
    assert "More than 3 attempts to log in in 3,600 seconds." in refused.content.decode()
    assert status(client, password="countess", address="203.0.113.8") == 302


@pytest.mark.django_db
@pytest.mark.parametrize("token_first", [True, False])
def test_a_file_that_a_stranger_sends_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, token_first: bool
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept: list[str] = []
    monkeypatch.setattr("django.core.files.uploadedfile.TemporaryUploadedFile.__init__", lambda *_: kept.append("one"))
    client = Client(enforce_csrf_checks=True)
    client.get(LOGIN)
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"].value, "username": "ada", "password": "guess"}
    file = {"file": SimpleUploadedFile("large", b"x" * 5_000_000)}
    answer = client.post(LOGIN, token | file if token_first else file | token)
    assert answer.status_code == (200 if token_first else 403)
    assert kept == []
    assert "file" not in answer.wsgi_request.FILES


TOO_SOON = "Many attempts at this account have failed. Try again in"
WRONG = "Please enter"


@pytest.mark.django_db
@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_after_many_failures_an_account_is_tried_now_and_then_by_an_address(settings: Settings, username: str) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1000/m"
    User.objects.create_superuser("ada", password="countess")
    client = Client()
    with time_machine.travel(NOW, tick=False) as clock:
        for number in range(5 + 5):
            assert WRONG in tried(client, username, "guess", address=f"203.0.113.{number}")
        guesser = "203.0.113.99"
        assert WRONG in tried(client, username, "guess", address=guesser)
        for _ in range(3):
            assert TOO_SOON in tried(client, username, "guess", address=guesser)
        clock.shift(LONGEST_WAIT)
        assert WRONG in tried(client, username, "guess", address=guesser)
        assert TOO_SOON in tried(client, username, "guess", address=guesser)


@pytest.mark.slow
@pytest.mark.usefixtures("redis_is_away")
def test_attempts_at_an_account_are_slowed_down_without_redis_as_well(ada: User) -> None:
    with time_machine.travel(NOW, tick=False):
        for number in range(5 + 5):
            assert WRONG in tried(Client(), "ada", "guess", address=f"192.0.2.{number}")
        assert WRONG in tried(Client(), "ada", "guess", address="192.0.2.99")
        assert TOO_SOON in tried(Client(), "ada", "guess", address="192.0.2.99")


@pytest.mark.slow
@pytest.mark.django_db
def test_nobody_is_locked_out_by_what_is_tried_from_elsewhere(settings: Settings) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1000/m"
    User.objects.create_superuser("ada", password="countess")
    with time_machine.travel(NOW, tick=False) as clock:
        for _ in range(3):
            for number in range(30):
                tried(Client(), "ada", "guess", address=f"203.0.113.{number}")
            clock.shift(LONGEST_WAIT)
        assert tried(Client(), "ada", "countess", address="198.51.100.1") == ""
        mistyping = "198.51.100.2"
        assert WRONG in tried(Client(), "ada", "countes", address=mistyping)
        clock.shift(LONGEST_WAIT)
        for number in range(30):
            tried(Client(), "ada", "guess", address=f"203.0.113.{number}")
        assert tried(Client(), "ada", "countess", address=mistyping) == ""


@pytest.mark.django_db
def test_the_wait_for_one_account_holds_for_no_other(settings: Settings) -> None:
    settings.ADMIN_LOGIN_LIMIT = "1000/m"
    User.objects.create_superuser("bob", password="builder")
    with time_machine.travel(NOW, tick=False):
        for _ in range(10):
            tried(Client(), "ada", "guess", address="203.0.113.7")
        assert tried(Client(), "bob", "builder", address="203.0.113.7") == ""


def test_a_failure_is_logged_with_the_account_and_without_what_was_typed(ada: User) -> None:
    client = Client()
    with capture_logs() as logs:
        for username in ("ada", "hush-name"):
            client.post(LOGIN, {"username": username, "password": "hush-word"}, REMOTE_ADDR="203.0.113.7")
        client.post(LOGIN, {"username": "ada", "password": "countess"}, REMOTE_ADDR="203.0.113.8")
    failed = [line for line in logs if line["event"] == "login_failed"]
    assert [line["account_id"] for line in failed] == [ada.pk, None]
    assert "hush" not in repr(logs)


@pytest.mark.django_db(transaction=True)
def test_a_process_checks_one_password_at_a_time_and_keeps_nobody_waiting(settings: Settings) -> None:
    with while_somebody_logs_in(settings, "ada"):
        for username in ("ada", "nobody"):
            assert BUSY in tried(Client(), username, "countess", address="203.0.113.9")
    assert tried(Client(), "ada", "countess", address="203.0.113.9") == ""


@each("password, is_taken", [("k7#mQ2x!pLw", False), ("k7#mQ2x!pLwz", True)])
def test_a_new_password_has_at_least_12_characters(staff: Client, password: str, is_taken: bool) -> None:
    fields = {"username": "bob", "usable_password": "true", "password1": password, "password2": password}
    page = staff.post("/admin/auth/user/add/", fields, follow=True).content.decode()
    assert User.objects.filter(username="bob").exists() is is_taken
    assert ("This password is too short." in page) is not is_taken


def test_a_session_ends_after_12_hours_without_a_request(ada: User, client: Client) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        assert status(client, password="countess", address="203.0.113.7") == 302
        for _ in range(3):
            clock.shift(11 * 3600)
            assert client.get("/admin/").status_code == 200
        clock.shift(12 * 3600 + 1)
        assert client.get("/admin/").status_code == 302


def test_a_session_is_written_every_few_minutes_at_most(ada: User, client: Client) -> None:
    def writes() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/admin/").status_code == 200
        return sum('UPDATE "django_session"' in query["sql"] for query in queries)

    with time_machine.travel(NOW, tick=False) as clock:
        assert status(client, password="countess", address="203.0.113.7") == 302
        assert [writes() for _ in range(3)] == [0, 0, 0]
        clock.shift(REFRESHED_SECONDS)
        assert [writes() for _ in range(3)] == [1, 0, 0]


def test_a_stranger_is_given_no_session(ada: User) -> None:
    Client().get(LOGIN)
    assert not Session.objects.exists()

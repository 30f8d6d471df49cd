"""Logging in, and how often it may be tried."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

LOGIN = "/admin/login/"


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
    assert "More than 3 attempts to log in in 3600 seconds." in refused.content.decode()
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

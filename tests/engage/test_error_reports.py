"""What fails is told to Sentry: by type and place, with ids, and nothing else."""

import logging
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
import structlog
from django.http import HttpRequest
from django.test import Client
from django.urls import include, path
from pytest_django import Settings

from config import urls
from engage.process import error_reports
from tests.support.telemetry import Told, telling

SECRET = "ada.lovelace@example.com"


def broken(_: HttpRequest) -> NoReturn:
    raise RuntimeError(SECRET)


urlpatterns = [path("broken", broken), path("", include(urls))]
handler500 = urls.handler500


@pytest.fixture
def told(settings: Settings) -> Iterator[Told]:
    structlog.contextvars.clear_contextvars()
    with telling(settings) as server:
        yield server


def fail() -> None:
    try:
        int(SECRET)
    except ValueError as error:
        raise RuntimeError(SECRET) from error


def log_failure(log: Any, *, level: str = "error") -> None:
    held = {"email": SECRET}
    try:
        fail()
    except RuntimeError:
        getattr(log, level)(
            "work_failed", exc_info=True, error=SECRET, held=held, trigger_id="t-1", request_id="call-1"
        )


def test_a_failure_is_told_by_its_type_and_place_with_ids(told: Told) -> None:
    log_failure(structlog.get_logger("somewhere"))
    [event] = told.events()
    cause, raised = event["exception"]["values"]
    assert (cause["type"], raised["type"], raised["value"]) == ("ValueError", "RuntimeError", "work_failed")
    assert "value" not in cause
    assert [frame["function"] for frame in raised["stacktrace"]["frames"]] == ["log_failure", "fail"]
    for frame in raised["stacktrace"]["frames"] + cause["stacktrace"]["frames"]:
        assert set(frame) <= {"filename", "abs_path", "function", "lineno", "in_app"}
    assert event["tags"] == {"trigger_id": "t-1", "request_id": "call-1"}
    assert (event["level"], event["logger"], event["transaction"]) == ("error", "somewhere", "work_failed")
    assert not set(event) & {"request", "user", "breadcrumbs", "extra", "modules", "threads", "logentry"}
    assert SECRET not in told.all_text()


def test_what_another_library_says_is_not_told(told: Told) -> None:
    try:
        fail()
    except RuntimeError:
        logging.getLogger("another").exception("It failed for %s.", SECRET)
    [event] = told.events()
    assert event["transaction"] == event["exception"]["values"][-1]["value"] == "another"
    assert SECRET not in told.all_text()


@pytest.mark.parametrize("level", ["warning", "info"])
def test_what_is_less_than_an_error_is_not_told(told: Told, level: str) -> None:
    log_failure(structlog.get_logger("somewhere"), level=level)
    structlog.get_logger("somewhere").error("without an exception")
    assert not told.events()


@pytest.mark.urls(__name__)
def test_a_call_that_fails_is_told_without_its_address_and_body(told: Told) -> None:
    client = Client()
    client.raise_request_exception = False
    headers = {"X-Request-Id": "call-1", "Authorization": "Bearer a-key-nobody-may-read", "Cookie": "a=cookie-of-ada"}
    answer = client.post(f"/broken?email={SECRET}", {"email": SECRET}, headers=headers)
    assert answer.status_code == 500
    [event] = told.events()
    assert (event["transaction"], event["tags"]["request_id"]) == ("request_failed", "call-1")
    text = told.all_text()
    assert not [secret for secret in (SECRET, "nobody-may-read", "cookie-of-ada", "email") if secret in text]
    [span] = told.spans()
    assert (span.name, span.failed, span.ids) == ("POST broken", True, event["tags"]["traceparent"][3:-3])


def test_a_sentry_that_is_away_costs_the_line_nothing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_reports, "_LAST_SECONDS", 0.3)
    settings.SENTRY_DSN = "http://a-key@127.0.0.1:1/7"
    began = time.monotonic()
    log_failure(structlog.get_logger("somewhere"))
    error_reports.send_last()
    assert time.monotonic() - began < 3

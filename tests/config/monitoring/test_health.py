"""Health: alive as long as it answers, ready as long as PostgreSQL answers."""

from threading import Event
from typing import Any

import pytest
import structlog
from django.db import OperationalError, connection
from django.test import Client
from structlog.testing import capture_logs

from config.monitoring.release import commit, version
from tests.support.cases import each
from tests.support.clients import Answer

pytestmark = pytest.mark.django_db
READY = {"status": "ready", "postgresql": "up", "migrations": "applied", "redis": "up"}


def get(path: str) -> Answer:
    return Answer.of(Client().get(path))


@each("path, lines", [("/livez", []), ("/readyz", []), ("/metrics", ["request"])])
def test_what_is_asked_every_few_seconds_fills_no_log(path: str, lines: list[str]) -> None:
    with capture_logs() as logged:
        assert get(path).status_code == 200
    assert [line["event"] for line in logged] == lines


def test_livez_asks_nobody_and_tells_the_release(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        answer = get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive", "version": version(), "commit": commit()})


def test_readyz_where_both_answer() -> None:
    answer = get("/readyz")
    assert (answer.status_code, answer.json()) == (200, READY)


def test_redis_down_is_reported_and_not_fatal(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = get("/readyz")
    assert (answer.status_code, answer.json()) == (200, READY | {"redis": "down"})


@pytest.mark.usefixtures("redis_takes_no_writes")
def test_a_redis_that_takes_no_writes_is_as_good_as_down() -> None:
    """It answers, but no worker can be woken through it."""
    answer = get("/readyz")
    assert (answer.status_code, answer.json()) == (200, READY | {"redis": "down"})


def test_postgresql_decides() -> None:
    def fail(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(fail):
        answer = get("/readyz")
    said = {"status": "unavailable", "postgresql": "down", "migrations": "unknown", "redis": "up"}
    assert (answer.status_code, answer.json()) == (503, said)


@pytest.mark.parametrize("missing", ["a migration", "all of them"])
def test_nobody_is_sent_here_before_the_database_is_migrated(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr("config.monitoring.health._seen_migrated", Event())
    with connection.cursor() as cursor:
        if missing == "a migration":
            cursor.execute(
                "DELETE FROM django_migrations WHERE app = 'journeys'"
                " AND name = (SELECT max(name) FROM django_migrations WHERE app = 'journeys')"
            )
        else:
            cursor.execute("ALTER TABLE django_migrations RENAME TO gone")
    answer = get("/readyz")
    said = {"status": "unavailable", "postgresql": "up", "migrations": "missing", "redis": "up"}
    assert (answer.status_code, answer.json()) == (503, said)


def test_migrations_of_a_later_version_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.monitoring.health._seen_migrated", Event())
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('journeys', '9999_later', now())")
    assert get("/readyz").json() == READY


def test_a_migration_that_is_noted_twice_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.monitoring.health._seen_migrated", Event())
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) SELECT app, name, now() FROM django_migrations"
        )
    assert get("/readyz").json() == READY


def test_who_has_seen_them_applied_asks_for_nothing_but_an_answer(django_assert_num_queries: Any) -> None:
    get("/readyz")
    with django_assert_num_queries(1):
        assert get("/readyz").json() == READY


# Whoever asks, and however ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "no host at all"])
def test_they_answer_whatever_the_host_is(settings: Any, path: str, host: str) -> None:
    settings.ALLOWED_HOSTS = ["engage.example"]
    assert Client().get(path, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_in_production_too_where_http_is_redirected(settings: Any, path: str) -> None:
    settings.ALLOWED_HOSTS, settings.METRICS_TOKEN = ["engage.example"], "s3cret"
    settings.SECURE_SSL_REDIRECT, settings.SECURE_REDIRECT_EXEMPT = True, [rf"^{path[1:]}$"]
    answer = Client().get(path, headers={"Host": "10.1.2.3:8000", "Authorization": "Bearer s3cret"})
    assert answer.status_code == 200


def test_elsewhere_a_foreign_host_is_refused_and_in_the_log(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.ALLOWED_HOSTS = ["engage.example"]
    with structlog.testing.capture_logs() as lines:
        answer = Answer.of(Client().get("/api/v1/schema", headers={"Host": "10.1.2.3:8000"}))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert {"event": "host_not_allowed", "host": "10.1.2.3:8000", "log_level": "warning"} in lines
    assert not caplog.records  # Django would say the same again, at any length


@each("path", ["/livez", "/readyz", "/metrics"])
@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused_in_json(path: str, method: str) -> None:
    answer = Answer.of(Client(enforce_csrf_checks=True).generic(method, path))
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["code"] == "method_not_allowed"
    assert answer.json()["message"] == f'Method "{method}" not allowed.'


@each("path", ["/livez", "/readyz", "/metrics"])
def test_a_head_is_a_get_without_its_body(path: str) -> None:
    answer = Answer.of(Client().head(path))
    assert (answer.status_code, answer.content) == (200, b"")

"""Health: alive as long as it answers, ready as long as PostgreSQL answers."""

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from tests.clients import Answer

pytestmark = pytest.mark.django_db


def get(path: str) -> Answer:
    return Answer.of(Client().get(path))


def test_livez_asks_nobody(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        answer = get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_readyz_where_both_answer() -> None:
    answer = get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "postgresql": "up", "redis": "up"})


def test_redis_down_is_reported_and_not_fatal(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "postgresql": "up", "redis": "down"})


def test_postgresql_decides() -> None:
    def fail(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(fail):
        answer = get("/readyz")
    assert (answer.status_code, answer.json()["postgresql"]) == (503, "down")

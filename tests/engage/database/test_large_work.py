"""What is large by its nature: one limit for all its statements, in one thread of the process."""

import time
from collections.abc import Callable

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from customers.models import Event
from engage.database.object_ids import new_object_id
from engage.database.statement_limit import large_work, statement_limit
from engage.models import Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
LIMIT = 0.5


def sleep(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(%s)", [seconds])


def one_after_the_other() -> None:
    for _ in range(100):
        sleep(0.05)


def one_at_the_end() -> None:
    sleep(LIMIT - 0.1)
    sleep(LIMIT - 0.1)


def row_by_row() -> None:
    with connection.chunked_cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.05) FROM generate_series(1, 100)")
        while cursor.fetchmany(1):
            pass


def limited(work: Callable[[], None], seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds}s"])
    work()


@pytest.mark.parametrize("work", [lambda: sleep(5), one_after_the_other, one_at_the_end, row_by_row])
@pytest.mark.parametrize("limit_of_statements", [LIMIT, 60.0])
def test_all_statements_together_are_limited(
    work: Callable[[], None], limit_of_statements: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server, and where each is short, or a pooler's session has no limit, by the client."""
    monkeypatch.setattr("engage.database.statement_limit._LARGE_SECONDS", LIMIT)
    began = time.monotonic()
    with pytest.raises(OperationalError) as ended, transaction.atomic(), large_work():
        limited(work, limit_of_statements)
    assert isinstance(ended.value.__cause__, QueryCanceled)
    assert LIMIT - 0.1 < time.monotonic() - began < LIMIT + 1
    sleep(0)  # the connection is whole, and has no limit any more


def test_the_limit_of_statements_is_another_until_the_transaction_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_limit, "seconds", 0.2)
    connection.close()
    try:
        with transaction.atomic(), large_work():
            sleep(0.4)
        with pytest.raises(OperationalError):
            sleep(0.4)
    finally:
        connection.close()


def test_what_is_checked_at_the_end_of_a_transaction_is_checked_within_the_limit(acme: Workspace) -> None:
    with transaction.atomic():
        with pytest.raises(IntegrityError), large_work():
            Event.objects.create(workspace=acme, customer_id=new_object_id(), name="paid", source="api")
        transaction.set_rollback(True)

"""A column changes its type: what was prepared before is prepared anew, in transactions and outside of them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import NotSupportedError, connection, transaction

from engage.database.sql import Statement
from engage.models import Workspace
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import WebhookDelivery
from tests.journeys.webhooks.standing import standing

pytestmark = pytest.mark.django_db(transaction=True)

OFTEN = 6  # psycopg prepares what it has executed three times
_CLAIM = Statement("UPDATE scratch SET claims = claims + 1 RETURNING claims")


def _with_the_orm() -> list[Any]:
    return list(Workspace.objects.extra(tables=["scratch"], select={"claims": "claims"}).values_list("claims"))


def _with_a_cursor() -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT claims FROM scratch WHERE claims > %s", [-1])
        return list(cursor.fetchall())


@pytest.fixture
def _scratch(acme: Workspace) -> Iterator[None]:
    Statement("CREATE TABLE scratch (claims int)").execute()
    Statement("INSERT INTO scratch VALUES (0)").execute()
    yield
    Statement("DROP TABLE scratch").execute()


def _change_type(table: str, column: str, to: str) -> None:
    """As another session: this one would forget by itself what it has prepared."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {to}")


@pytest.mark.usefixtures("_scratch")
@pytest.mark.parametrize("read", [_with_the_orm, _with_a_cursor, _CLAIM.rows])
def test_outside_of_transactions_it_is_done_once_all_the_same(read: Callable[[], list[Any]]) -> None:
    for kind in ("bigint", "numeric", "int"):
        for _ in range(OFTEN):
            before = read()
        _change_type("scratch", "claims", kind)
        assert read()[0][0] - before[0][0] in {0, 1}


@pytest.mark.usefixtures("_scratch")
def test_a_transaction_fails_once_and_its_session_knows_better_then() -> None:
    for _ in range(OFTEN):
        _CLAIM.rows()
    _change_type("scratch", "claims", "bigint")
    if connection.connection.prepare_threshold is not None:
        with pytest.raises(NotSupportedError), transaction.atomic():
            _CLAIM.rows()
    with transaction.atomic():
        assert _CLAIM.column() == [OFTEN + 1]


def test_what_is_not_possible_at_all_is_tried_twice_and_refused() -> None:
    tried = []
    impossible = "SELECT 1 FROM engage_workspace GROUP BY () FOR UPDATE"

    def note(execute: Callable[..., Any], *args: Any) -> Any:
        tried.append(args[0])
        return execute(*args)

    with connection.execute_wrapper(note), pytest.raises(NotSupportedError):
        Statement(impossible).execute()
    assert tried.count(impossible) == 2


def test_a_sender_goes_on_after_a_column_of_its_claim_has_another_type(acme: Workspace) -> None:
    for _ in range(OFTEN):
        assert claim_due(HostSlots(8)) == []
    standing(acme, "http://one.example/")
    _change_type("journeys_webhookdelivery", "method", "varchar(11)")
    _change_type("journeys_webhookdelivery", "body", "varchar(200)")
    try:
        assert [one.host for one in claim_due(HostSlots(8))] == ["one.example:80"]
    finally:
        _change_type("journeys_webhookdelivery", "body", "text")
        _change_type("journeys_webhookdelivery", "method", "varchar(10)")
    assert WebhookDelivery.objects.get().attempts == 0

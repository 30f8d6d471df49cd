"""Plans that a session made while its tables were small do not read the whole of large ones, row by row."""

import pytest
from django.db import connection

from engage.models import Workspace
from journeys.models import Journey
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, crowd
from tests.support.plans import note_statistics

TABLES = ("customers_customer", "journeys_enrollmentjob", "journeys_enrollment", "journeys_trigger")
FEW, MANY = 3, 2000
MOST_READ = 100 * MANY  # each with each: two million and more
ADVICE = "If there is a new index, it is the likely cause: see CONTRIBUTING.md, Migrations."
KEYS = [f"{row}_in_workspace" for row in ("customer", "event", "trigger", "job", "enrollment", "delivery")]


@pytest.fixture(autouse=True)
def _no_plan_is_kept_yet(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")


def rows_read_in_passing(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = %s", [table])
        return int(cursor.fetchone()[0])


@pytest.fixture
def journey(server: ServerClient, acme: Workspace) -> Journey:
    """Its calls were small, and then the workspace grew."""
    journey = JourneyFactory.create(workspace=acme, allow_reenrollment=True, max_entries_per_customer=100)
    few = crowd(acme, FEW)
    with connection.cursor() as cursor:
        for number in range(9):  # PostgreSQL keeps a plan after five
            data(trigger(server, journey, {"external_ids": few}))
            let_workers_decide()
            if number == 0:
                note_statistics(*TABLES)
        cursor.execute(
            "INSERT INTO customers_customer (id, workspace_id, external_id, attributes) "
            "SELECT left(md5('later' || n), 24), %s, 'later-' || n, '{}' FROM generate_series(1, %s) n",
            [acme.id, MANY],
        )
    return journey


def trigger_many(server: ServerClient, journey: Journey) -> None:
    for start in range(1, MANY, 1000):
        data(trigger(server, journey, {"external_ids": [f"later-{n}" for n in range(start, start + 1000)]}))


def test_a_large_call_after_many_small_ones_is_decided_by_key(server: ServerClient, journey: Journey) -> None:
    trigger_many(server, journey)
    before = {table: rows_read_in_passing(table) for table in TABLES}
    let_workers_decide()
    for table in TABLES:
        assert rows_read_in_passing(table) - before[table] < MOST_READ, f"{table} was read row by row. {ADVICE}"


def test_a_large_call_after_many_small_ones_is_queued_by_key(server: ServerClient, journey: Journey) -> None:
    before = {table: rows_read_in_passing(table) for table in TABLES}
    trigger_many(server, journey)
    for table in TABLES:
        assert rows_read_in_passing(table) - before[table] < MOST_READ, f"{table} was read row by row. {ADVICE}"


LATER = """
SELECT later.relname FROM pg_class key
JOIN pg_index of_key ON of_key.indexrelid = key.oid
JOIN pg_index other ON other.indrelid = of_key.indrelid AND other.indkey[0] = of_key.indkey[0] AND other.indpred IS NULL
JOIN pg_class later ON later.oid = other.indexrelid AND later.oid > key.oid
WHERE key.relname = %s
"""


@pytest.mark.django_db
@each("key", KEYS)
def test_the_key_of_references_is_newer_than_indexes_that_seem_as_good(key: str) -> None:
    """PostgreSQL takes the newest of equals, and keeps that plan for a session's foreign key checks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_class WHERE relname = %s", [key])
        assert cursor.rowcount == 1
        cursor.execute(LATER, [key])
        assert cursor.fetchall() == [], ADVICE

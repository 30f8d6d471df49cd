"""`manage.py migrate` can be run again after it was killed, at whatever moment, and no two run at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise, zip_longest
from typing import Any

import psycopg
import pytest
from django.contrib.postgres.operations import ValidateConstraint
from django.core.management import CommandError, call_command
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint
from pytest_django import Settings

from config.management.commands import migrate
from config.monitoring.health import missing_migrations
from engage.database.backend.sessions import missing_settings
from engage.database.repeatable import (
    AddConstraintNotValid,
    AddIndexConcurrently,
    AddUniqueConcurrently,
    AddUniqueIndexConcurrently,
    RemoveConstraint,
    RemoveIndexConcurrently,
    RemoveUniqueIndexConcurrently,
)
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace

pytestmark = pytest.mark.without_pooler

# What pg_dump would show, and what an interrupted CONCURRENTLY leaves.
SCHEMA = """
SELECT 'column', attrelid::regclass::text, attname,
       concat(format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT 'index', indrelid::regclass::text, relname, concat(pg_get_indexdef(indexrelid), indisvalid, indisready)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', '', proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
ORDER BY 1, 2, 3, 4
"""
INVALID_INDEXES = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
LOCK = int.from_bytes(b"migr")
TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"


class Repeatable(Migration):
    """Of all the operations for a migration that is no transaction, also those that no migration needs just now."""

    atomic = False
    operations = (
        AddIndexConcurrently("event", Index(fields=["name"], name="event_by_name")),
        RemoveIndexConcurrently("event", "event_by_serial"),
        AddUniqueConcurrently("alias", unique_in_workspace("alias_in_workspace")),
        RemoveConstraint("alias", "alias_customer"),
        AddConstraintNotValid(
            "alias",
            WorkspaceForeignKey(name="alias_of", field="customer", table="customers_customer", on_delete="RESTRICT"),
        ),
        ValidateConstraint("alias", "alias_of"),
        AddConstraintNotValid("event", CheckConstraint(condition=~Q(name=""), name="event_has_name")),
        ValidateConstraint("event", "event_has_name"),
        RemoveConstraint("segment", "segment_key"),
        AddUniqueIndexConcurrently(
            "event",
            UniqueConstraint(
                fields=["name"], condition=Q(chain=0), opclasses=["varchar_pattern_ops"], name="named_once"
            ),
        ),
        RemoveUniqueIndexConcurrently("customer", "customer_phone_once"),
    )


REPEATABLE = Repeatable("9999_repeatable", "customers")


class KilledError(Exception):
    pass


def another_session() -> "psycopg.Connection[Any]":
    return psycopg.connect(**connection.get_connection_params())


def rows(query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


class Changes:
    """Sees the statements that change something, and kills before one of them, or amid it."""

    def __init__(self, *, kill_at: int | None = None, amid: bool = False) -> None:
        self.seen: list[str] = []
        self._kill_at, self._amid = kill_at, amid

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT"):
            return execute(sql, params, many, context)
        if len(self.seen) == self._kill_at:
            if self._amid:
                give_up(lambda: execute(sql, params, many, context))
            raise KilledError
        self.seen.append(sql)
        return execute(sql, params, many, context)


def give_up(concurrently: Callable[[], object]) -> None:
    """Its first transaction is done, and then it waits for one that writes to the table."""
    with another_session() as writer, connection.connection.cursor() as raw:
        tables = ", ".join(name for [name] in rows(TABLES))
        writer.execute(f"LOCK TABLE {tables} IN ROW EXCLUSIVE MODE")
        raw.execute("SET lock_timeout = '10ms'")
        with pytest.raises(OperationalError, match="lock timeout"):
            concurrently()
        raw.execute("RESET lock_timeout")
    assert rows(INVALID_INDEXES)


@dataclass(frozen=True)
class Prepared:
    """A migration with the states between its operations, which would take long to make for each run anew."""

    migration: Migration
    states: list[ProjectState]

    def forwards(self) -> None:
        with connection.schema_editor(atomic=False) as editor:
            for operation, (before, after) in zip(self.migration.operations, pairwise(self.states), strict=True):
                operation.database_forwards(self.migration.app_label, editor, before, after)

    def backwards(self) -> None:
        with connection.schema_editor(atomic=False) as editor:
            operations = zip(self.migration.operations, pairwise(self.states), strict=True)
            for operation, (before, after) in reversed(list(operations)):
                operation.database_backwards(self.migration.app_label, editor, after, before)


def prepared(migration: Migration, state: ProjectState) -> Prepared:
    states = [state]
    for operation in migration.operations:
        states.append(state := state.clone())
        operation.state_forwards(migration.app_label, state)
        _ = state.apps
    return Prepared(migration, states)


def moments(changes: list[str]) -> Iterator[tuple[int, bool]]:
    """Before each change, after the last but before it is noted, and amid those that are no transaction."""
    yield from ((place, False) for place in range(len(changes) + 1))
    yield from ((place, True) for place, change in enumerate(changes) if "CONCURRENTLY" in change)


def assert_it_can_be_repeated(run: Prepared) -> None:
    """Forwards and back again, each killed at all moments in turn."""
    start = rows(SCHEMA)
    with connection.execute_wrapper(forwards := Changes()):
        run.forwards()
    end = rows(SCHEMA)
    with connection.execute_wrapper(backwards := Changes()):
        run.backwards()
    ways = [(run.forwards, forwards.seen, end), (run.backwards, backwards.seen, start)]
    for moments_of_both in zip_longest(*(moments(changes) for _, changes, _ in ways), fillvalue=(0, False)):
        for (go, changes, expected), (place, amid) in zip(ways, moments_of_both, strict=True):
            is_killed = place < len(changes)
            with (
                connection.execute_wrapper(Changes(kill_at=place, amid=amid)),
                pytest.raises(KilledError) if is_killed else nullcontext(),
            ):
                go()
            where = f"{run.migration}, killed {'amid' if amid else 'before'} {[*changes, 'it is noted'][place]!r}"
            try:
                go()
            except DatabaseError as error:
                raise AssertionError(f"cannot be repeated: {where}") from error
            assert rows(SCHEMA) == expected, where


@pytest.mark.slow
def test_a_migration_that_is_no_transaction_can_be_repeated_from_wherever_it_was_killed(own_database: None) -> None:
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes()
    plan = [*(migration for migration, _backwards in executor.migration_plan(targets, clean_start=True)), REPEATABLE]
    state = ProjectState(real_apps=executor.loader.unmigrated_apps)
    _ = state.apps
    while any(not migration.atomic for migration in plan):
        migration = plan.pop(0)
        if migration.atomic:
            with connection.schema_editor() as editor:
                state = migration.apply(state, editor)
        else:
            run = prepared(migration, state)
            assert_it_can_be_repeated(run)
            run.forwards()
            state = run.states[-1]


def test_a_second_run_waits_for_the_first(own_database: None) -> None:
    first, said = another_session(), []
    first.execute("SELECT pg_advisory_lock(%s, 0)", [LOCK])
    holder = first.info.backend_pid

    class Terminal(StringIO):
        def write(self, text: str) -> int:
            said.append(text)
            assert rows(TABLES) == []
            first.close()
            return len(text)

    call_command("migrate", "engage", "0001", verbosity=0, stdout=Terminal())
    assert said == [f"Another migrate is at work (PostgreSQL's process {holder}). Waiting for its end.\n"]
    assert ("engage_workspace",) in rows(TABLES)
    with another_session() as third:
        assert third.execute("SELECT pg_try_advisory_lock(%s, 0)", [LOCK]).fetchone() == (True,)


TRIED_AGAIN = "A table is in use. Trying again.\n"


@pytest.mark.slow
def test_who_waits_behind_it_for_a_table_is_let_pass_until_it_gets_the_table(own_database: None) -> None:
    call_command("migrate", "customers", "0001", verbosity=0)
    long, said = another_session(), []
    long.execute("SELECT FROM customers_alias")

    class Terminal(StringIO):
        def write(self, text: str) -> int:
            said.append(text)
            with another_session() as call:
                call.execute("SET lock_timeout = '50ms'")
                call.execute("SELECT FROM customers_alias")
            if len(said) == 2:
                long.close()
            return len(text)

    call_command("migrate", "customers", verbosity=0, stdout=Terminal())
    assert said == [TRIED_AGAIN] * 2
    call_command("migrate", "customers", check_unapplied=True)


@pytest.mark.slow
def test_it_gives_up_some_day(own_database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "_TRYING_SECONDS", 0)
    call_command("migrate", "customers", "0001", verbosity=0)
    with another_session() as long:
        long.execute("SELECT FROM customers_alias")
        with pytest.raises(CommandError, match="Others would not let go of a table, so migrate gave up: canceling"):
            call_command("migrate", "customers", verbosity=0)


@pytest.mark.slow
def test_it_waits_as_long_as_it_has_to_where_nobody_waits_behind_it(own_database: None) -> None:
    call_command("migrate", "journeys", "0041", verbosity=0)
    with another_session() as writer, ThreadPoolExecutor(1) as pool:
        writer.execute("LOCK TABLE journeys_webhookdelivery IN ROW EXCLUSIVE MODE")
        pool.submit(writer.execute, "SELECT pg_sleep(1)").add_done_callback(lambda _: writer.close())
        call_command("migrate", "journeys", "0042", verbosity=0, stdout=(said := StringIO()))
    assert said.getvalue() == ""


def settings_given(*names: str) -> list[str]:
    """What a new session is given that asks for nothing."""
    asked = {**connection.get_connection_params(), "options": ""}
    with psycopg.connect(**asked) as other:
        assert missing_settings(other.cursor()) == []
        return [
            str(row[0]) for name in names if (row := other.execute("SELECT current_setting(%s)", [name]).fetchone())
        ]


@pytest.mark.slow
def test_the_database_is_given_what_its_sessions_need_and_keeps_what_it_was_given_otherwise(own_database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE \"{connection.settings_dict['NAME']}\" SET lock_timeout = '7s'")
    for _ in range(2):
        call_command("migrate", "engage", "0001", verbosity=0)
        names = ("enable_seqscan", "jit", "idle_in_transaction_session_timeout", "lock_timeout")
        assert settings_given(*names) == ["off", "off", "5s", "7s"]


@pytest.mark.slow
def test_who_does_not_own_the_database_is_told_what_its_owner_has_to_do(own_database: None) -> None:
    name = connection.settings_dict["NAME"]
    lodger = name.replace("test_", "lodger_")
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP ROLE IF EXISTS "{lodger}"; CREATE ROLE "{lodger}" LOGIN')
    with connection.cursor() as cursor:
        cursor.execute(f'GRANT ALL ON SCHEMA public TO "{lodger}"')
    connection.close()
    usual = connection.settings_dict["USER"]
    connection.settings_dict["USER"] = lodger
    try:
        call_command("migrate", "engage", "0001", verbosity=0, stderr=(said := StringIO()))
    finally:
        connection.close()
        connection.settings_dict["USER"] = usual
        with connection.cursor() as cursor:
            cursor.execute(f'DROP OWNED BY "{lodger}"; DROP ROLE "{lodger}"')
    [line] = said.getvalue().splitlines()
    assert line.startswith("The database does not give its sessions enable_seqscan, ")
    assert f"ALTER DATABASE \"{name}\" SET lock_timeout = '2s'" in line


@pytest.mark.slow
def test_it_goes_past_a_pooler_to_the_address_for_that(own_database: None, settings: Settings) -> None:
    params = connection.get_connection_params()
    usual = connection.settings_dict["HOST"]
    connection.close()
    connection.settings_dict["HOST"] = "/nowhere"
    settings.DATABASE_DIRECT = {"NAME": "another, because this is a test's", "HOST": params["host"]}
    try:
        call_command("migrate", "engage", "0001", verbosity=0)
        assert connection.settings_dict["HOST"] == "/nowhere"
    finally:
        connection.settings_dict["HOST"] = usual
    assert ("engage_workspace",) in rows(TABLES)


def test_who_only_asks_does_not_wait(own_database: None) -> None:
    with another_session() as first:
        first.execute("SELECT pg_advisory_lock(%s, 0)", [LOCK])
        call_command("migrate", plan=True, stdout=(said := StringIO()))
    assert "Create model Workspace" in said.getvalue()


def initial_migrations() -> list[Migration]:
    return [one for one in MigrationLoader(None).disk_migrations.values() if one.replaces]


@pytest.mark.slow
def test_a_database_of_1_0_0_is_taken_over(own_database: None) -> None:
    MigrationExecutor(connection).migrate([(one.app_label, one.name) for one in initial_migrations()])
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE name = '0001_version_1_0_0'")  # what it knows nothing of
    call_command("migrate", verbosity=0)
    call_command("migrate", check_unapplied=True)
    with connection.cursor() as cursor:
        assert missing_migrations(cursor) == []


def test_one_of_a_version_before_it_is_refused_and_left_as_it_is(own_database: None) -> None:
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    for key in (key for one in initial_migrations() for key in one.replaces):
        recorder.record_applied(*key)
    for name in ("0038_failures_in_the_admin", "0035_what_was_held"):
        recorder.record_unapplied("journeys", name)
    before = recorder.applied_migrations().keys()
    message = "a version before 1.0.0: it lacks journeys.0035_what_was_held, …. Nothing was changed. Migrate it with"
    several: list[dict[str, Any]] = [{}, {"plan": True}, {"check_unapplied": True}, {"app_label": "engage"}]
    for options in several:
        with pytest.raises(CommandError, match=message):
            call_command("migrate", verbosity=0, **options)
    assert (recorder.applied_migrations().keys(), rows(TABLES)) == (before, [("django_migrations",)])


@pytest.mark.django_db(transaction=True)
def test_what_a_migration_does_to_large_tables_takes_no_lock_for_long_and_can_be_read_also_where_it_is_done() -> None:
    with connection.schema_editor(collect_sql=True, atomic=False) as editor:
        REPEATABLE.apply(MigrationLoader(None).project_state(), editor, collect_sql=True)
    lines = [str(line) for line in editor.collected_sql]
    indexes = [line.split() for line in lines if " INDEX " in line and "USING INDEX" not in line]
    assert [(words[0], "CONCURRENTLY" in words) for words in indexes] == [
        ("CREATE", True), ("DROP", True), ("CREATE", True), ("CREATE", True), ("DROP", True),
    ]  # fmt: skip
    constraints = [line for line in lines if "ADD CONSTRAINT" in line]
    assert [line.endswith("NOT VALID;") or "USING INDEX" in line for line in constraints] == [True] * 3
    assert len([line for line in lines if "DROP CONSTRAINT" in line]) == 2

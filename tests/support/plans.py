"""How many rows statements really go through: where a plan that was made on misleading statistics shows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

_EXPLAINED = ("WITH", "SELECT", "UPDATE", "INSERT", "DELETE")


def note_statistics(*tables: str) -> None:
    """ANALYZE of these tables, else of all of the service (those that all databases share are left to other tests).

    It waits for an autovacuum of them, however long: a busy machine needs more than the lock_timeout to end one.
    """
    named = tables or connection.introspection.django_table_names(only_existing=True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        [usual] = cursor.fetchone()
        cursor.execute("SET LOCAL lock_timeout = 0")
        cursor.execute(f"ANALYZE {', '.join(named)}")
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [usual])


@contextmanager
def rows_gone_through() -> Iterator[dict[str, int]]:
    """By statement: the most rows that one of its executions in the block went through, over all nodes of its plan.

    Each is executed twice, the first time under EXPLAIN ANALYZE in a savepoint that is taken back.
    """
    seen: dict[str, int] = {}

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if sql.lstrip().startswith(_EXPLAINED):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0][0]["Plan"]
                transaction.set_rollback(True)
            seen[sql] = max(seen.get(sql, 0), _rows(plan))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield seen


def _rows(node: dict[str, Any]) -> int:
    removed = sum(value for name, value in node.items() if name.startswith("Rows Removed"))
    here = (node["Actual Rows"] + removed) * node["Actual Loops"]
    return int(here) + sum(_rows(below) for below in node.get("Plans", ()))

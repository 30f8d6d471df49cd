"""How many rows statements really go through: where a plan that was made on misleading statistics shows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

_EXPLAINED = ("WITH", "SELECT", "UPDATE", "INSERT", "DELETE")


def note_statistics() -> None:
    """ANALYZE of the service's tables; those that all databases share are left to the other test processes."""
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(connection.introspection.django_table_names(only_existing=True))}")


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

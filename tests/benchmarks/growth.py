"""`make growth`: what calls, pages of the admin and workers cost PostgreSQL in an empty database and in a large one.

Each is done twice: once its statements are explained one by one, for the pages (of 8 KiB) that they read, which do not
depend on the machine; then the processor time of PostgreSQL's process is read before and after.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from config import ROOT
from tests.benchmarks.figures import written_table

CUSTOMERS = "GROWTH_CUSTOMERS"  # in the environment
_EXPLAINED = ("WITH", "SELECT", "UPDATE", "INSERT", "DELETE")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Pages that were read, milliseconds of PostgreSQL's processor, and the statement that read the most."""

    pages: int
    milliseconds: float
    most: str


def costs(acts: Mapping[str, Callable[[], Any]], *, timed: bool) -> dict[str, Cost]:
    """Of each act, by its name; an act may be done any number of times."""
    return {name: _cost(act, timed=timed) for name, act in acts.items()}


def table(small: Mapping[str, Cost], large: Mapping[str, Cost]) -> str:
    """Those that cost the most pages come first."""
    rows = [["what", "pages", "in the large one", "ms", "in the large one"]]
    for name, cost in sorted(large.items(), key=lambda item: -item[1].pages):
        before = small[name]
        rows.append(
            [name, f"{before.pages:,}", f"{cost.pages:,}", f"{before.milliseconds:.1f}", f"{cost.milliseconds:.1f}"]
        )
    return written_table(rows)


def _cost(act: Callable[[], Any], *, timed: bool) -> Cost:
    with _pages_read() as pages:
        act()
    before = _nanoseconds()
    if timed:
        act()
    spent = _nanoseconds() - before
    most = max(pages, key=lambda sql: pages[sql], default="")
    return Cost(pages=sum(pages.values()), milliseconds=spent / 1e6, most=most)


@contextmanager
def _pages_read() -> Iterator[dict[str, int]]:
    """By statement. Each is executed twice, the first time explained, in a savepoint that is taken back."""
    read: dict[str, int] = {}

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if sql.lstrip().startswith(_EXPLAINED):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0][0]["Plan"]
                transaction.set_rollback(True)
            here = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            read[sql] = read.get(sql, 0) + here
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield read


def _nanoseconds() -> int:
    """Of the processor, by the process of PostgreSQL that serves this session."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.growth", description=__doc__)
    parser.add_argument("--customers", type=int, default=100_000, help="in the large database (default 100,000)")
    arguments = parser.parse_args()
    trial = [sys.executable, "-m", "pytest", "-q", "-s", "-n0", "tests/benchmarks/test_growth.py"]
    environment = {CUSTOMERS: str(arguments.customers), "TEST_DATABASE_NAME": f"test_growth_{os.getpid()}"}
    return subprocess.run(trial, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""`make sizing`: what one trigger, decision, step, webhook and bridge call costs, and how many a second are borne.

With --write, the figures go where `manage.py sizing` reads them, and into the pages that show them.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from config.monitoring.release import version
from config.sizing.figures import FILE, Figures
from tests.benchmarks import pages
from tests.benchmarks.measures import single
from tests.benchmarks.measures.bridge import act
from tests.benchmarks.measures.thousand import ids_of_call
from tests.benchmarks.measures.walking import EVERYBODY, fill
from tests.benchmarks.processor import spent_by
from tests.benchmarks.receiver import running_receiver
from tests.benchmarks.service import Servers, Service, another_set, running_servers, running_service
from tests.support.pooler import PROGRAM, pgbouncer
from tests.support.waiting import wait_until

_TABLES = {
    "trigger": ("journeys_trigger",),
    "job": ("journeys_enrollmentjob",),
    "enrollment": ("journeys_enrollment",),
    "step": ("journeys_steprun",),
    "webhook": ("journeys_webhookdelivery", "journeys_webhookattempt"),
    "event": ("customers_event", "bridge_interaction"),
}
_STEPS: list[dict[str, Any]] = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {
        "id": "which", "type": "branch", "else": "greet",
        "cases": [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": None}],
    },
    {"id": "greet", "type": "update_profile", "attributes": {"greeting": "Hello {{ customer.external_id }}"}},
    {"id": "halves", "type": "split", "paths": [{"weight": 1, "next": None}, {"weight": 1, "next": None}]},
]  # fmt: skip
_WALKED = 3  # of them after the day
_CALLS = 20  # of a thousand customers each
_Cost = tuple[dict[str, float], int]  # microseconds by who spends them, and bytes of log


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much work is done for each figure."""

    seconds: int = 8  # of calls
    walked: int = 20_000  # customers
    sent: int = 5_000  # webhooks


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sizing", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} and the pages that show it")
    parser.add_argument("--brief", action="store_true", help="measure too little to be of use, but all of it")
    arguments = parser.parse_args()
    if arguments.write and arguments.brief:
        parser.error("what is measured briefly is not written.")
    amount = Amount(seconds=1, walked=500, sent=100) if arguments.brief else Amount()
    with running_servers() as servers:
        figures = measured(replace(servers, pooler=None), amount)
    sys.stdout.write(f"{pages.cost_table(figures)}\n\n{pages.byte_table(figures)}\n\n{pages.rate_table(figures)}\n")
    if arguments.write:
        FILE.write_text(json.dumps(asdict(figures), indent=2) + "\n")
        pages.renew()


def measured(servers: Servers, amount: Amount) -> Figures:
    with running_service(servers) as service:
        machine, costs, sizes = machine_of(service), *_costs(service, amount)
    with ExitStack() as stack:
        if PROGRAM:
            pooler = stack.enter_context(pgbouncer(servers.database_url, servers.scratch))
            servers = replace(servers, pooler=pooler)
            machine += ", through PgBouncer for the rates"
        service = stack.enter_context(running_service(servers))
        rates = {"1": _rates(service, [service.base], amount)}
        with another_set(service) as other:
            rates["2"] = _rates(service, [service.base, other], amount)
    return Figures(
        version=version(),
        machine=machine,
        date=datetime.now(UTC).date().isoformat(),
        bytes=sizes,
        wal_bytes={work: written for work, (_, written) in costs.items()},
        microseconds={work: spent for work, (spent, _) in costs.items()},
        per_second=rates,
    )


def _costs(service: Service, amount: Amount) -> tuple[dict[str, _Cost], dict[str, int]]:
    """By the kind of work; and the bytes of each kind of row, with its indexes."""
    _warm(service, [service.base])
    sizes = {"customer": round(_size(service, "customers_customer") / _rows(service, "customers_customer"))}
    before = {kind: _taken(service, tables) for kind, tables in _TABLES.items()}
    costs = {
        **_cost(service, lambda: _triggers(service, [service.base], amount)[0], trigger=["web"], decision=["worker"]),
        **_cost(service, lambda: _large_calls(service)[0], **{"customer of a large call": ["web", "bulk"]}),
        **_cost(service, lambda: _events(service, amount), event=["web"]),
        **_walked(service, amount),
    }
    for kind, (bytes_before, rows_before) in before.items():
        taken, rows = _taken(service, _TABLES[kind])
        sizes[kind] = round((taken - bytes_before) / (rows - rows_before))
    return costs, sizes


def _cost(service: Service, work: Callable[[], int], **kinds: Sequence[str]) -> dict[str, _Cost]:
    """Of each kind of work: of the processes that do it, and of PostgreSQL for them. The first one has the log."""
    log = service.one("SELECT pg_current_wal_insert_lsn()")
    number, spent = spent_by(service, work)
    written = service.one("SELECT pg_current_wal_insert_lsn() - %(log)s::pg_lsn", {"log": log})
    each = {
        kind: {name: round(seconds / number * 1e6, 1) for name, seconds in spent.by(*names).items()}
        for kind, names in kinds.items()
    }
    return {kind: (each[kind], 0 if place else round(written / number)) for place, kind in enumerate(kinds)}


def _warm(service: Service, bases: Sequence[str]) -> None:
    """What a process does only at first is not measured."""
    for base in bases:
        single.trigger(replace(service, base=base), seconds=2)
    act(service, "track_event", seconds=1)
    _large_calls(service)


def _triggers(service: Service, bases: Sequence[str], amount: Amount) -> tuple[int, float, float]:
    """How many, and how many a second were accepted and decided, from 16 connections to each web server."""
    began, before = time.perf_counter(), _rows(service, "journeys_trigger")
    with ThreadPoolExecutor(len(bases)) as pool:
        seen = pool.map(lambda base: single.trigger(replace(service, base=base), seconds=amount.seconds), bases)
        accepted = sum(load.per_second for load in seen)
    service.settle()
    number = _rows(service, "journeys_trigger") - before
    return number, accepted, number / (time.perf_counter() - began)


def _large_calls(service: Service) -> tuple[int, float]:
    """How many customers, and how many a second were decided."""
    began = time.perf_counter()
    for number in range(_CALLS):
        service.trigger({"external_ids": ids_of_call(number)})
    service.settle()
    return _CALLS * 1000, _CALLS * 1000 / (time.perf_counter() - began)


def _events(service: Service, amount: Amount) -> int:
    before = _rows(service, "bridge_interaction")
    act(service, "track_event", seconds=amount.seconds)
    return _rows(service, "bridge_interaction") - before


def _walked(service: Service, amount: Amount) -> dict[str, _Cost]:
    """Steps without a network, and webhooks: of customers who have all waited for the same moment."""
    with running_receiver() as port:
        hook = {"id": "call", "type": "webhook", "url": f"http://127.0.0.1:{port}/", "body": {"n": 1}}
        journeys = {"step": (_STEPS, amount.walked), "webhook": ([_STEPS[0], hook], amount.sent)}
        seeded = {kind: _ready(service, kind, *journey) for kind, journey in journeys.items()}
        return {
            **_cost(service, lambda: _walk(service, seeded["step"]) * _WALKED, step=["walk"]),
            **_cost(service, lambda: _walk(service, seeded["webhook"]), webhook=["walk", "webhooks"]),
        }


def _ready(service: Service, kind: str, steps: list[dict[str, Any]], customers: int) -> str:
    """The id of a journey in which so many wait for the end of their day."""
    seeded = service.seed(
        {
            "workspace": {"key": kind, "name": kind},
            "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
            "segments": [{"key": "all", "name": "All", "conditions": EVERYBODY}],
            "journeys": [{"key": "walk", "name": "Walk", "trigger": "api", "steps": steps}],
        },
        customers=customers,
    )
    journey = str(seeded["journeys"]["walk"])
    fill(service, seeded, journey)
    return journey


def _walk(service: Service, journey: str) -> int:
    """How many went on to the end."""
    due = "UPDATE journeys_enrollment SET due_at = now() WHERE journey_id = %s AND state = 'active'"
    number = service.connection.execute(due, [journey]).rowcount
    inside = "SELECT FROM journeys_enrollment WHERE journey_id = %s AND state = 'active' LIMIT 1"
    wait_until(lambda: not service.connection.execute(inside, [journey]).rowcount, what="all to end", seconds=180)
    return number


def _rates(service: Service, bases: Sequence[str], amount: Amount) -> dict[str, int]:
    _warm(service, bases)
    _, accepted, decided = _triggers(service, bases, amount)
    _, large = _large_calls(service)
    return {"triggers": round(accepted), "decisions": round(decided), "customers of large calls": round(large)}


def _taken(service: Service, tables: Sequence[str]) -> tuple[int, int]:
    """The tables' bytes, and the rows of the first one."""
    for table in tables:
        service.connection.execute(f"VACUUM {table}".encode())
    return sum(_size(service, table) for table in tables), _rows(service, tables[0])


def _size(service: Service, table: str) -> int:
    return int(service.one("SELECT pg_total_relation_size(%(table)s::regclass)", {"table": table}))


def _rows(service: Service, table: str) -> int:
    return int(service.one(f"SELECT count(*) FROM {table}"))


def machine_of(service: Service) -> str:
    """In words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    postgresql = str(service.one("SHOW server_version")).split()[0]
    return (
        f"{os.cpu_count()} cores ({(models or [platform.machine()])[0]}), {memory / 2**30:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}, PostgreSQL {postgresql}, with everything and the "
        "load on it"
    )


if __name__ == "__main__":
    main()

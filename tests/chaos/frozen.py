"""Processes that freeze amid a transaction: for PostgreSQL they are there, and so are the locks that they hold.

Chance would rarely meet a transaction, as each is short. So the first process of the lane that wants to write into a
certain table is made to wait there, and frozen while it waits; then its statement ends, and its transaction does not.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

import psycopg

from tests.chaos.faults import Deed, Fault, fault
from tests.chaos.plan import TENANTS, Kind, Planned
from tests.chaos.scenario import PROMPT, Chance, Finding, Scenario, Trial
from tests.chaos.servers import PATIENCE_SECONDS, ports_of
from tests.chaos.service import Service
from tests.support.waiting import wait_until

# What each lane writes into amid its transaction, and not with the claim before it.
_WRITTEN: Mapping[str, str] = {
    "worker": "journeys_enrollment",
    "bulk": "journeys_enrollment",
    "walk": "journeys_steprun",
    "webhooks": "journeys_webhookattempt",
}
_LONGEST_WAIT = 1.0  # less than PostgreSQL lets anybody wait
_WAITING = "SELECT client_port FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
_STATE = "SELECT count(*) FROM pg_stat_activity WHERE client_port = ANY(%s) AND state = 'idle in transaction'"
# So long PostgreSQL lets a session be idle amid a transaction; a call that waits for its locks is answered 503.
_LOCKED_SECONDS = 5.5
_THAWED_SECONDS = 1.0


def freeze_amid_transaction(lane: str) -> Deed:
    """Stops one process of the lane, which stays so."""

    def do(service: Service) -> None:
        wait_until(lambda: _freeze_one(service, lane), what=f"a transaction of {lane}", seconds=PATIENCE_SECONDS)

    return do


def _freeze_one(service: Service, lane: str) -> bool:
    """Whether one was frozen."""
    pids = [pid for member in service.fleet.of_kind(lane) for pid in member.pids()]
    with _kept_waiting(service, _WRITTEN[lane]) as holder:
        until, found = time.monotonic() + _LONGEST_WAIT, None
        while found is None and time.monotonic() < until:
            waiting = {port for (port,) in service.ask(_WAITING, holder)}
            found = next((pid for pid in pids if waiting & ports_of(pid)), None)
        if found is None:
            return False
        os.kill(found, signal.SIGSTOP)
    service.is_away("postgresql", seconds=_LOCKED_SECONDS)
    wait_until(lambda: service.count(_STATE, list(ports_of(found))) > 0, what="the end of its statement")
    return True


@contextmanager
def _kept_waiting(service: Service, table: str) -> Iterator[int]:
    """All who want to write into the table wait until the end of the block for this process of PostgreSQL."""
    with psycopg.connect(service.database_url) as connection:
        connection.execute(f"LOCK TABLE {table} IN SHARE MODE")
        yield connection.info.backend_pid


def thaw(service: Service) -> None:
    """Whoever was frozen goes on, and finds that others have done its work."""
    for member in service.fleet.members.values():
        for pid in member.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    time.sleep(_THAWED_SECONDS)


def _calls_of(lane: str, seed: str, chance: Chance) -> list[Planned]:
    """Work for the lane, whatever else is called."""
    kind: Kind = "bulk" if lane == "bulk" else "single"
    journey = "notify" if lane in {"walk", "webhooks"} else "always_at_once"
    return [
        Planned(
            name=f"{seed}-{tenant}-{n}", at=1 + n / 4, kind=kind, tenant=tenant, journey=journey,
            customers=tuple(f"c-{number}" for number in chance.sample(range(300), 30 if kind == "bulk" else 1)),
            words={"coupon": n},
        )
        for n in range(8) for tenant in TENANTS
    ]  # fmt: skip


def _frozen(lane: str, chance: Chance) -> list[Fault]:
    words = f"a process of {lane} frozen amid a transaction"
    return [fault(chance.uniform(1, 2), words, freeze_amid_transaction(lane))]


_LATE = """
SELECT count(*), count(*) FILTER (WHERE attempt.at > run.began_at + interval '10 seconds')
FROM journeys_webhookattempt attempt JOIN journeys_webhookdelivery delivery ON delivery.id = attempt.delivery_id
JOIN journeys_steprun run ON run.enrollment_id = delivery.enrollment_id AND run.ordinal = delivery.ordinal
JOIN journeys_enrollment entry ON entry.id = delivery.enrollment_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
WHERE trigger.request_id LIKE %s
"""


def _others_are_sent(service: Service, trial: Trial) -> Iterator[str]:
    """What a sender has claimed is nobody else's for half a minute. All else is sent meanwhile."""
    number, late = service.ask(_LATE, f"{trial.seed}-%")[0]
    if not number or late > number / 5:
        yield f"{late} of {number} webhooks were more than ten seconds late"


def _scenario(lane: str, *, rest_seconds: float = 10, findings: Sequence[Finding] = ()) -> Scenario:
    return Scenario(
        name=f"frozen-{lane}", load=4, journeys=PROMPT, faults=partial(_frozen, lane), beside=partial(_calls_of, lane),
        unpooled=True, rest_seconds=rest_seconds, afterwards=thaw, findings=findings,
    )  # fmt: skip


FROZEN: Sequence[Scenario] = (
    _scenario("worker"),
    _scenario("bulk"),
    _scenario("walk"),
    _scenario("webhooks", rest_seconds=40, findings=[_others_are_sent]),
)

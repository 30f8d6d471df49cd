"""Processes on another machine, which is cut off, or whose connections are lost without a word.

A machine without power and a router that forgets a connection say nothing to the other end: no socket is closed.
"""

import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from tests.chaos.faults import Fault, fault
from tests.chaos.findings import each_answered_within, each_decided_within
from tests.chaos.fleet import LANES, LOOPBACK, Member
from tests.chaos.machine import Machine
from tests.chaos.scenario import Chance, Scenario
from tests.chaos.service import Service
from tests.support.waiting import wait_until

_BACK_SECONDS = 10.0
_LOCKED_SECONDS = 5.5  # until PostgreSQL ends a session that is idle amid a transaction
_LEASE_SECONDS = 30.0  # of webhooks that the machine had claimed
_UNDER_WAY_SECONDS = 0.05  # until what was sent before the cut has arrived
_AMID_TRANSACTION = """
SELECT count(*) FROM pg_stat_activity
WHERE client_addr = %s AND state = 'idle in transaction' AND backend_xid IS NOT NULL
"""


def _start_there(service: Service, member: Member) -> None:
    machine = _machine(service)
    member.start(
        machine.command(member.command),
        **{name: member.environment[name].replace(LOOPBACK, machine.here) for name in ("DATABASE_URL", "REDIS_URL")},
        HOST=machine.there,
        ALLOWED_HOSTS=machine.there,
    )


def half_of_the_workers_there(service: Service) -> None:
    """One of two of each lane is on the other machine."""
    service.fleet.start()
    for lane in LANES:
        member = service.fleet[f"{lane}-2"]
        member.kill()
        _start_there(service, member)
    wait_until(lambda: service.listening() >= service.fleet.workers, what="the workers")


def all_there(service: Service) -> None:
    """Nothing runs but one process of each kind, on the other machine."""
    service.start_alone(lambda member: _start_there(service, member))


def cut_off(service: Service) -> None:
    """The machine is away for good, amid a transaction that holds locks."""
    machine = _machine(service)

    def amid_transaction() -> bool:
        machine.cut_off()
        time.sleep(_UNDER_WAY_SECONDS)
        if service.count(_AMID_TRANSACTION, machine.there):
            return True
        machine.mend()
        return False

    wait_until(amid_transaction, what="a transaction there")
    service.is_away("postgresql", seconds=_LOCKED_SECONDS)  # for calls about customers that it had locked


def lose_connections(service: Service) -> None:
    """Their packets are lost, those of new connections are not."""
    urls = (service.fleet["web-2"].environment[name] for name in ("DATABASE_URL", "REDIS_URL"))
    if not _machine(service).lose_connections(*(urlsplit(url).port or 0 for url in urls)):
        raise ValueError("There are no connections.")
    service.is_away("postgresql", seconds=_BACK_SECONDS)


def mend(service: Service) -> None:
    """The link is there again: whoever was cut off goes on, and finds that others have done its work."""
    _machine(service).mend()
    time.sleep(1.0)


def _machine(service: Service) -> Machine:
    if service.machine is None:
        raise ValueError("There is no other machine.")
    return service.machine


def _cut_off(chance: Chance) -> list[Fault]:
    return [fault(chance.uniform(1, 2), "a machine with half of the workers cut off amid a transaction", cut_off)]


def _lost(chance: Chance) -> list[Fault]:
    return [fault(chance.uniform(1, 2), "all connections to PostgreSQL and Redis lost", lose_connections)]


ELSEWHERE: Sequence[Scenario] = (
    Scenario(
        name="machine-cut-off", load=5, faults=_cut_off, elsewhere=True, unpooled=True, start=half_of_the_workers_there,
        decided_within=_BACK_SECONDS, rest_seconds=_LEASE_SECONDS + _BACK_SECONDS, afterwards=mend,
    ),
    Scenario(
        name="connections-lost", load=15, faults=_lost, elsewhere=True, start=all_there,
        decided_within=_BACK_SECONDS, rest_seconds=_BACK_SECONDS,
        findings=(each_decided_within(_BACK_SECONDS), each_answered_within(_BACK_SECONDS)), afterwards=mend,
    ),
)  # fmt: skip

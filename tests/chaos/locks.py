"""Locks that somebody else holds: of a table, of a customer, and of an old state of all that is deleted."""

import time
from collections.abc import Iterator, Sequence

import psycopg

from tests.chaos.faults import Deed, Fault, fault
from tests.chaos.plan import Kind, Planned
from tests.chaos.scenario import PROMPT, Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import CUSTOMERS

# Table ----------------------------------------------------------------------------------------------------------------

_LOCKED_TABLES = ("customers_customer", "journeys_enrollmentjob", "journeys_enrollment")
_LOCKED_SECONDS = 5
# Two seconds for a lock, and as much again for whoever came before: so many calls need a lock that the threads can
# give each of them its two seconds.
_ANSWERED_SECONDS = 6.0
_PROBED_SECONDS = {"/livez": 1.0, "/metrics": 4.0}  # metrics are read from tables


def lock_table(table: str, seconds: float) -> Deed:
    """As a change of the schema would that takes a while."""

    def do(service: Service) -> None:
        with service.away("postgresql"), psycopg.connect(service.database_url) as connection:
            connection.execute("SET LOCAL lock_timeout = 0")
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            connection.execute("SELECT pg_sleep(%s)", [seconds])

    return do


def _tables_locked(chance: Chance) -> list[Fault]:
    return [
        fault(
            place * (_LOCKED_SECONDS + 1) + chance.uniform(0.5, 1), f"{table} locked for {_LOCKED_SECONDS} s",
            lock_table(table, _LOCKED_SECONDS),
        )
        for place, table in enumerate(chance.sample(_LOCKED_TABLES, 2))
    ]  # fmt: skip


def probes_answer(service: Service, trial: Trial) -> Iterator[str]:
    """The process is alive and says so, whatever its calls wait for."""
    for path, most in _PROBED_SECONDS.items():
        asked = [probe for probe in trial.probes if probe.path == path]
        bad = [probe for probe in asked if probe.status != 200 or probe.seconds > most]
        if bad or not asked:
            longest = max((probe.seconds for probe in bad), default=0)
            yield f"{len(bad)} of {len(asked)} answers of {path} were bad or late, one after {longest:.1f} s"


def _calls_are_answered(service: Service, trial: Trial) -> Iterator[str]:
    slow = [sending for sending in trial.sendings if sending.seconds > _ANSWERED_SECONDS]
    if slow:
        longest = max(sending.seconds for sending in slow)
        yield f"{len(slow)} calls waited for more than {_ANSWERED_SECONDS:.0f} s, one for {longest:.1f} s"
    if not any(sending.status == 503 for sending in trial.sendings):
        yield "no call was answered 503"


# Customer -------------------------------------------------------------------------------------------------------------

_TENANT, _LOCKED = "north", f"c-{CUSTOMERS - 1}"
_HELD_SECONDS = 8
_OTHERS_SECONDS = 4.5  # calls for the customer may hold all threads for two seconds, and then others of them again
_OTHERS_DECIDED_SECONDS = 5.0
_LOCK_CUSTOMER = """
SELECT pg_sleep(%s) FROM (
    SELECT FROM customers_customer WHERE workspace_id = %s AND external_id = %s FOR UPDATE
) AS customer
"""


def lock_customer(service: Service) -> None:
    with service.away("postgresql"):
        service.ask(_LOCK_CUSTOMER, _HELD_SECONDS, service.tenants[_TENANT].workspace, _LOCKED)


def _customer_locked(chance: Chance) -> list[Fault]:
    return [fault(chance.uniform(0.5, 1), f"{_LOCKED} of {_TENANT} locked for {_HELD_SECONDS} s", lock_customer)]


def _calls_for_the_locked_one(seed: str, chance: Chance) -> list[Planned]:
    """Four calls of the bridge at once, as many as there are threads, and triggers."""
    kinds: list[Kind] = ["profile", "profile", "profile", "profile", "single", "single", "single", "single"]
    return [
        Planned(
            name=f"{seed}-locked-{n}", at=2, kind=kind, tenant=_TENANT, journey="always_at_once", customers=(_LOCKED,),
            words={"coupon": n},
        )
        for n, kind in enumerate(kinds)
    ]  # fmt: skip


_LATE = """
SELECT count(*), coalesce(max(extract(epoch FROM job.decided_at - trigger.queued_at)), 0)::float
FROM journeys_enrollmentjob job JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
JOIN customers_customer customer ON customer.id = job.customer_id
WHERE trigger.request_id LIKE %s AND job.decided_at > trigger.queued_at + %s * interval '1 second'
  AND (customer.external_id, job.workspace_id) <> (%s, %s)
"""


def _others_go_on(service: Service, trial: Trial) -> Iterator[str]:
    others = [sending for sending in trial.sendings if not _names_the_locked_one(sending.call)]
    bad = [sending for sending in others if sending.status == 503 or sending.seconds > _OTHERS_SECONDS]
    for sending in bad[:3]:
        yield f"{sending.call.kind} {sending.call.name} was answered {sending.status} after {sending.seconds:.1f} s"
    workspace = service.tenants[_TENANT].workspace
    number, longest = service.ask(_LATE, f"{trial.seed}-%", _OTHERS_DECIDED_SECONDS, _LOCKED, workspace)[0]
    if number:
        yield f"{number} jobs of others were decided late, one after {longest:.1f} s"


def _names_the_locked_one(call: Planned) -> bool:
    return call.tenant == _TENANT and _LOCKED in call.customers


# A state of long ago --------------------------------------------------------------------------------------------------

_IDLE_SECONDS = 8.0
_LONGEST_IDLE = 6.5  # PostgreSQL ends such a session after five
_LONGEST_WORK = 2.0
_OLDEST_STATE = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8
FROM pg_stat_activity WHERE backend_xmin IS NOT NULL
"""
_LIVES = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"


def hold_an_old_state(service: Service) -> None:
    """A session that is idle amid a transaction, and sees what there was: nothing newer can be tidied up meanwhile."""
    with psycopg.connect(service.database_url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM journeys_chunk")
        time.sleep(_LONGEST_IDLE)
        if service.count(_LIVES, connection.info.backend_pid):
            service.complaints.append(f"A session was idle amid a transaction for {_LONGEST_IDLE:g} s")
        time.sleep(_IDLE_SECONDS - _LONGEST_IDLE)
        ((oldest,),) = service.ask(_OLDEST_STATE)
        if oldest > _LONGEST_WORK:
            service.complaints.append(f"No row that died in the last {oldest:.1f} s could be tidied up")
        connection.close()


LOCKS: Sequence[Scenario] = (
    Scenario(
        name="table-locked", load=12, per_second=3, faults=_tables_locked, rest_seconds=10, journeys=PROMPT,
        findings=(probes_answer, _calls_are_answered),
    ),
    Scenario(
        name="customer-locked", load=9, per_second=10, faults=_customer_locked, rest_seconds=10, journeys=PROMPT,
        beside=_calls_for_the_locked_one, findings=(probes_answer, _others_go_on),
    ),
    Scenario(
        name="idle-transaction", load=10, per_second=30, rest_seconds=30,
        faults=lambda chance: [fault(chance.uniform(0.5, 1), "a session idle amid a transaction", hold_an_old_state)],
    ),
)  # fmt: skip

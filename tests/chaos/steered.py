"""What steering must not depend on: a host that is left alone, and others who have locked customers."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from tests.chaos.faults import Fault, fault
from tests.chaos.load import exchange
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import Tenant

_TENANT, _JOURNEY = "north", "notify"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to an act, and how long it took."""

    act: str
    seconds: float
    data: dict[str, object]


# Of the latest trial.
_answers: list[Answer] = []
_marks: dict[str, float] = {}  # moments, by the receiver's clock


def _forget(service: Service) -> None:
    _answers.clear()
    _marks.clear()


def _steer(service: Service, act: str, **body: object) -> None:
    tenant: Tenant = service.tenants[_TENANT]
    path = f"/api/v1/journeys/{tenant.workspace}/{tenant.journeys[_JOURNEY]}/{act}"
    headers = {"Authorization": f"Bearer {tenant.key}", "Content-Type": "application/json"}
    began = time.monotonic()
    status, said = exchange(service.load.webs[0], "POST", path, headers, json.dumps(body).encode())
    if status != 200:
        service.complaints.append(f"{act} was answered {status}")
        return
    _answers.append(Answer(act=act, seconds=time.monotonic() - began, data=json.loads(said)["data"]))


# A paced resumption behind an open circuit ----------------------------------------------------------------------------

_PER_MINUTE = 60
_AT_PACE_SECONDS = 12.0
_UNDER_WAY_SECONDS = 3.0  # a request that was sent before the circuit opened may succeed, which closes it
_OPEN = """
INSERT INTO journeys_webhookhost (workspace_id, host, failures, failing_since, open_until)
SELECT DISTINCT workspace_id, host, 10, now(), now() + interval '1 hour' FROM journeys_webhookdelivery
WHERE workspace_id = %s
ON CONFLICT (workspace_id, host)
DO UPDATE SET failures = EXCLUDED.failures, failing_since = now(), open_until = EXCLUDED.open_until RETURNING 1
"""
_CLOSE = """
UPDATE journeys_webhookhost SET failures = 0, failing_since = NULL, open_until = NULL
WHERE open_until IS NOT NULL RETURNING 1
"""


def _open_circuits(service: Service) -> None:
    until = time.monotonic() + _UNDER_WAY_SECONDS
    while time.monotonic() < until:
        service.ask(_OPEN, service.tenants[_TENANT].workspace)
        time.sleep(0.2)


def _close_circuits(service: Service) -> None:
    if not service.ask(_CLOSE):
        service.complaints.append("no circuit was open any more")
    _marks["closed"] = _now(service)


def _resume_at_once(service: Service) -> None:
    _marks["at once"] = _now(service)
    _steer(service, "resume")


def _now(service: Service) -> float:
    return float(service.ask("SELECT extract(epoch FROM clock_timestamp())::float8")[0][0])


_ATTEMPTS = """
SELECT count(*) FROM journeys_webhookattempt attempt
JOIN journeys_webhookdelivery delivery ON delivery.id = attempt.delivery_id
JOIN journeys_enrollment entry ON entry.id = delivery.enrollment_id
JOIN journeys_steprun run ON run.enrollment_id = entry.id AND run.ordinal = delivery.ordinal
WHERE entry.journey_id = %s AND run.began_at < to_timestamp(%s)
  AND attempt.at > to_timestamp(%s) AND attempt.at < to_timestamp(%s)
"""


def _the_pace_is_kept(service: Service, trial: Trial) -> Iterator[str]:
    journey = service.tenants[_TENANT].journeys[_JOURNEY]
    closed, ended = _marks["closed"], _marks["at once"]
    went = service.count(_ATTEMPTS, journey, _marks["resumed"], closed, ended)
    most = _PER_MINUTE / 60 * (ended - closed + _AT_PACE_SECONDS)
    if not 0 < went <= most:
        yield f"{went} webhooks went in {ended - closed:.1f} s after the circuits had closed, of {most:.0f} at most"


def _resume_at_a_pace(service: Service) -> None:
    _marks["resumed"] = _now(service)
    _steer(service, "resume", perMinute=_PER_MINUTE)


def _paced(chance: Chance) -> list[Fault]:
    return [
        fault(2, "the circuits of all hosts open", _open_circuits),
        fault(9, f"{_JOURNEY} held", lambda service: _steer(service, "hold")),
        fault(10, f"resumed at {_PER_MINUTE} per minute", _resume_at_a_pace),
        fault(chance.uniform(22, 24), "the circuits close", _close_circuits),
        fault(36, "resumed at once", _resume_at_once),
    ]


# A foreign transaction beside hold and abort --------------------------------------------------------------------------

_LOCKED_SECONDS = 10
_ANSWERED_SECONDS = 5.0
_OTHERS_SECONDS = 3.0
_LOCK = "SELECT id FROM customers_customer WHERE workspace_id = %s ORDER BY id OFFSET %s LIMIT 20 FOR UPDATE"


def _steer_beside_an_import(service: Service) -> None:
    """Somebody has locked customers of both tenants for longer than anybody who steers waits."""
    with service.away("postgresql"), psycopg.connect(service.database_url) as foreign:
        foreign.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for tenant in service.tenants.values():
            foreign.execute(_LOCK, [tenant.workspace, 200])
        until = time.monotonic() + _LOCKED_SECONDS
        _steer(service, "hold")
        _steer(service, "resume")
        _steer(service, "abort", reason="The offer has ended.")
        time.sleep(max(0.0, until - time.monotonic()))
        foreign.rollback()
    time.sleep(_OTHERS_SECONDS)
    _steer(service, "activate")


def _steering_is_answered(service: Service, trial: Trial) -> Iterator[str]:
    for answer in _answers:
        if answer.seconds > _ANSWERED_SECONDS or answer.data["settled"] is not True:
            yield f"{answer.act} took {answer.seconds:.1f} s, settled: {answer.data['settled']}"
    if [answer.act for answer in _answers] != ["hold", "resume", "abort", "activate"]:
        yield f"only {', '.join(answer.act for answer in _answers)} were answered"


STEERED: Sequence[Scenario] = (
    Scenario(
        name="paced-behind-a-circuit", load=9, journeys=(_JOURNEY,), faults=_paced, before=_forget,
        findings=(_the_pace_is_kept,),
    ),
    Scenario(
        name="steered-beside-locks", load=6, journeys=("once",), before=_forget, findings=(_steering_is_answered,),
        faults=lambda chance: [fault(chance.uniform(1, 2), "others lock customers for 10 s", _steer_beside_an_import)],
    ),
)  # fmt: skip

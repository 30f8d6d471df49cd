"""Journeys are held and resumed while processes are killed: nothing begins meanwhile, and nothing is lost."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from tests.chaos import faults
from tests.chaos.faults import Deed, Fault, fault
from tests.chaos.load import exchange
from tests.chaos.plan import TENANTS
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import Tenant

_HELD = ("notify", "once")
_GRACE_SECONDS = 1.0
_PATIENCE_SECONDS = 20.0
_PER_MINUTE = 3000


@dataclass(frozen=True, kw_only=True)
class Window:
    """From the answer to a hold until the resumption was asked for, by the database's clock."""

    journey_id: str
    answered: datetime
    asked: datetime


# Of the latest trial: the holds that are answered, and those that are over.
_answered: dict[str, datetime] = {}
_windows: list[Window] = []


def _forget(service: Service) -> None:
    _answered.clear()
    _windows.clear()


def _now(service: Service) -> datetime:
    now: datetime = service.ask("SELECT clock_timestamp()")[0][0]
    return now


def _steer(service: Service, tenant: Tenant, journey_id: str, act: str, body: Mapping[str, int]) -> None:
    """Asked until it is answered, as a person would: a web server may be killed meanwhile."""
    path = f"/api/v1/journeys/{tenant.workspace}/{journey_id}/{act}"
    headers = {"Authorization": f"Bearer {tenant.key}", "Content-Type": "application/json"}
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        for web in service.load.webs:
            status, _ = exchange(web, "POST", path, headers, json.dumps(body).encode())
            if status == 200:
                return
        time.sleep(0.1)
    service.complaints.append(f"{act} was not answered within {_PATIENCE_SECONDS:.0f} s")


def _all(service: Service) -> Iterator[tuple[Tenant, str]]:
    for name in TENANTS:
        tenant = service.tenants[name]
        for key in _HELD:
            yield tenant, tenant.journeys[key]


def _hold(service: Service) -> None:
    for tenant, journey_id in _all(service):
        _steer(service, tenant, journey_id, "hold", {})
        _answered[journey_id] = _now(service)


def _resume(body: Mapping[str, int]) -> Deed:
    def do(service: Service) -> None:
        for tenant, journey_id in _all(service):
            asked = _now(service)
            _steer(service, tenant, journey_id, "resume", body)
            _windows.append(Window(journey_id=journey_id, answered=_answered.pop(journey_id), asked=asked))

    return do


def _held_under_fire(chance: Chance) -> list[Fault]:
    """Two holds. Around each, processes are killed that walk, send and answer."""
    killed = {kind: chance.choice([1, 2]) for kind in ("walk", "webhooks")}
    groups, others = ([f"{kind}-{pick(number)}" for kind, number in killed.items()] for pick in (int, lambda n: 3 - n))
    web = f"web-{chance.choice([1, 2])}"
    return [
        *(
            fault(chance.uniform(1, 1.6), f"kill -9 of a pool child of {name}", faults.kill_child(name, place))
            for name in others
            for place in [chance.randrange(100)]
        ),
        fault(1.7, f"{' and '.join(_HELD)} held", _hold),
        *(fault(chance.uniform(2, 4), f"kill -9 of the group of {name}", faults.kill_group(name)) for name in groups),
        fault(6, "resumed at once", _resume({})),
        fault(8, "held again", _hold),
        fault(chance.uniform(8.2, 9), f"kill -9 of the group of {web}", faults.kill_web(web)),
        fault(11, f"resumed at {_PER_MINUTE} per minute", _resume({"perMinute": _PER_MINUTE})),
    ]


_BEGUN = """
SELECT (SELECT count(*) FROM journeys_steprun run JOIN journeys_enrollment entry ON entry.id = run.enrollment_id
        WHERE entry.journey_id = %s AND run.began_at > %s + %s * interval '1 second' AND run.began_at < %s),
       (SELECT count(*) FROM journeys_webhookattempt attempt
        JOIN journeys_webhookdelivery delivery ON delivery.id = attempt.delivery_id
        JOIN journeys_enrollment entry ON entry.id = delivery.enrollment_id
        WHERE entry.journey_id = %s AND attempt.at > %s + %s * interval '1 second' AND attempt.at < %s)
"""
_RELEASED = "SELECT coalesce(sum((numbers->>'released')::int), 0) FROM journeys_steeringact WHERE kind = 'resume'"
_LEFT = """
SELECT (SELECT count(*) FROM journeys_enrollment WHERE was_due_at IS NOT NULL),
       (SELECT count(*) FROM journeys_webhookdelivery WHERE state = 'held'),
       (SELECT count(*) FROM journeys_journey WHERE held_at IS NOT NULL)
"""


def _nothing_begins_while_held(service: Service, trial: Trial) -> Iterator[str]:
    if len(_windows) != 2 * len(_HELD) * len(TENANTS):
        yield f"{len(_windows)} holds were answered and over"
    for window in _windows:
        when = (window.journey_id, window.answered, _GRACE_SECONDS, window.asked)
        steps, attempts = service.ask(_BEGUN, *when, *when)[0]
        if steps or attempts:
            yield f"{steps} steps and {attempts} attempts began while {window.journey_id} was held"
    if not service.count(_RELEASED):
        yield "nobody became due while held"
    parked, held, journeys = service.ask(_LEFT)[0]
    if parked or held or journeys:
        yield f"{parked} enrollments, {held} webhooks and {journeys} journeys are held after all were resumed"


HELD = Scenario(
    name="held-and-killed", load=12, journeys=(*_HELD, "always_at_once"), faults=_held_under_fire, before=_forget,
    findings=(_nothing_begins_while_held,),
)  # fmt: skip

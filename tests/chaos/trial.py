"""One round of a scenario: load, faults, rest, and then the truth."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.chaos.faults import Fault
from tests.chaos.invariants import violations
from tests.chaos.plan import Planned, plan_load
from tests.chaos.probing import probing
from tests.chaos.scenario import Scenario, Trial
from tests.chaos.service import Service

_AWAY = "(SELECT id FROM journeys_journey WHERE key LIKE 'poison%%' OR key LIKE 'target%%')"
_QUEUED = "SELECT count(*) FROM journeys_enrollmentjob WHERE status = 'queued' AND journey_id NOT IN " + _AWAY
_WALKING = "SELECT count(*) FROM journeys_enrollment WHERE state = 'active' AND journey_id NOT IN " + _AWAY


@dataclass(frozen=True, kw_only=True)
class TrialPlan:
    """All that a seed decides."""

    seed: str
    calls: Sequence[Planned]
    faults: Sequence[Fault]

    def in_words(self) -> list[str]:
        return [f"at {fault.at:5.2f} s: {fault.words}" for fault in self.faults]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a trial came to. Seconds are counted from the last fault or call, whichever was later."""

    plan: TrialPlan
    calls: int
    unavailable: int  # answered 503
    lost: int  # not answered
    slowest: float  # answer, in seconds
    decided_after: float | None
    rested_after: float | None
    broken: Sequence[str]


def plan_trial(scenario: Scenario, *, seed: str, number: int) -> TrialPlan:
    """The round's calls and faults. The same seed and number give the same plan."""
    own = f"{seed}-{scenario.name}-{number}"
    chance = random.Random(own)
    calls = [
        *plan_load(seed=own, seconds=scenario.load, per_second=scenario.per_second, journeys=scenario.journeys),
        *scenario.beside(own, chance),
    ]
    return TrialPlan(
        seed=own,
        calls=sorted(calls, key=lambda call: call.at),
        faults=sorted(scenario.faults(chance), key=lambda fault: fault.at),
    )


def hold_trial(service: Service, scenario: Scenario, plan: TrialPlan) -> Finding:
    """Injects the faults under load, waits until everything rests, and looks at the whole system."""
    scenario.start(service)
    scenario.before(service)
    before, began = len(service.load.sendings), time.monotonic()
    with probing(service.load.webs) as probes:
        under_way = service.load.begin(plan.calls)
        for fault in plan.faults:
            time.sleep(max(0.0, began + fault.at - time.monotonic()))
            fault.do(service)
        under_way.result()
        over = time.monotonic()
    decided = _seconds_until(lambda: service.count(_QUEUED) == 0, over, within=scenario.decided_within)
    rested = _seconds_until(lambda: _rests(service, scenario, plan), over, within=scenario.rest_seconds)
    scenario.afterwards(service)
    sendings = service.load.sendings[before:]
    trial = Trial(seed=plan.seed, began=began, ended=time.monotonic(), sendings=sendings, probes=probes)
    found = [sentence for finding in scenario.findings for sentence in finding(service, trial)]
    broken = [*service.complaints, *found]
    service.complaints.clear()
    if decided is None:
        broken.append(f"{service.count(_QUEUED)} jobs were not decided within {scenario.decided_within:.0f} s")
    if rested is None:
        broken.append(
            f"{service.count(_WALKING)} enrollments did not come to their end within {scenario.rest_seconds:.0f} s"
        )
    return Finding(
        plan=plan,
        calls=len(sendings),
        unavailable=sum(sending.status == 503 for sending in sendings),
        lost=sum(sending.status <= 0 for sending in sendings),
        slowest=max((sending.seconds for sending in sendings), default=0.0),
        decided_after=decided,
        rested_after=rested,
        broken=[*broken, *violations(service)],
    )


def _rests(service: Service, scenario: Scenario, plan: TrialPlan) -> bool:
    return service.count(_QUEUED) == 0 and service.count(_WALKING) == 0 and scenario.rests(service, plan.seed)


def _seconds_until(condition: Callable[[], bool], since: float, *, within: float) -> float | None:
    """None where it did not come to hold."""
    while not condition():
        if time.monotonic() > since + within:
            return None
        time.sleep(0.2)
    return time.monotonic() - since

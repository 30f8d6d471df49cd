"""The rows of faults, and what has to hold while each is injected."""

import signal
from collections.abc import Iterator, Sequence
from functools import partial

from tests.chaos import faults
from tests.chaos.apart import APART_SCENARIOS
from tests.chaos.crowd import CROWDED
from tests.chaos.elsewhere import ELSEWHERE
from tests.chaos.failover import FAILOVER
from tests.chaos.faults import Fault, fault
from tests.chaos.findings import each_answered_within, healthy_webhooks_are_prompt, some_are_refused
from tests.chaos.fleet import LANES
from tests.chaos.frozen import FROZEN
from tests.chaos.garbage import GARBAGE
from tests.chaos.held import HELD
from tests.chaos.load import Sending
from tests.chaos.locks import LOCKS
from tests.chaos.merges import MERGES
from tests.chaos.mischief import (
    poison_calls,
    poison_is_given_up,
    poison_rests,
    schedule_was_followed,
    spoil,
    target_calls,
    targets_were_tried_twice,
)
from tests.chaos.plan import Planned
from tests.chaos.scenario import Chance, Finding, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.stalled import STALLED
from tests.chaos.steered import STEERED
from tests.chaos.tenants import BY_KEY, CUSTOMERS
from tests.chaos.upgrade import UPGRADE

HOUR = 3600


# Processes ------------------------------------------------------------------------------------------------------------


def _workers_killed(chance: Chance) -> list[Fault]:
    lanes = chance.sample(LANES, len(LANES))
    names = [f"{lane}-{chance.choice([1, 2])}" for lane in lanes]
    return [
        fault(place * 2 + chance.uniform(1, 3), f"kill -9 of the group of {name}", faults.kill_group(name))
        for place, name in enumerate(names)
    ]


def _children_killed(chance: Chance) -> list[Fault]:
    names = [f"{chance.choice(['worker', 'bulk', 'walk'])}-{chance.choice([1, 2])}" for _ in range(5)]
    return [
        fault(place * 1.4 + chance.uniform(0.5, 1.9), f"kill -9 of a pool child of {name}", deed)
        for place, name in enumerate(names)
        for deed in [faults.kill_child(name, chance.randrange(100))]
    ]


def _webs_killed(chance: Chance) -> list[Fault]:
    first = chance.choice([1, 2])
    return [
        fault(at + chance.uniform(0, 2), f"kill -9 of the group of web-{number}", faults.kill_web(f"web-{number}"))
        for at, number in ((1, first), (8, 3 - first))
    ]


def _clocks_off(chance: Chance) -> list[Fault]:
    ahead = chance.choice([1, 2])
    signs = {ahead: HOUR, 3 - ahead: -HOUR}
    return [
        fault(0, f"{lane}-{number}'s clock {seconds:+} s off", faults.put_clock_off(f"{lane}-{number}", seconds))
        for lane in LANES
        for number, seconds in signs.items()
    ]


# Redis and PostgreSQL -------------------------------------------------------------------------------------------------


def _redis_killed(chance: Chance) -> list[Fault]:
    seconds = round(chance.uniform(0.5, 3), 2)
    return [fault(chance.uniform(1, 4), f"Redis killed for {seconds} s", faults.kill_redis(seconds))]


def _redis_flushed(chance: Chance) -> list[Fault]:
    return [fault(n * 2 + chance.uniform(0.2, 2), "Redis flushed", faults.flush_redis) for n in range(3)]


def _redis_frozen(seconds: float, chance: Chance) -> list[Fault]:
    return [fault(chance.uniform(1, 2), f"Redis frozen for {seconds:g} s", faults.freeze_redis(seconds))]


def _redis_full(chance: Chance) -> list[Fault]:
    seconds = round(chance.uniform(3, 6), 2)
    return [fault(chance.uniform(1, 2), f"Redis full for {seconds} s", faults.fill_redis(seconds))]


def _redis_demoted(chance: Chance) -> list[Fault]:
    seconds = round(chance.uniform(3, 6), 2)
    return [fault(chance.uniform(1, 2), f"Redis a replica for {seconds} s", faults.demote_redis(seconds))]


def _postgresql_restarted(number: signal.Signals, chance: Chance) -> list[Fault]:
    words = "fast" if number is signal.SIGINT else "immediate"
    return [
        fault(at + chance.uniform(0, 1.5), f"PostgreSQL restarted ({words})", faults.restart_postgresql(number, away))
        for at in (1, 6)
        for away in [round(chance.uniform(0, 1.5), 2)]
    ]


def _backends_terminated(chance: Chance) -> list[Fault]:
    words = "every backend terminated"
    return [fault(n * 2 + chance.uniform(0.2, 2), words, faults.terminate_backends) for n in range(3)]


def _postgresql_frozen(chance: Chance) -> list[Fault]:
    return [fault(chance.uniform(1, 2), "PostgreSQL frozen for 10 s", faults.freeze_postgresql(10))]


def _used_up(chance: Chance) -> list[Fault]:
    words = "every connection that PostgreSQL takes is in use by others for 4 s"
    return [fault(chance.uniform(1, 2), words, faults.use_up_connections(4))]


# What has to hold in addition -----------------------------------------------------------------------------------------


def _served_without_redis(service: Service, trial: Trial) -> Iterator[str]:
    """2xx within a second, whatever Redis does."""
    slow = [sending for sending in _during(service, "redis", trial) if sending.seconds > 1.0]
    for sending in slow[:3]:
        yield f"{sending.call.kind} {sending.call.name} took {sending.seconds:.2f} s while Redis was away"


def _during(service: Service, what: str, trial: Trial) -> list[Sending]:
    outages = [outage for outage in service.outages if outage.what == what]
    return [
        sending
        for sending in trial.sendings
        if any(outage.began <= sending.began <= outage.ended for outage in outages)
    ]


def _poison(service: Service, trial: Trial) -> Iterator[str]:
    return poison_is_given_up(service, trial.seed)


def _targets(service: Service, trial: Trial) -> Iterator[str]:
    yield from schedule_was_followed(service, trial.seed)
    if any("/secret" in request.path for request in service.receiver.arrived):
        yield "a redirect was followed"
    yield from healthy_webhooks_are_prompt(service, trial)


_WAITS = """
SELECT run.step_id, journey.key, extract(epoch FROM run.ended_at - run.began_at)::float
FROM journeys_steprun run
JOIN journeys_enrollment entry ON entry.id = run.enrollment_id
JOIN journeys_journey journey ON journey.id = entry.journey_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
WHERE run.type = 'delay' AND run.state = 'done' AND trigger.request_id LIKE %s
"""
_OFF = """
SELECT count(*), max(abs(extract(epoch FROM attempt.at - run.began_at)))::float
FROM journeys_webhookattempt attempt JOIN journeys_webhookdelivery delivery ON delivery.id = attempt.delivery_id
JOIN journeys_steprun run ON run.enrollment_id = delivery.enrollment_id AND run.ordinal = delivery.ordinal
WHERE delivery.url LIKE '%%/ok' AND abs(extract(epoch FROM attempt.at - run.began_at)) > 1000
"""


def _database_clock_decides(service: Service, trial: Trial) -> Iterator[str]:
    """Delays are as long as they are written, and attempts are recorded when they were made."""
    waits = service.ask(_WAITS, f"{trial.seed}-%")
    if not waits:
        yield "nobody waited"
    for step, key, seconds in waits:
        written = BY_KEY[key].seconds_of(step)
        if not written <= seconds <= written + 15:
            yield f"{step} of {key} took {seconds:.1f} s"
    number, most = service.ask(_OFF)[0]
    if number:
        yield f"{number} attempts are recorded up to {most:.0f} s beside their time"
    off = [
        request for request in service.receiver.arrived
        if abs(request.at - float(request.headers.get("webhook-timestamp", 0))) > 60
    ]  # fmt: skip
    if off:
        yield f"{len(off)} webhooks were signed with a time that is off"


def _first(chance: Chance, number: int) -> int:
    return chance.randrange(CUSTOMERS - number)


def _poison_calls(seed: str, chance: Chance) -> list[Planned]:
    return poison_calls(seed=seed, first=_first(chance, 10), at=1.0)


def _target_calls(seed: str, chance: Chance) -> list[Planned]:
    return target_calls(seed=seed, first=_first(chance, 10), at=1.0)


WITHOUT_REDIS: Sequence[Finding] = (_served_without_redis,)
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="worker-killed", load=10, faults=_workers_killed),
        Scenario(name="child-killed", load=9, faults=_children_killed),
        Scenario(name="web-killed", load=14, faults=_webs_killed),
        Scenario(name="redis-killed", load=9, faults=_redis_killed, findings=WITHOUT_REDIS),
        Scenario(name="redis-flushed", load=8, faults=_redis_flushed),
        *(
            Scenario(
                name=f"redis-frozen-{seconds}", load=seconds + 5, per_second=20 if seconds < 60 else 8,
                faults=partial(_redis_frozen, float(seconds)), findings=WITHOUT_REDIS,
            )
            for seconds in (2, 12, 60)
        ),
        Scenario(name="redis-full", load=10, faults=_redis_full, findings=WITHOUT_REDIS),
        Scenario(name="redis-demoted", load=10, faults=_redis_demoted, findings=WITHOUT_REDIS),
        Scenario(name="postgresql-fast", load=11, faults=partial(_postgresql_restarted, signal.SIGINT)),
        Scenario(name="postgresql-immediate", load=11, faults=partial(_postgresql_restarted, signal.SIGQUIT)),
        Scenario(name="postgresql-terminated", load=8, faults=_backends_terminated),
        Scenario(
            name="postgresql-frozen", load=15, faults=_postgresql_frozen,
            findings=(each_answered_within(6, with_pooler=16),),
        ),
        Scenario(
            name="poison", load=10, beside=_poison_calls, rests=poison_rests, findings=(_poison,),
            faults=lambda chance: [fault(0, "poison in journeys", spoil)],
        ),
        Scenario(
            name="webhook-targets", load=12, beside=_target_calls, rests=targets_were_tried_twice, findings=(_targets,),
            faults=lambda chance: [],
        ),
        Scenario(name="clock-off", load=16, faults=_clocks_off, findings=(_database_clock_decides,)),
        *APART_SCENARIOS,
        *FROZEN,
        *LOCKS,
        GARBAGE,
        STALLED,
        CROWDED,
        MERGES,
        HELD,
        *STEERED,
        Scenario(name="connections-used-up", load=9, faults=_used_up, rest_seconds=10, findings=(some_are_refused,)),
        FAILOVER,
        UPGRADE,
        *ELSEWHERE,
    )
}  # fmt: skip

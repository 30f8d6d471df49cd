"""Journeys that are there to fail, what is done to make them so, and what must become of who enters them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.chaos.plan import TENANTS, Planned
from tests.chaos.service import Service
from tests.chaos.tenants import Course, webhook

_SHORT = {"id": "short", "type": "delay", "for": "PT0.1S"}
_LOOPS = "{% for a in (1..9999) %}{% for b in (1..9999) %}{{ a }}{% endfor %}{% endfor %}"
_GROWING = "{{ 'x' | " + " | ".join(["append: enrollment.id"] * 3) + " }}"
POISONED = 3  # customers of each workspace who enter each of them

POISON = (
    Course(key="poison_condition", rule="once", conditions={"field": "customer.plan", "op": "eq", "value": "pro"}),
    Course(key="poison_row", rule="once"),
    Course(key="poison_step", rule="once", steps=[_SHORT]),
    Course(
        key="poison_render",
        rule="once",
        steps=[{"id": "bomb", "type": "update_profile", "attributes": {"bomb": _LOOPS + _GROWING}}],
    ),
    Course(key="poison_exit", rule="once", steps=[_SHORT]),
    Course(key="poison_memory", rule="once", steps=[_SHORT]),
)
_STEPS: Mapping[str, str] = {
    "poison_step": '[{"id": "short", "type": "delay", "for": "a while"}]',
    "poison_exit": '[{"id": "short", "type": "exits_child"}]',
    "poison_memory": '[{"id": "short", "type": "eats_memory"}]',
}
_RAISING = """
CREATE OR REPLACE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$;
DROP TRIGGER IF EXISTS poison ON journeys_enrollment;
CREATE TRIGGER poison BEFORE INSERT ON journeys_enrollment FOR EACH ROW WHEN (NEW.journey_id IN ({}))
EXECUTE FUNCTION poison()
"""


def spoil(service: Service) -> None:
    """Writes into the journeys what nobody could save."""
    service.ask("UPDATE journeys_journey SET entry_conditions = '{\"bogus\": 1}' WHERE key = 'poison_condition'")
    for key, steps in _STEPS.items():
        service.ask(
            "UPDATE journeys_journeyrevision SET steps = %s WHERE journey_id IN "
            "(SELECT id FROM journeys_journey WHERE key = %s)",
            steps, key,
        )  # fmt: skip
    journeys = ", ".join(f"'{tenant.journeys['poison_row']}'" for tenant in service.tenants.values())
    service.ask(_RAISING.format(journeys))


def poison_calls(*, seed: str, first: int, at: float) -> list[Planned]:
    """A few customers for each of the journeys; `first` is the number of the first of them."""
    return [
        Planned(
            name=f"{seed}-{course.key}-{tenant}-{n}", at=at, kind="single", tenant=tenant, journey=course.key,
            customers=(f"c-{first + n}",), words={"coupon": n},
        )
        for course in POISON for tenant in TENANTS for n in range(POISONED)
    ]  # fmt: skip


_FATES = """
SELECT journey.key, job.status, job.reason, coalesce(entry.state, ''), coalesce(entry.exit_reason, ''),
       coalesce((SELECT string_agg(run.state || ': ' || run.detail, ' | ' ORDER BY ordinal) FROM journeys_steprun run
                 WHERE run.enrollment_id = entry.id), '')
FROM journeys_enrollmentjob job JOIN journeys_journey journey ON journey.id = job.journey_id
LEFT JOIN journeys_enrollment entry ON entry.job_id = job.id
WHERE journey.key LIKE 'poison%%' AND job.trigger_id IN (SELECT id FROM journeys_trigger WHERE request_id LIKE %s)
"""
_GIVEN_UP = "Given up after 5 attempts: "


def poison_rests(service: Service, seed: str) -> bool:
    """Whether all who took poison have been decided and walked."""
    return all(status != "queued" and state != "active" for _, status, _, state, *_ in service.ask(_FATES, f"{seed}-%"))


def poison_is_given_up(service: Service, seed: str) -> Iterator[str]:
    """After five attempts, with the error in the history."""
    fates = service.ask(_FATES, f"{seed}-%")
    if len(fates) != len(POISON) * len(TENANTS) * POISONED:
        yield f"{len(fates)} jobs of poison were found"
    for key, status, reason, state, exit_reason, history in fates:
        if not _is_expected(key, status, reason, state, exit_reason, history):
            yield f"{key}: {status}, {reason!r}, {state}, {exit_reason!r}, {history!r}"


def _is_expected(key: str, status: str, reason: str, state: str, exit_reason: str, history: str) -> bool:
    given_up = state == "exited" and exit_reason.startswith(_GIVEN_UP) and f"failed: {_GIVEN_UP}" in history
    match key:
        case "poison_condition":
            return status == "failed" and reason.startswith(f"{_GIVEN_UP}InvalidCondition")
        case "poison_row":
            return status == "failed" and reason.startswith(_GIVEN_UP) and "poisoned" in reason
        case "poison_step":
            return given_up and "InvalidSteps: steps[0].for" in exit_reason
        case "poison_memory":
            return given_up and "MemoryError" in exit_reason
        case "poison_exit":
            return given_up and "the worker died" in exit_reason
        case _:
            return state == "completed" and history.startswith("failed: ")


# Receivers that behave badly -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a receiver behaves, and what an attempt there comes to: delivered, failed, or waiting for the next one."""

    name: str
    path: str
    state: str


MANNERS = (
    Manner(name="timeout", path="/slow/60", state="waiting"),
    Manner(name="reset", path="/reset", state="waiting"),
    Manner(name="error", path="/status/500", state="waiting"),
    Manner(name="redirect", path="/redirect?to=http%3A%2F%2F127.0.0.1%3A1%2Fsecret", state="failed"),
    Manner(name="endless", path="/endless", state="delivered"),
    Manner(name="drip", path="/drip-head", state="waiting"),
    Manner(name="gone", path="/status/410", state="failed"),
)
TARGETED = 3


def targets(urls: Mapping[str, str]) -> list[Course]:
    """A journey to each bad receiver. `urls`: the base of each manner's own receiver."""
    return [
        Course(key=f"target_{manner.name}", rule="once", steps=[webhook("bad", urls[manner.name] + manner.path)])
        for manner in MANNERS
    ]


def target_calls(*, seed: str, first: int, at: float) -> list[Planned]:
    return [
        Planned(
            name=f"{seed}-{manner.name}-{n}", at=at, kind="single", tenant="north", journey=f"target_{manner.name}",
            customers=(f"c-{first + n}",), words={"coupon": n},
        )
        for manner in MANNERS for n in range(TARGETED)
    ]  # fmt: skip


_ATTEMPTS = """
SELECT journey.key, delivery.state, array_agg(extract(epoch FROM attempt.at)::float ORDER BY number),
       array_agg(attempt.milliseconds ORDER BY number)
FROM journeys_webhookdelivery delivery
JOIN journeys_webhookattempt attempt ON attempt.delivery_id = delivery.id
JOIN journeys_enrollment entry ON entry.id = delivery.enrollment_id
JOIN journeys_journey journey ON journey.id = entry.journey_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
WHERE journey.key LIKE 'target%%' AND trigger.request_id LIKE %s
GROUP BY delivery.id, journey.key
"""
_FIRST_WAIT, _JITTER, _LATENESS = 5.0, 0.5, 3.0


def _attempts(service: Service, seed: str) -> list[tuple[Any, ...]]:
    return service.ask(_ATTEMPTS, f"{seed}-%")


def targets_were_tried_twice(service: Service, seed: str) -> bool:
    """Whether those that are to be tried again have been."""
    rows = _attempts(service, seed)
    return len(rows) == len(MANNERS) * TARGETED and all(state != "waiting" or len(at) > 1 for _, state, at, _ in rows)


def schedule_was_followed(service: Service, seed: str) -> Iterator[str]:
    expected = {f"target_{manner.name}": manner.state for manner in MANNERS}
    rows = _attempts(service, seed)
    if len(rows) != len(MANNERS) * TARGETED:
        yield f"{len(rows)} deliveries of {len(MANNERS) * TARGETED} have attempts"
    for key, state, at, milliseconds in rows:
        if state != expected[key]:
            yield f"{key} is {state}"
        if state != "waiting" and len(at) > 1:
            yield f"{key} was tried {len(at)} times, though the first answer was final"
        waits = [later - before - ms / 1000 for before, later, ms in zip(at, at[1:], milliseconds, strict=False)]
        if waits and not _FIRST_WAIT - _JITTER - 0.1 <= waits[0] <= _FIRST_WAIT + _JITTER + _LATENESS:
            yield f"{key} was tried again after {waits[0]:.1f} s"

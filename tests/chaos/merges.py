"""Anonymous people who turn out to be somebody, amid all else that is known and done of both: one person stays one."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.invariants import JOB_ID
from tests.chaos.load import Sending
from tests.chaos.plan import TENANTS, Kind, Planned
from tests.chaos.scenario import Chance, Scenario, Trial
from tests.chaos.service import Service
from tests.chaos.tenants import Course, delay, mark, wait, webhook

_STEPS = [webhook("one"), delay("rest", "PT1S"), wait("listen", "waved", "two"), webhook("two"), mark("mark")]
MEETS = Course(key="meets", rule="always_at_once", reenter=True, steps=_STEPS)
GREETS = Course(key="greets", rule="always_at_once", reenter=True, event="met", steps=_STEPS)
MERGED = (MEETS, GREETS)

_PEOPLE = 20  # of a workspace
_SECONDS = 26.0
_KNOWN_BY, _FIRST, _LAST = 2.0, 4.0, 20.0  # seconds: when servers know them, and when the merges begin and end
_AT_ONCE = 0.25  # seconds beside a merge
_BESIDE = 14  # calls at about the same moment
_FOR_ALL = 10  # calls for all who are there


@dataclass(frozen=True, kw_only=True)
class Human:
    """By the external id that a server gives them, and by the user ids of the pages on which they were anonymous."""

    tenant: str
    name: str
    pages: Sequence[str]
    early: bool  # a server knows them before they log in, and not at that moment

    def call(self, kind: Kind, number: int, at: float, known_by: Mapping[str, str], **words: Any) -> Planned:
        name = f"{self.name}-{number}"
        said = {"known_by": known_by, "coupon": number, "attributes": {"met": True, f"of-{number}": name}}
        return Planned(
            name=name, at=at, kind=kind, tenant=self.tenant, journey=MEETS.key, customers=(self.name,),
            words={"events": ["met" if number % 2 else "waved"], **said, **words},
        )  # fmt: skip


def _humans(seed: str) -> list[Human]:
    chance = random.Random(f"humans/{seed}")
    return [
        Human(
            tenant=tenant, name=f"{seed}-{tenant}-{n}", early=chance.random() < 0.7,
            pages=[f"anon-{seed}-{tenant}-{n}-{page}" for page in range(chance.choice([1, 1, 2]))],
        )
        for tenant in TENANTS for n in range(_PEOPLE)
    ]  # fmt: skip


def _calls(seed: str, chance: Chance) -> list[Planned]:
    for_all = [
        Planned(
            name=f"{seed}-{tenant}-all-{n}", at=chance.uniform(_FIRST, _LAST), kind="segment", tenant=tenant,
            journey=MEETS.key, customers=("c-1",), words={"segment": "met", "coupon": n},
        )
        for tenant in TENANTS for n in range(_FOR_ALL)
    ]  # fmt: skip
    return [*for_all, *(call for human in _humans(seed) for call in _calls_of(human, chance))]


def _calls_of(human: Human, chance: Chance) -> Iterator[Planned]:
    moment, named = chance.uniform(_FIRST, _LAST), {"external_id": human.name}
    numbers = iter(range(1000))
    before: list[Kind] = ["track", "profile", "track"]
    who: list[Kind] = ["identify", "merge"] if human.early else ["identify"]
    beside: list[Kind] = ["put", "track", "profile"]
    if human.early:
        beside += ["single", "events"]

    def about() -> float:
        return moment + chance.uniform(-_AT_ONCE, _AT_ONCE)

    yield human.call("put", next(numbers), chance.uniform(0, _KNOWN_BY) if human.early else about(), named)
    for page in human.pages:
        anonymous = {"userId": page}
        for kind in before:
            yield human.call(kind, next(numbers), moment - chance.uniform(1, 2.5), anonymous)
        yield human.call("identify", next(numbers), about(), anonymous)
        yield human.call(chance.choice(who), next(numbers), about(), anonymous)
        yield human.call("identify", next(numbers), moment + 2, anonymous)
    for _ in range(_BESIDE):
        kind = chance.choice(beside)
        by_page = kind in {"track", "profile", "events"} and chance.random() < 0.6
        known_by = {"userId": chance.choice(human.pages)} if by_page else named
        yield human.call(kind, next(numbers), about(), known_by)


_NUMBER = """
SELECT count(*) FROM engage_auditentry
WHERE action = 'merged' AND at > clock_timestamp() - %s * interval '1 second'
"""


def _people_were_merged(service: Service, trial: Trial) -> Iterator[str]:
    """Or the scenario is none."""
    number = service.count(_NUMBER, trial.ended - trial.began)
    if number < _PEOPLE:
        yield f"{number} were merged"


_WHO = """
WITH who AS (SELECT %s AS workspace_id, %s AS external_id, %s::text[] AS pages)
SELECT id FROM customers_customer customer JOIN who USING (workspace_id)
WHERE customer.external_id = who.external_id OR user_id = ANY(pages)
UNION SELECT customer_id FROM customers_alias JOIN who USING (workspace_id) WHERE user_id = ANY(pages)
"""
_ALL = """
SELECT attributes, (SELECT coalesce(array_agg(id), '{}') FROM customers_event WHERE customer_id = customer.id),
       (SELECT coalesce(array_agg(message_id), '{}') FROM bridge_interaction WHERE customer_id = customer.id),
       (SELECT coalesce(array_agg({JOB_ID}), '{}') FROM journeys_enrollmentjob job WHERE customer_id = customer.id),
       (SELECT coalesce(array_agg(event_id), '{}') FROM journeys_trigger JOIN journeys_enrollmentjob job
            ON job.trigger_id = journeys_trigger.id WHERE job.customer_id = customer.id)
FROM customers_customer customer WHERE id = %s
""".replace("{JOB_ID}", JOB_ID)


def _one_person_stays_one(service: Service, trial: Trial) -> Iterator[str]:
    done: dict[str, list[Sending]] = {}
    for sending in trial.sendings:
        if sending.succeeded and "known_by" in sending.call.words:
            done.setdefault(sending.call.customers[0], []).append(sending)
    for human in _humans(trial.seed):
        workspace = service.tenants[human.tenant].workspace
        found = service.ask(_WHO, workspace, human.name, list(human.pages))
        if len(found) != 1:
            yield f"{human.name} is {len(found)} customers"
            continue
        yield from _lost(service, found[0][0], done.get(human.name, []))


def _lost(service: Service, customer_id: str, done: Sequence[Sending]) -> Iterator[str]:
    """What was acknowledged, and is not the customer's in the end."""
    attributes, *lists = service.ask(_ALL, customer_id)[0]
    events, messages, jobs, started = map(set, lists)
    for sending in done:
        call = sending.call
        match call.kind:
            case "put" | "profile":
                kept = call.words["attributes"].items() <= attributes.items() and (
                    call.kind == "put" or call.name in messages
                )
            case "single":
                kept = sending.data["jobId"] in jobs
            case "track":
                kept = call.name in messages and _is_kept(call, sending.data["eventId"], events, started)
            case "events":
                (result,) = sending.data["results"]
                kept = _is_kept(call, result.get("eventId"), events, started)
            case _:
                kept = True
        if not kept:
            yield f"{call.kind} {call.name} was acknowledged and is not of the person {customer_id}"


def _is_kept(call: Planned, event_id: object, events: set[str], started: set[str]) -> bool:
    return event_id in events and (call.words["events"] != [GREETS.event] or event_id in started)


MERGES = Scenario(
    name="merges", load=_SECONDS, per_second=4, beside=_calls, faults=lambda chance: [],
    findings=(_people_were_merged, _one_person_stays_one),
)  # fmt: skip

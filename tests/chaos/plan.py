"""What is sent, and when: made of a seed alone, so that the same seed sends the same again."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.chaos.tenants import CUSTOMERS, FOLLOWED, LEAVING, TRIGGERED

Kind = Literal[
    "single", "bulk", "segment", "track", "profile", "newcomer", "events", "trespass", "put", "identify", "merge"
]  # fmt: skip
_WEIGHTS: dict[Kind, int] = {
    "single": 50, "bulk": 5, "segment": 2, "track": 12, "profile": 8, "newcomer": 6, "events": 10, "trespass": 4,
}  # fmt: skip
TENANTS = ("north", "south")
_NEWCOMERS = 40  # of a scenario; several calls name the same one


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One call, `at` so many seconds after the load begins; `words` go into its body.

    Where they have `known_by`, that is said of the customer in place of the external id.
    """

    name: str  # its X-Request-Id, and the message id of a bridge call
    at: float
    kind: Kind
    tenant: str
    journey: str = ""
    customers: tuple[str, ...] = ()
    keyed: bool = False  # sent with an Idempotency-Key, and again where its answer is lost
    words: dict[str, Any] = field(default_factory=dict)


def plan_load(*, seed: str, seconds: float, per_second: float, journeys: Sequence[str] = TRIGGERED) -> list[Planned]:
    """The calls of one scenario, in the order of their moments. `seed` is part of their names."""
    chance = random.Random(f"load/{seed}")
    moments = sorted(chance.uniform(0, seconds) for _ in range(int(seconds * per_second)))
    calls = [
        _call(chance, name=f"{seed}-{number}", at=at, seed=seed, journeys=journeys) for number, at in enumerate(moments)
    ]
    reports = [
        _report_of(chance, call) for call in calls if call.kind in {"single", "bulk"} and call.journey in FOLLOWED
    ]
    written = [
        write for call in calls if call.kind in {"single", "bulk"} and call.journey == "watches"
        for write in _writes_after(chance, call)
    ]  # fmt: skip
    return sorted([*calls, *reports, *written], key=lambda call: call.at)


def _call(chance: random.Random, *, name: str, at: float, seed: str, journeys: Sequence[str]) -> Planned:
    kind = chance.choices(list(_WEIGHTS), weights=list(_WEIGHTS.values()))[0]
    tenant, journey = chance.choice(TENANTS), chance.choice(journeys)
    customers = tuple(f"c-{chance.randrange(CUSTOMERS)}" for _ in range(_number(chance, kind)))
    return Planned(
        name=name,
        at=at,
        kind=kind,
        tenant=tenant,
        journey=journey,
        customers=customers,
        keyed=kind in {"single", "bulk", "events"} and chance.random() < 0.3,
        words={
            "events": [chance.choice(["signed_up", "looked", "looked", LEAVING])],
            "newcomer": f"{seed}-{chance.randrange(_NEWCOMERS)}@example.com",
            "coupon": chance.randrange(1_000_000),
        },
    )


def _report_of(chance: random.Random, call: Planned) -> Planned:
    """What some of those whom the call names do at once, about as soon as they have entered, or sooner."""
    customers = chance.sample(call.customers, min(len(call.customers), 12))
    return Planned(
        name=f"{call.name}-then",
        at=call.at + chance.uniform(0.02, 0.4),
        kind="events",
        tenant=call.tenant,
        journey=call.journey,
        customers=tuple(customers),
        words={**call.words, "events": FOLLOWED[call.journey]},
    )


def _writes_after(chance: random.Random, call: Planned) -> Iterator[Planned]:
    """What some of those whom the call names wait for from then on: each is written by a server or by a page."""
    for number, customer in enumerate(chance.sample(call.customers, min(len(call.customers), 12))):
        yield Planned(
            name=f"{call.name}-done-{number}",
            at=call.at + chance.uniform(0.02, 2.5),
            kind=chance.choice(["put", "profile"]),
            tenant=call.tenant,
            journey=call.journey,
            customers=(customer,),
            words={"attributes": {"done": call.words["coupon"]}, "coupon": call.words["coupon"]},
        )


def _number(chance: random.Random, kind: Kind) -> int:
    """How many customers such a call names."""
    match kind:
        case "bulk":
            return chance.randint(20, 150)
        case "events":
            return chance.randint(1, 12)
        case _:
            return 1

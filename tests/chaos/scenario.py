"""What a scenario is: its faults, and what has to hold while each is injected and afterwards."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.chaos.faults import Deed, Fault
from tests.chaos.load import Sending
from tests.chaos.plan import Planned
from tests.chaos.probing import Probe
from tests.chaos.service import Service
from tests.chaos.tenants import TRIGGERED, Course

Chance = random.Random
# In the other journeys, customers wait for nearly as long as all may take to come to rest.
PROMPT = tuple(key for key in TRIGGERED if not key.startswith(("listens", "watches")))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One round of a scenario that has come to rest: its seed, and what was answered."""

    seed: str
    began: float
    ended: float
    sendings: Sequence[Sending]
    probes: Sequence[Probe]


Finding = Callable[[Service, Trial], Iterator[str]]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`faults` from chance alone, so that a seed gives the same again; `load` in seconds.

    `before` is done before the load begins. All jobs have to be decided `decided_within`, and all has to rest
    `rest_seconds` after the last fault and the last call. Then `afterwards` is done, and what must hold is looked at.
    """

    name: str
    load: float
    faults: Callable[[Chance], list[Fault]]
    per_second: float = 20.0
    journeys: Sequence[str] = TRIGGERED
    beside: Callable[[str, Chance], list[Planned]] = lambda seed, chance: []
    rests: Callable[[Service, str], bool] = lambda service, seed: True
    start: Deed = lambda service: service.fleet.start()  # whom an earlier trial has killed
    before: Deed = lambda service: None
    decided_within: float = 30.0
    rest_seconds: float = 75.0
    afterwards: Deed = lambda service: None
    elsewhere: bool = False  # needs another machine
    begins_with: str | None = None  # a commit whose code runs at first, one of each process, on servers of their own
    courses: Sequence[Course] = ()  # that its workspaces have beside those of all
    unpooled: bool = False  # needs connections from the service to PostgreSQL, without a pooler between them
    findings: Sequence[Finding] = ()

"""Steps that do harm to the process that takes them."""

import os
import resource
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from engage.json.documents import Reading
from journeys.steps.context import StepContext
from journeys.steps.results import StepResult
from journeys.steps.written import WrittenStep

_MOST_MEMORY = 1_500_000_000  # bytes of address space, as a container's limit would be
_PIECE = 50_000_000


@dataclass(frozen=True, kw_only=True)
class ExitsChild:
    """Ends the process in the middle of the walk."""

    type: ClassVar = "exits_child"
    paces_loops: ClassVar = False
    targets: ClassVar[tuple[str | None, ...]] = ()

    id: str
    next: None = None

    def begin(self, context: StepContext) -> NoReturn:
        os._exit(3)


@dataclass(frozen=True, kw_only=True)
class EatsMemory:
    """Takes memory until there is no more."""

    type: ClassVar = "eats_memory"
    paces_loops: ClassVar = False
    targets: ClassVar[tuple[str | None, ...]] = ()

    id: str
    next: None = None

    def begin(self, context: StepContext) -> StepResult:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, hard))
        eaten = []
        while True:
            eaten.append(bytes(_PIECE))


def parse_exits_child(step: WrittenStep) -> ExitsChild:
    with Reading() as read:
        step.fields(reading=read)
    return ExitsChild(id=step.id)


def parse_eats_memory(step: WrittenStep) -> EatsMemory:
    with Reading() as read:
        step.fields(reading=read)
    return EatsMemory(id=step.id)

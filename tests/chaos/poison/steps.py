"""Steps that do harm to the process that takes them."""

import os
import resource
from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self

from engage.json.documents import Reading
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, Way
from journeys.steps.results import StepResult
from journeys.steps.written import WrittenStep

_MOST_MEMORY = 1_500_000_000  # bytes of address space, as a container's limit would be
_PIECE = 50_000_000


@dataclass(frozen=True, kw_only=True)
class _Harmful(Kind):
    does: ClassVar = ""
    examples: ClassVar = ()
    label: ClassVar = "Harm"

    id: str

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            step.fields(reading=read)
        return cls(id=step.id)

    def ways(self) -> list[Way]:
        return []


@dataclass(frozen=True, kw_only=True)
class ExitsChild(_Harmful):
    """Ends the process in the middle of the walk."""

    type: ClassVar = "exits_child"

    def begin(self, context: StepContext) -> NoReturn:
        os._exit(3)


@dataclass(frozen=True, kw_only=True)
class EatsMemory(_Harmful):
    """Takes memory until there is no more."""

    type: ClassVar = "eats_memory"

    def begin(self, context: StepContext) -> StepResult:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, hard))
        eaten = []
        while True:
            eaten.append(bytes(_PIECE))

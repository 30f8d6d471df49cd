"""`delay`: the customer waits for a fixed time. `{"id": "wait", "type": "delay", "for": "P1D"}`."""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from engage.documents import Part
from journeys.steps.durations import InvalidDuration, parse_duration
from journeys.steps.outcomes import Footprint, GoTo, Resumption, StepResult, Wait, in_words
from journeys.steps.scene import Scene
from journeys.steps.written import WrittenStep

_LONGEST_TEXT = 100
_LEAST_WAIT = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Waits for `duration`, then goes on to `next` (None: the end)."""

    type: ClassVar = "delay"

    id: str
    next: str | None
    duration: timedelta

    @property
    def waits(self) -> bool:
        """Whether a loop through it goes slowly enough to be let be."""
        return self.duration >= _LEAST_WAIT

    @property
    def targets(self) -> tuple[str | None, ...]:
        return (self.next,)

    def begin(self, scene: Scene) -> StepResult:
        due_at = scene.now + self.duration
        footprint = Footprint(
            step_id=self.id, type=self.type, resumed=False, state="waiting", detail=f"Waits until {in_words(due_at)}."
        )
        return StepResult(footprint=footprint, then=Wait(step_id=self.id, due_at=due_at))

    def resume(self, scene: Scene, arrival: Resumption) -> StepResult:
        footprint = Footprint(step_id=self.id, type=self.type, resumed=True, state="done", detail="The wait is over.")
        return StepResult(footprint=footprint, then=GoTo(step_id=self.next))


def parse_delay(step: WrittenStep) -> Delay:
    """The delay as written. Raises InvalidSteps."""
    fields = step.fields(required=["for"])
    return Delay(id=step.id, next=step.next(), duration=_duration(fields["for"]))


def _duration(part: Part) -> timedelta:
    try:
        return parse_duration(part.text(at_most=_LONGEST_TEXT))
    except InvalidDuration as invalid:
        part.refuse(str(invalid))

"""`exit`: the enrollment ends as exited. `{"id": "out", "type": "exit", "reason": "Has bought already."}`."""

from dataclasses import dataclass
from typing import ClassVar, Self

from engage.json.documents import Reading
from journeys.steps.context import StepContext
from journeys.steps.kinds import EXITED, Kind, Way
from journeys.steps.results import Ended, StepResult, step_record
from journeys.steps.written import WrittenStep

LONGEST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class Exit(Kind):
    """Ends the enrollment with `reason`."""

    type: ClassVar = "exit"
    does: ClassVar = "Ends the enrollment as exited."
    examples: ClassVar = ({"id": "leave", "reason": "Has bought already."},)

    id: str
    reason: str

    @property
    def label(self) -> str:
        return f"Exit: {self.reason}"

    def ways(self) -> list[Way]:
        return [Way(EXITED, "")]

    def begin(self, context: StepContext) -> StepResult:
        return StepResult(
            step_record=step_record(self, "done", self.reason),
            then=Ended(step_id=self.id, exited=True, reason=self.reason),
        )

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(required=["reason"], reading=read)
            reason = read(lambda: fields["reason"].text(at_most=LONGEST_REASON))
        return cls(id=step.id, reason=reason)

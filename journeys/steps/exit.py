"""`exit`: the enrollment ends as exited. `{"id": "out", "type": "exit", "reason": "Has bought already."}`."""

from dataclasses import dataclass
from typing import ClassVar

from engage.json.documents import Reading
from journeys.steps.context import StepContext
from journeys.steps.results import Ended, StepResult, step_record
from journeys.steps.written import WrittenStep

LONGEST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class Exit:
    """Ends the enrollment with `reason`."""

    type: ClassVar = "exit"
    paces_loops: ClassVar = False
    targets: ClassVar[tuple[str | None, ...]] = ()

    id: str
    reason: str

    def begin(self, context: StepContext) -> StepResult:
        return StepResult(
            step_record=step_record(self, "done", self.reason),
            then=Ended(step_id=self.id, exited=True, reason=self.reason),
        )


def parse_exit(step: WrittenStep) -> Exit:
    """Parses an `exit` step. Raises InvalidSteps."""
    with Reading() as read:
        fields = step.fields(required=["reason"], reading=read)
        reason = read(lambda: fields["reason"].text(at_most=LONGEST_REASON))
    return Exit(id=step.id, reason=reason)

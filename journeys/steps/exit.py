"""`exit`: the enrollment ends as exited. `{"id": "out", "type": "exit", "reason": "Has bought already."}`."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from engage.json.described import told, written
from engage.json.documents import Part
from journeys.steps.context import StepContext
from journeys.steps.kinds import EXITED, Kind, Way
from journeys.steps.results import Ended, StepResult, step_record

LONGEST_REASON = 500


@dataclass(frozen=True, kw_only=True)
class Exit(Kind):
    """Ends the enrollment with `reason`."""

    type: ClassVar = "exit"
    title: ClassVar = "Leave the journey"
    icon: ClassVar = "logout"
    does: ClassVar = "Ends the enrollment as exited."
    examples: ClassVar = ({"id": "leave", "reason": "Has bought already."},)

    reason: str = written(
        "reason", partial(Part.text, at_most=LONGEST_REASON), about=told("Reason", "words", start="Done.")
    )

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

"""Where a customer's way through the steps stops next: pure, over parsed steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from journeys.steps.definition import Step


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Waiting in a step until `due_at`; without `due_at` the end, where `step_id` is the last step's."""

    step_id: str
    due_at: datetime | None


def go_on(steps: Sequence[Step], *, step_id: str, began: bool, now: datetime) -> Stop:
    """The next stop from this step: ahead of it, or (where it `began`) after its wait."""
    by_id = {step.id: step for step in steps}
    step = by_id[step_id]
    if not began:
        return Stop(step_id=step.id, due_at=now + step.duration)
    if step.next is None:
        return Stop(step_id=step.id, due_at=None)
    following = by_id[step.next]
    return Stop(step_id=following.id, due_at=now + following.duration)

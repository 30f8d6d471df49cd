"""What became of a whole trigger."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engage.errors import Refusal
from engage.object_ids import row_with_id
from journeys.models import EnrollmentJob, Trigger
from journeys.progress import count_jobs


class TriggerNotFound(Refusal):
    """No such trigger in the workspace."""

    status = 404
    error = "Trigger not found"
    code = "trigger_not_found"

    def __init__(self, trigger_id: str) -> None:
        super().__init__(f"There is no trigger {trigger_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class TriggerState:
    """A trigger's jobs, counted by status and by result."""

    trigger_id: str
    journey_id: str
    customers: int
    queued: int
    decided: int
    failed: int
    cancelled: int
    results: Mapping[str, int]
    queued_at: datetime


def own_trigger(*, workspace_id: str, trigger_id: str) -> Trigger:
    """The workspace's trigger, without its payload. Raises TriggerNotFound."""
    trigger = row_with_id(Trigger.objects.filter(workspace_id=workspace_id).defer("payload"), trigger_id)
    if trigger is None:
        raise TriggerNotFound(trigger_id)
    return trigger


def trigger_state(*, workspace_id: str, trigger_id: str) -> TriggerState:
    """The trigger's jobs, counted now. Raises TriggerNotFound."""
    trigger = own_trigger(workspace_id=workspace_id, trigger_id=trigger_id)
    counted = count_jobs(trigger)
    by_status = {
        status: sum(jobs.number for jobs in counted if jobs.status == status) for status in EnrollmentJob.Status.values
    }
    return TriggerState(
        trigger_id=trigger.id,
        journey_id=trigger.journey_id,
        customers=trigger.customers,
        queued=by_status["queued"],
        decided=by_status["decided"],
        failed=by_status["failed"],
        cancelled=by_status["cancelled"],
        results={jobs.result: jobs.number for jobs in counted if jobs.result},
        queued_at=trigger.queued_at,
    )

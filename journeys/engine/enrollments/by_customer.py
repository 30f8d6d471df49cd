"""Every trigger that queued a customer, newest first: what was decided and why, and how the enrollment went."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from engage.database.object_ids import ObjectId
from engage.database.sql import Statement
from engage.json.fields import Spelled
from engage.json.keywords import known
from journeys.engine.enrollments.states import NEXT_ATTEMPT
from journeys.models import Trigger
from journeys.models.choices import JobDetails, JobResult, JobStatus, ScheduledFor, StateOfEnrollment
from journeys.rules.job_ids import job_id


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Where a page ended: after the job of this millisecond and journey."""

    queued_ms: int
    journey_id: str


GOES_ON = (
    "When the enrollment continues: the end of a wait, or the next attempt to send a webhook. null once it has ended, "
    "and while the host of its webhook is held."
)
LAST_STEP = (
    "The id of the current step, or of the last one if the enrollment has ended; null if the journey has no steps."
)
_START = Cursor(queued_ms=2**53, journey_id="")


@dataclass(frozen=True, kw_only=True)
class TriggeredEnrollment:
    """The enrollment that a trigger led to."""

    id: Annotated[
        ObjectId,
        "The enrollment's id. `GET …/enrollments/{enrollmentId}` returns its history.",
        Spelled("enrollmentId"),
    ]
    state: StateOfEnrollment
    step_id: Annotated[str | None, LAST_STEP]
    goes_on_at: Annotated[datetime | None, GOES_ON]
    exit_reason: Annotated[str | None, "Why the enrollment was exited, as text; null if it was not."]
    entered_at: datetime
    ended_at: Annotated[datetime | None, "When the enrollment ended; null while it is active."]


@dataclass(frozen=True, kw_only=True)
class CustomerTrigger:
    """One trigger that queued the customer, and what was decided."""

    place: Cursor = field(metadata={"hidden": True})  # from the API
    journey_id: Annotated[ObjectId, "The journey's id."]
    journey_name: str
    trigger_id: Annotated[ObjectId, "The id of the trigger: a call or an event that queued the customer."]
    form: Annotated[str, "Whether the trigger was for one customer or many.", known(Trigger.Form.values)]
    event_id: Annotated[ObjectId | None, "The event's id; null if the trigger was a call, or if the event was deleted."]
    event_name: Annotated[str | None, "The event's name; null if `eventId` is null."]
    job_id: Annotated[str, "The job's id."]
    status: Annotated[JobStatus, "`queued` until the job is decided, fails or is cancelled."]
    result: Annotated[JobResult | None, "The decision; null while the job is queued."]
    reason: Annotated[str | None, "The reason for the result, as text; null while the job is queued."]
    details: JobDetails
    queued_at: datetime
    scheduled_for: ScheduledFor = None
    decided_at: Annotated[
        datetime | None, "When the job was decided, failed or was cancelled; null while it is queued."
    ]
    enrollment: Annotated[TriggeredEnrollment | None, "The enrollment; null if the customer was not enrolled."]


@dataclass(frozen=True, kw_only=True)
class CustomerTriggersPage:
    """The newest first; `last` is where the page ended, None if no more follow."""

    triggers: Sequence[CustomerTrigger]
    last: Cursor | None


# The unique index of job ids is by customer, journey and millisecond. Each journey of the workspace yields its newest
# jobs of the customer from there, and the newest of all are among them. However many jobs a customer has, a page costs
# one index lookup per journey, and queueing jobs has no extra index to maintain.
_PAGE = Statement(
    """
SELECT job.customer_id, job.queued_ms, job.queued_as, job.journey_id, job.journey_name, job.trigger_id,
       trigger.form, trigger.event_id, event.name AS event_name, job.status,
       nullif(job.result, '') AS result, nullif(job.reason, '') AS reason,
       ARRAY(SELECT jsonb_array_elements_text(job.details)) AS details, trigger.queued_at, job.scheduled_for,
       job.decided_at,
       enrollment.id AS "enrollment.id", enrollment.state AS "enrollment.state",
       nullif(enrollment.step_id, '') AS "enrollment.step_id",
       nullif(enrollment.exit_reason, '') AS "enrollment.exit_reason",
       enrollment.entered_at AS "enrollment.entered_at", enrollment.ended_at AS "enrollment.ended_at",
       CASE WHEN enrollment.state = 'active' THEN
           coalesce(enrollment.watches_until, enrollment.due_at, enrollment.was_due_at, {next_attempt})
       END AS "enrollment.goes_on_at"
FROM (
    SELECT newest.*, journey.name AS journey_name
    FROM journeys_journey journey
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob job
        WHERE job.customer_id = {customer_id} AND job.journey_id = journey.id
          AND job.queued_ms < {ms} + CASE WHEN journey.id < {journey_id} THEN 1 ELSE 0 END
        ORDER BY job.queued_ms DESC LIMIT {most}
    ) AS newest
    WHERE journey.workspace_id = {workspace_id} AND coalesce(journey.id = ANY({journeys}::text[]), true)
    ORDER BY newest.queued_ms DESC, newest.journey_id DESC LIMIT {most}
) AS job
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
LEFT JOIN customers_event event ON event.id = trigger.event_id
LEFT JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
LEFT JOIN journeys_webhookdelivery delivery
  ON delivery.enrollment_id = enrollment.id AND delivery.ordinal = enrollment.steps_begun - 1
 AND delivery.state IN ('waiting', 'held')
ORDER BY job.queued_ms DESC, job.journey_id DESC
""",
    next_attempt=NEXT_ATTEMPT.replace("{of}", "delivery"),
)


def customer_triggers_page(
    *, workspace_id: str, customer_id: str, journeys: Sequence[str] | None = None, after: Cursor | None, limit: int
) -> CustomerTriggersPage:
    """At most `limit` jobs of the customer, in one statement; empty if the workspace has no such customer.

    `journeys` are those to look at; None: all.
    """
    place = after or _START
    rows = _PAGE.records(
        workspace_id=workspace_id,
        customer_id=customer_id,
        journeys=None if journeys is None else list(journeys),
        ms=place.queued_ms,
        journey_id=place.journey_id,
        most=limit + 1,
    )
    found = [_customer_trigger(row) for row in rows]
    shown = found[:limit]
    return CustomerTriggersPage(triggers=shown, last=shown[-1].place if len(found) > limit else None)


def _customer_trigger(row: dict[str, Any]) -> CustomerTrigger:
    whose, ms, queued_as = row.pop("customer_id"), row.pop("queued_ms"), row.pop("queued_as")
    entered = {name: row.pop(f"enrollment.{name}") for name in TriggeredEnrollment.__annotations__}
    return CustomerTrigger(
        job_id=queued_as or job_id(journey_id=row["journey_id"], customer_id=whose, queued_ms=ms),
        place=Cursor(queued_ms=ms, journey_id=row["journey_id"]),
        enrollment=TriggeredEnrollment(**entered) if entered["id"] else None,
        **row,
    )

"""An enrollment with the history of its steps, page by page, as of one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db import connection, models

from engage.database.object_ids import is_object_id
from engage.database.sql import Statement
from journeys.engine.enrollments.states import NEXT_ATTEMPT, EnrollmentNotFound, EnrollmentState
from journeys.models import (
    Enrollment,
    EnrollmentJob,
    Journey,
    JourneyRevision,
    StepRun,
    WebhookAttempt,
    WebhookDelivery,
)

# A limit is needed because staff may send a webhook again as often as they like.
MOST_ATTEMPTS = 20
_Row = TypeVar("_Row", bound=models.Model)


@dataclass(frozen=True, kw_only=True)
class RunWithWebhook:
    """A step of the history; a webhook step has its delivery and the latest attempts, oldest first."""

    run: StepRun
    delivery: WebhookDelivery | None
    attempts: Sequence[WebhookAttempt]


@dataclass(frozen=True, kw_only=True)
class EnrollmentHistory:
    """An enrollment and steps in order; `last` is the ordinal of the last one if more follow, otherwise None."""

    state: EnrollmentState
    steps: Sequence[RunWithWebhook]
    last: int | None


def _fields(model: type[models.Model], *names: str) -> list[str]:
    """The named fields, or all of them, in the model's order."""
    return [field.attname for field in model._meta.concrete_fields if not names or field.attname in names]


# What is read of each relation of the statement.
_FIELDS: Final = {
    "enrollment": _fields(Enrollment),
    "journey": _fields(Journey, "id", "name"),
    "revision": _fields(JourneyRevision, "id", "number"),
    "job": _fields(EnrollmentJob, "id", "trigger_id", "journey_id", "customer_id", "queued_ms", "queued_as"),
    "run": _fields(StepRun),
    "delivery": _fields(WebhookDelivery),
}
_ATTEMPT_FIELDS = _fields(WebhookAttempt)
_COLUMNS = ", ".join(
    [
        *(f'{name}.{field} AS "{name}.{field}"' for name, fields in _FIELDS.items() for field in fields),
        *(f'attempts.{field} AS "attempts.{field}"' for field in _ATTEMPT_FIELDS),
    ]
)

# One statement, so one moment: where the enrollment stands, and the steps that led there. Laterals with a limit
# (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_READ = Statement(
    """
SELECT {columns},
       CASE WHEN enrollment.state = 'active' THEN
           coalesce(enrollment.watches_until, enrollment.due_at, enrollment.was_due_at, {next_attempt})
       END AS goes_on_at
FROM (SELECT * FROM journeys_enrollment WHERE workspace_id = {workspace_id} AND id = {enrollment_id}) AS enrollment
JOIN journeys_journey journey ON journey.id = enrollment.journey_id
JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
LEFT JOIN LATERAL (SELECT * FROM journeys_enrollmentjob led WHERE led.id = enrollment.job_id LIMIT 1) AS job ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1
      AND sent.state IN ('waiting', 'held')
    LIMIT 1
) AS sending ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_steprun taken WHERE taken.enrollment_id = enrollment.id AND taken.ordinal > {after}
    ORDER BY taken.ordinal LIMIT {most}
) AS run ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = run.ordinal LIMIT 1
) AS delivery ON true
CROSS JOIN LATERAL (
    SELECT {arrays} FROM (
        SELECT * FROM journeys_webhookattempt made WHERE made.delivery_id = delivery.id
        ORDER BY made.number DESC LIMIT {attempts}
    ) AS latest
) AS attempts
ORDER BY run.ordinal
""",
    columns=_COLUMNS,
    next_attempt=NEXT_ATTEMPT.replace("{of}", "sending"),
    arrays=", ".join(f"array_agg({field} ORDER BY number) AS {field}" for field in _ATTEMPT_FIELDS),
    attempts=str(MOST_ATTEMPTS),
)


def enrollment_history(*, workspace_id: str, enrollment_id: str, after: int, limit: int) -> EnrollmentHistory:
    """The enrollment, and at most `limit` of its steps after this ordinal. Raises EnrollmentNotFound."""
    if not is_object_id(enrollment_id):
        raise EnrollmentNotFound(enrollment_id)
    rows = _READ.records(workspace_id=workspace_id, enrollment_id=enrollment_id, after=after, most=limit + 1)
    if not rows:
        raise EnrollmentNotFound(enrollment_id)
    steps = [_step(row) for row in rows if row["run.id"] is not None]
    shown = steps[:limit]
    return EnrollmentHistory(
        state=_state(rows[0]), steps=shown, last=shown[-1].run.ordinal if len(steps) > limit else None
    )


def _state(row: Mapping[str, Any]) -> EnrollmentState:
    enrollment = _record(Enrollment, "enrollment", row)
    enrollment.journey = _record(Journey, "journey", row)
    enrollment.revision = _record(JourneyRevision, "revision", row)
    enrollment.job = None if row["job.id"] is None else _record(EnrollmentJob, "job", row)
    return EnrollmentState(enrollment=enrollment, goes_on_at=row["goes_on_at"])


def _step(row: Mapping[str, Any]) -> RunWithWebhook:
    has_delivery = row["delivery.id"] is not None
    attempts = zip(*(row[f"attempts.{field}"] or () for field in _ATTEMPT_FIELDS), strict=True)
    return RunWithWebhook(
        run=_record(StepRun, "run", row),
        delivery=_record(WebhookDelivery, "delivery", row) if has_delivery else None,
        attempts=[WebhookAttempt.from_db(None, _ATTEMPT_FIELDS, values) for values in attempts],
    )


def _record(model: type[_Row], name: str, row: Mapping[str, Any]) -> _Row:
    """The relation's row, as Django would have read it."""
    fields = _FIELDS[name]
    return model.from_db(None, fields, [_read_back(model, field, row[f"{name}.{field}"]) for field in fields])


def _read_back(model: type[models.Model], field: str, value: Any) -> Any:
    read = getattr(model._meta.get_field(field), "from_db_value", None)
    return read(value, None, connection) if read else value

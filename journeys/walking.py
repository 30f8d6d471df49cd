"""Enrollments that are due go on with their journey's steps.

A wait is a `due_at` in PostgreSQL. One claim locks many due enrollments, works out each one's next stop, and writes
them all in one transaction; whatever dies in between leaves them due. Any number of walkers may run.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from django.db import connection, transaction

from journeys.revisions import steps_of_revisions
from journeys.steps.course import DelayStop, go_on

log = structlog.get_logger(__name__)
_BATCH = 500


@dataclass(frozen=True, kw_only=True)
class _Due:
    enrollment_id: str
    revision_id: int
    step_id: str
    began: bool


def walk_due(*, seconds: float) -> int:
    """Walks due enrollments, batch by batch, until none is due or the time is up; how many times one moved."""
    moved, until = 0, time.monotonic() + seconds
    while batch := walk_batch():
        moved += batch
        if time.monotonic() >= until:
            break
    if moved:
        log.info("enrollments_walked", moved=moved)
    return moved


def walk_batch() -> int:
    """Walks at most 500 due enrollments to their next stop, in one transaction."""
    with transaction.atomic():
        due, now = _claim()
        if not due:
            return 0
        steps = steps_of_revisions({enrollment.revision_id for enrollment in due})
        stops = [
            go_on(steps[enrollment.revision_id], step_id=enrollment.step_id, began=enrollment.began, now=now)
            for enrollment in due
        ]
        _write(due, stops)
    return len(due)


_CLAIM = """
SELECT id, revision_id, step_id, step_began_at IS NOT NULL, now() FROM journeys_enrollment
WHERE state = 'active' AND due_at <= now() ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED
"""


def _claim() -> tuple[list[_Due], datetime]:
    """The due enrollments that nobody else walks, locked, and the database's time (whose clock decides)."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [_BATCH])
        rows = cursor.fetchall()
    due = [_Due(enrollment_id=row[0], revision_id=row[1], step_id=row[2], began=row[3]) for row in rows]
    return due, rows[0][4] if rows else datetime.min.replace(tzinfo=UTC)


_WRITE = """
UPDATE journeys_enrollment SET
    step_id = stop.step_id, due_at = stop.due_at, attempts = 0,
    step_began_at = CASE WHEN stop.due_at IS NOT NULL THEN now() ELSE step_began_at END,
    state = CASE WHEN stop.due_at IS NULL THEN 'completed' ELSE 'active' END,
    ended_at = CASE WHEN stop.due_at IS NULL THEN now() END
FROM unnest(%s::text[], %s::text[], %s::timestamptz[]) AS stop(id, step_id, due_at)
WHERE journeys_enrollment.id = stop.id
"""


def _write(due: Sequence[_Due], stops: Sequence[DelayStop]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _WRITE,
            [
                [enrollment.enrollment_id for enrollment in due],
                [stop.step_id for stop in stops],
                [stop.due_at for stop in stops],
            ],
        )

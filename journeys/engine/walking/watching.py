"""What a write of the profile ends: waits for a condition (steps/wait_until.py), which may also become due at another
time, and enrollments whose exit condition holds while their webhook has not been delivered.

Runs in the transaction of whoever writes, with the customers' rows locked, so that no walker walks their enrollments
meanwhile: what begins later looks by itself. It is added to customers/watching.py.

Exit conditions are asked before each step, and here because a step that sends may take hours until it is done. A
customer is only marked for that if the journey has any. What becomes true by the clock alone is for the next step.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from customers.watching import unwatch
from engage.database.sql import Statement
from engage.process.budget import Thirds, for_many
from journeys.engine import wakeups
from journeys.engine.due import Due
from journeys.engine.enrollments.knowledge import known_to
from journeys.engine.enrollments.revisions import Courses, courses_of
from journeys.engine.enrollments.transitions import BEGAN_IN, EnrollmentExit, end_watches, exit_enrollments, reschedule
from journeys.steps.course import Course
from journeys.steps.wait_until import WaitUntil

log = structlog.get_logger(__name__)
_WATCHING = Statement(
    """
SELECT id, workspace_id, customer_id, revision_id, coalesce({began_in}, revision_id) AS began_in, step_id,
       watches_until, due_at, now() AS now
FROM journeys_enrollment enrollment
WHERE customer_id = ANY({customer_ids}::text[]) AND state = 'active' AND (watches_until IS NOT NULL OR (
    SELECT state FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1 LIMIT 1
) IN ('waiting', 'held') AND (
    SELECT exit_on @? '$[*].if' FROM journeys_journeyrevision known WHERE known.id = enrollment.revision_id LIMIT 1
))
""",
    began_in=BEGAN_IN,
)


def look(customer_ids: Collection[str]) -> None:
    """Makes due whose condition holds now, also if their journey is held: they go on then whatever it is by that time.
    Ends those who send, and whose exit condition holds.

    The number of statements does not grow with that of the customers. Workers are woken after the commit.
    """
    watching = _WATCHING.records(customer_ids=list(customer_ids))
    unwatch(set(customer_ids) - {row["customer_id"] for row in watching})
    if not watching:
        return
    with for_many(len(watching)):
        exits, held, due = _changed(watching)
    exit_enrollments(exits)
    end_watches(held)
    reschedule(due)
    if held:
        transaction.on_commit(lambda: wakeups.wake(Due(walk=True)), robust=True)


def _changed(watching: Sequence[dict[str, Any]]) -> tuple[list[EnrollmentExit], list[str], dict[str, datetime]]:
    """Who exits, whose wait is over, and when the waits of others are to be looked at again."""
    thirds = Thirds(row["workspace_id"] for row in watching)
    courses = courses_of({row[name] for row in watching for name in ("revision_id", "began_in")})
    known = known_to([row["id"] for row in watching], now=watching[0]["now"])
    held: list[str] = []
    due: dict[str, datetime] = {}
    exits: list[EnrollmentExit] = []
    for row in watching:
        sends = row["watches_until"] is None
        course = _course(row["revision_id" if sends else "began_in"], courses)
        what_it_knows = known.get(row["id"])
        if course is None or what_it_knows is None:  # the write is not to fail for what is wrong with a journey
            continue
        facts, step = what_it_knows(), course.steps.get(row["step_id"])
        with thirds.of(row["workspace_id"], row["id"]):
            reason = course.exit_rules.holding(facts) if sends else None
            holds = not sends and isinstance(step, WaitUntil) and step.holds(facts)
        if reason:
            exits.append(EnrollmentExit(enrollment_id=row["id"], reason=reason))
        elif holds:
            held.append(row["id"])
        elif sends or not isinstance(step, WaitUntil):
            continue
        elif row["due_at"] and (due_at := step.due_at(facts, row["watches_until"])) != row["due_at"]:
            due[row["id"]] = due_at
    return exits, held, due


def _course(revision_id: int, courses: Courses) -> Course | None:
    """None for a revision that cannot be read: its enrollments fail when they are walked; the write need not."""
    try:
        return courses.of(revision_id)
    except Exception:  # whatever is wrong with it
        log.exception("revision_unreadable", revision_id=revision_id)
        return None

"""Waits for a condition (steps/wait_until.py) that a write of the profile ends, or makes due at another time.

Runs in the transaction of whoever writes, with the customers' rows locked, so that no walker walks their enrollments
meanwhile: a wait that begins later looks by itself. It is added to customers/watching.py.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from customers.conditions import evaluate
from customers.watching import unwatch
from engage.database.sql import Statement
from journeys import wakeups
from journeys.due import Due
from journeys.enrollments.knowledge import known_to
from journeys.enrollments.revisions import Courses, courses_of
from journeys.enrollments.transitions import BEGAN_IN, end_watches, reschedule
from journeys.steps.wait_until import WaitUntil

log = structlog.get_logger(__name__)
_WATCHING = Statement(
    """
SELECT id, customer_id, coalesce({began_in}, revision_id) AS revision_id, step_id, watches_until, due_at, now() AS now
FROM journeys_enrollment enrollment
WHERE customer_id = ANY({customer_ids}::text[]) AND state = 'active' AND watches_until IS NOT NULL
""",
    began_in=BEGAN_IN,
)


def look(customer_ids: Collection[str]) -> None:
    """Makes due whose condition holds now, also if their journey is held: they go on then whatever it is by that time.

    The number of statements does not grow with that of the customers. Workers are woken after the commit.
    """
    watching = _WATCHING.records(customer_ids=list(customer_ids))
    unwatch(set(customer_ids) - {row["customer_id"] for row in watching})
    if not watching:
        return
    now: datetime = watching[0]["now"]
    courses, known = (
        courses_of({row["revision_id"] for row in watching}),
        known_to([row["id"] for row in watching], now=now),
    )
    held: list[str] = []
    due: dict[str, datetime] = {}
    for row in watching:
        step = _step(row, courses)
        what_it_knows = known.get(row["id"])
        if step is None or what_it_knows is None:  # the write is not to fail for what is wrong with a wait
            continue
        facts = what_it_knows()
        if evaluate(step.condition, facts):
            held.append(row["id"])
        elif row["due_at"] and (due_at := step.due_at(facts, row["watches_until"])) != row["due_at"]:
            due[row["id"]] = due_at
    end_watches(held)
    reschedule(due)
    if held:
        transaction.on_commit(lambda: wakeups.wake(Due(walk=True)), robust=True)


def _step(row: dict[str, Any], courses: Courses) -> WaitUntil | None:
    """None for a revision that cannot be read: its enrollments fail when they are walked; the write need not."""
    try:
        step = courses.of(row["revision_id"]).steps.get(row["step_id"])
    except Exception:  # whatever is wrong with it
        log.exception("revision_unreadable", revision_id=row["revision_id"])
        return None
    return step if isinstance(step, WaitUntil) else None

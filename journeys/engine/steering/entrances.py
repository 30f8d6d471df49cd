"""An entrance is exited: of whoever has it, what is queued is cancelled, and who is inside leaves. Exactly.

Whoever decides jobs or walks holds the customers' rows. So a transaction that holds them comes between: a job is
cancelled and enrolls nobody, or it has enrolled and its enrollment ends before the next step.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Annotated, Any

from django.db import transaction

from customers.identity.aliases import led_to
from customers.models import Customer
from engage.database.object_ids import ObjectId
from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from engage.json.fields import LEFT_OUT
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import count_entries
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.engine.jobs.merged import follow_merged
from journeys.models import EnrollmentJob, Journey

EXITED = "The entrance was exited by a call."
_AT_ONCE = 500  # customers in one transaction
_LOOKED_UP = 20_000  # jobs; to find them, all of the entrance are gone through
_EXIT_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class ExitedEntrance:
    """What became of an entrance."""

    journey_id: Annotated[ObjectId, "The journey's id."]
    entrance_id: Annotated[str, "The entrance's id."]
    cancelled: Annotated[int, "How many queued jobs the call has cancelled."]
    exited: Annotated[int, "How many enrollments the call has ended."]
    more: Annotated[
        bool | None, "`true` if time ran out, and others have the entrance still: call again.", LEFT_OUT
    ] = None


# A job that is queued, or whose enrollment is active; laterals with a limit (docs/sql.md).
_OPEN = Statement("""
SELECT job.customer_id, job.id FROM (
    SELECT id, customer_id, status FROM journeys_enrollmentjob
    WHERE journey_id = {journey_id} AND entrance = {entrance} AND coalesce(customer_id = {customer_id}::text, true)
    OFFSET 0
) AS job
LEFT JOIN LATERAL (
    SELECT state FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1
) AS enrollment ON true
WHERE job.status = 'queued' OR enrollment.state = 'active' LIMIT {most}
""")
_CANCEL = Statement("""
UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
WHERE id = ANY({job_ids}::bigint[]) AND status = 'queued'
RETURNING trigger_id
""")
_INSIDE = Statement("""
SELECT enrollment.id FROM unnest({job_ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = asked.id LIMIT 1) AS enrollment
WHERE enrollment.state = 'active'
""")


def exit_entrance(journey: Journey, *, entrance: str, customer_id: str | None) -> ExitedEntrance:
    """Exits the entrance of all customers who have it, or of one. What is queued later is not affected.

    If that takes more than some seconds, `more` tells that another call has to go on.
    """
    cancelled = exited = 0
    more, until = None, time.monotonic() + _EXIT_SECONDS
    with longer_statements():
        for found in _open(journey, entrance, customer_id):
            if cancelled + exited and time.monotonic() >= until:
                more = True
                break
            with transaction.atomic():
                numbers = _exit(journey, found)
            cancelled, exited = cancelled + numbers[0], exited + numbers[1]
    if cancelled:
        metric_counters.count(DECISIONS, EnrollmentJob.Result.CANCELLED.value, by=cancelled)
    return ExitedEntrance(journey_id=journey.id, entrance_id=entrance, cancelled=cancelled, exited=exited, more=more)


def _open(journey: Journey, entrance: str, customer_id: str | None) -> Iterator[dict[str, list[int]]]:
    """Jobs by their customers, of those who are not done with it, some at a time; who is left is found again."""
    asked = {"journey_id": journey.id, "entrance": entrance, "customer_id": customer_id, "most": _LOOKED_UP}
    while (found := sorted(_OPEN.rows(**asked))) or _follow(asked, journey):
        whose = ((one, [job_id for _, job_id in rows]) for one, rows in groupby(found, key=itemgetter(0)))
        while some := dict(islice(whose, _AT_ONCE)):
            yield some


def _follow(asked: dict[str, Any], journey: Journey) -> bool:
    """Whether the one customer was merged meanwhile; whoever they are now is asked for from then on."""
    one = asked["customer_id"]
    into = one and led_to(workspace_id=journey.workspace_id, field="id", value=one)
    asked["customer_id"] = into or one
    return bool(into)


def _exit(journey: Journey, found: dict[str, list[int]]) -> tuple[int, int]:
    """How many jobs were cancelled, and how many enrollments exited, of these customers; they are locked here.

    Those who were merged meanwhile are left: their jobs are whom they lead to, and found again.
    """
    there = Customer.objects.select_for_update(no_key=True).filter(id__in=found).order_by("id")
    held = set(there.values_list("id", flat=True))
    gone = found.keys() - held
    merged = follow_merged(gone, wait=not held) if gone else frozenset[str]()
    job_ids = [job_id for whose, job_ids in found.items() if whose not in merged for job_id in job_ids]
    triggers = _CANCEL.column(job_ids=job_ids, reason=EXITED)
    if triggers:
        result = EnrollmentJob.Result.CANCELLED.value
        count_entries(workspace_id=journey.workspace_id, journey_id=journey.id, result=result, number=len(triggers))
        forget_payloads_of_erased(set(triggers))
    return len(triggers), len(_exit_all(job_ids))


def _exit_all(job_ids: Sequence[int]) -> set[str]:
    inside = _INSIDE.column(job_ids=job_ids)
    return exit_enrollments(EnrollmentExit(enrollment_id=one, reason=EXITED) for one in inside)

"""The jobs of a customer who is merged into another one become that one's, and keep their ids.

A call enters a person once: if it has queued both, one of the two jobs is cancelled, as is one whose call excludes the
person. Jobs that are queued at the same moment, by calls that lock no customer, are followed when they are decided.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import transaction

from engage.database.sql import Rows, Statement
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.counts.counting import NO_REVISION, write_counts

_QUEUED_TWICE = "The call had queued this person twice: also as the customer who was merged into this one."
_EXCLUDED = "The call excludes the customer into whom this one was merged."


@dataclass(frozen=True, kw_only=True)
class MovedJobs:
    """How many jobs became another customer's, and how many of these and of that customer's were cancelled."""

    moved: int
    cancelled: int


# Jobs are found by their customer, and the other ones' by theirs and the journey: the unique index of job ids.
_CANCEL = Statement(
    """
WITH pair AS (
    SELECT former.id, former.status, former.result, former.trigger_id, former.journey_id, merged.into_id,
           theirs.id AS their_id, theirs.status AS their_status
    FROM {merged}
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known WHERE known.customer_id = merged.former_id OFFSET 0
    ) AS former
    LEFT JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known
        WHERE known.customer_id = merged.into_id AND known.journey_id = former.journey_id
          AND known.trigger_id = former.trigger_id LIMIT 1
    ) AS theirs ON true
), doubled AS (
    SELECT id, CASE WHEN their_id IS NULL THEN {excluded} ELSE {twice} END AS reason FROM pair
    WHERE status = 'queued' AND (their_id IS NOT NULL OR EXISTS (
        SELECT FROM journeys_trigger sent
        WHERE sent.id = pair.trigger_id AND jsonb_exists(sent.selection -> 'exempt', pair.into_id)
    ))
    UNION ALL SELECT their_id, {twice} FROM pair WHERE result = 'enrolled' AND their_status = 'queued'
)
UPDATE journeys_enrollmentjob job SET status = 'cancelled', result = 'cancelled', reason = doubled.reason,
    decided_at = now()
FROM doubled WHERE job.id = ANY(ARRAY[doubled.id]) AND job.status || '' = 'queued'
RETURNING job.workspace_id, job.journey_id
""",
    merged=Rows("merged", {"former_id": "text", "into_id": "text"}),
)
# Where the other one has a job of the same millisecond, it moves past all of both.
_MOVE = Statement(
    """
UPDATE journeys_enrollmentjob job
SET customer_id = moved.into_id, queued_ms = moved.ms, queued_as = coalesce(
    job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms
)
FROM (
    SELECT former.id, merged.into_id, CASE WHEN taken.same THEN taken.latest + row_number() OVER (
        PARTITION BY merged.into_id, former.journey_id ORDER BY former.queued_ms
    ) ELSE former.queued_ms END AS ms
    FROM {merged}
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known WHERE known.customer_id = merged.former_id OFFSET 0
    ) AS former
    CROSS JOIN LATERAL (
        SELECT max(queued_ms) AS latest,
               bool_or(queued_ms = former.queued_ms AND known.customer_id = merged.into_id) AS same
        FROM journeys_enrollmentjob known
        WHERE known.customer_id IN (merged.former_id, merged.into_id) AND known.journey_id = former.journey_id
    ) AS taken
) AS moved
WHERE job.id = ANY(ARRAY[moved.id])
""",
    merged=Rows("merged", {"former_id": "text", "into_id": "text"}),
)


def move_jobs(merged: Sequence[tuple[str, str]]) -> MovedJobs:
    """Moves the jobs of each first customer to the second. Either holds the locks of both, or the first one is gone."""
    ended = _CANCEL.rows(merged=merged, twice=_QUEUED_TWICE, excluded=_EXCLUDED)
    if ended:
        write_counts(Counter((*whose, NO_REVISION, "entry", "cancelled", "") for whose in ended))
        transaction.on_commit(lambda: metric_counters.count(DECISIONS, "cancelled", by=len(ended)), robust=True)
    return MovedJobs(moved=_MOVE.execute(merged=merged), cancelled=len(ended))


_MERGED = Statement("SELECT id, customer_id FROM customers_alias WHERE id = ANY({customer_ids}::text[])")


def follow_merged(customer_ids: Collection[str]) -> frozenset[str]:
    """Those of these customers, who are not there, who were merged. Their jobs are moved to whom they lead to."""
    merged = _MERGED.rows(customer_ids=list(customer_ids)) if customer_ids else []
    if merged:
        move_jobs(merged)
    return frozenset(former for former, _ in merged)

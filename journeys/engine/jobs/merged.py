"""The jobs of a customer who is merged into another one become that one's, and keep their ids.

A call enters a person once: if it has queued both, one of the two jobs is cancelled, as is one whose call excludes the
person. If both have one entrance in a journey, the other one's job keeps it: what is queued of this one is cancelled,
and what was decided gives it up. Jobs that are queued at the same moment, by calls that lock no customer, are followed
when they are decided.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import transaction

from engage.database.sql import Rows, Statement
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import NO_REVISION, write_counts

_QUEUED_TWICE = "The call had queued this person twice: also as the customer who was merged into this one."
_ENTRANCE = "The customer into whom this one was merged has this entrance."
_EXCLUDED = "The call excludes a customer who is this one since a merge."


@dataclass(frozen=True, kw_only=True)
class MovedJobs:
    """How many jobs became another customer's, and how many of these and of that customer's were cancelled."""

    moved: int
    cancelled: int


# Jobs are found by their customer, and the other one's by theirs and the journey: the unique index of job ids. Several
# may be merged into one at once.
_FORMER = """
    SELECT job.*, merged.into_id FROM {merged} CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known WHERE known.customer_id = merged.former_id OFFSET 0
    ) AS job
"""
_PAIRS = Rows("merged", {"former_id": "text", "into_id": "text"})
# Whoever takes a call back, or gives one up, locks jobs and no customers. They are waited for before what is queued is
# read: a statement that waits amid its work goes on with what it has read.
_HOLD_QUEUED = Statement(
    """
SELECT FROM journeys_enrollmentjob WHERE id = ANY(ARRAY(
    SELECT job.id FROM {merged} CROSS JOIN LATERAL (
        SELECT id FROM journeys_enrollmentjob known
        WHERE known.customer_id IN (merged.former_id, merged.into_id) AND known.status = 'queued' OFFSET 0
    ) AS job
)) ORDER BY id FOR NO KEY UPDATE
""",
    merged=_PAIRS,
)
# Of the jobs of one call one stays: who has entered by it, else the other one's own, else the first.
_CANCEL = Statement(
    """
WITH former AS MATERIALIZED ({former}), of_person AS (
    SELECT id, status, result, trigger_id, into_id, 1 AS place, entrance, journey_id FROM former
    UNION ALL
    SELECT theirs.id, theirs.status, theirs.result, theirs.trigger_id, called.into_id, 0, theirs.entrance, NULL
    FROM (SELECT DISTINCT into_id, journey_id, trigger_id FROM former) AS called
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known
        WHERE known.customer_id = called.into_id AND known.journey_id = called.journey_id
          AND known.trigger_id = called.trigger_id OFFSET 0
    ) AS theirs
), numbered AS (
    SELECT *, row_number() OVER (
        PARTITION BY into_id, trigger_id, entrance ORDER BY result <> 'enrolled', status = 'cancelled', place, id
    ) AS number FROM of_person
), ended AS (
    SELECT id, CASE WHEN number > 1 THEN {twice} WHEN is_theirs THEN {entrance} ELSE {excluded} END AS reason
    FROM numbered CROSS JOIN LATERAL (SELECT numbered.entrance IS NOT NULL AND EXISTS (
        SELECT FROM journeys_enrollmentjob holder
        WHERE holder.customer_id = numbered.into_id AND holder.journey_id = numbered.journey_id
          AND holder.entrance = numbered.entrance AND holder.holds_entrance
    ) AS is_theirs) AS compared
    WHERE status = 'queued' AND (number > 1 OR is_theirs OR EXISTS (
        SELECT FROM journeys_trigger sent
        WHERE sent.id = numbered.trigger_id AND jsonb_exists(sent.selection -> 'exempt', numbered.into_id)
    ))
)
UPDATE journeys_enrollmentjob job SET status = 'cancelled', result = 'cancelled', reason = ended.reason,
    decided_at = now()
FROM ended WHERE job.id = ANY(ARRAY[ended.id]) AND job.status || '' = 'queued'
RETURNING job.workspace_id, job.journey_id
""",
    former=_FORMER,
    merged=_PAIRS,
)
# Where the other one will have a job of the same millisecond, it moves past all of them.
_MOVE = Statement(
    """
WITH former AS MATERIALIZED (
    SELECT id, journey_id, queued_ms, into_id, entrance, holds_entrance,
           row_number() OVER (PARTITION BY into_id, journey_id, entrance, holds_entrance ORDER BY id) AS nth_holder,
           row_number() OVER (PARTITION BY into_id, journey_id, queued_ms ORDER BY id) > 1 AS is_second,
           max(queued_ms) OVER (PARTITION BY into_id, journey_id) AS latest
    FROM ({former}) AS job
), compared AS (
    SELECT former.*, greatest(former.latest, theirs.latest) AS latest_of_all, is_second OR theirs.same IS TRUE AS taken
    FROM former CROSS JOIN LATERAL (
        SELECT max(queued_ms) AS latest, bool_or(queued_ms = former.queued_ms) AS same
        FROM journeys_enrollmentjob known
        WHERE known.customer_id = former.into_id AND known.journey_id = former.journey_id
    ) AS theirs
), moved AS (
    SELECT id, into_id, CASE WHEN taken THEN latest_of_all + row_number() OVER (
        PARTITION BY into_id, journey_id, taken ORDER BY queued_ms, id
    ) ELSE queued_ms END AS ms, CASE WHEN holds_entrance AND nth_holder = 1 AND NOT EXISTS (
        SELECT FROM journeys_enrollmentjob holder
        WHERE holder.customer_id = into_id AND holder.journey_id = compared.journey_id
          AND holder.entrance = compared.entrance AND holder.holds_entrance
    ) THEN true END AS holds
    FROM compared
)
UPDATE journeys_enrollmentjob job
SET customer_id = moved.into_id, queued_ms = moved.ms, holds_entrance = moved.holds, queued_as = coalesce(
    job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms
)
FROM moved WHERE job.id = ANY(ARRAY[moved.id])
""",
    former=_FORMER,
    merged=_PAIRS,
)


def move_jobs(merged: Sequence[tuple[str, str]]) -> MovedJobs:
    """Moves the jobs of each first customer to the second, who is locked; the first one is locked, too, or gone."""
    _HOLD_QUEUED.execute(merged=merged)
    ended = _CANCEL.rows(merged=merged, twice=_QUEUED_TWICE, entrance=_ENTRANCE, excluded=_EXCLUDED)
    _count_cancelled(ended)
    return MovedJobs(moved=_MOVE.execute(merged=merged), cancelled=len(ended))


def _count_cancelled(ended: Sequence[tuple[str, str]]) -> None:
    if ended:
        write_counts(Counter((*whose, NO_REVISION, "entry", "cancelled", "") for whose in ended))
        transaction.on_commit(lambda: metric_counters.count(DECISIONS, "cancelled", by=len(ended)), robust=True)


_CANCEL_EXCLUDED = Statement("""
UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
WHERE id = ANY({job_ids}::bigint[]) AND status = 'queued' RETURNING workspace_id, journey_id
""")


def cancel_excluded(job_ids: Sequence[int]) -> None:
    """Cancels jobs, whose customers are locked, of calls that exclude somebody who was merged into their customer.

    Whoever decides the jobs does so, and no merge: the call may have been queued at the same moment.
    """
    _count_cancelled(_CANCEL_EXCLUDED.rows(job_ids=list(job_ids), reason=_EXCLUDED))


_MERGED = """
SELECT merged.id, merged.customer_id, locked.found IS TRUE AS is_locked
FROM (
    SELECT id, customer_id FROM customers_alias WHERE id = ANY({customer_ids}::text[]) ORDER BY customer_id OFFSET 0
) AS merged
LEFT JOIN LATERAL (
    SELECT true AS found FROM customers_customer known WHERE known.id = merged.customer_id
    LIMIT 1 FOR NO KEY UPDATE {unless_locked}
) AS locked ON true
"""
_LOCK_MERGED, _LOCK_FREE = Statement(_MERGED, unless_locked=""), Statement(_MERGED, unless_locked="SKIP LOCKED")


def follow_merged(customer_ids: Collection[str], *, wait: bool) -> frozenset[str]:
    """Those of these customers, who are not there, who were merged. Their jobs are moved to whom they lead to.

    `wait`: waits for those whom others have locked, instead of leaving these jobs for the next time. Whoever holds
    other customers must not: the locks would be taken in another order.
    """
    if not customer_ids:
        return frozenset()
    merged = (_LOCK_MERGED if wait else _LOCK_FREE).rows(customer_ids=list(customer_ids))
    if to_move := [(former, into) for former, into, is_locked in merged if is_locked]:
        move_jobs(to_move)
    return frozenset(former for former, _, _ in merged)

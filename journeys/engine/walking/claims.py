"""Whose turn it is to be walked: a committed claim of due enrollments, from which no tenant's crowd keeps the others.

1. Usually all that is due fits into one batch, the longest due first. If it does not, batches are taken in turn: from
   each workspace an equal share.
2. There are two lanes: those who entered in a crowd (a large call, many events at once) have turns apart from the
   others, so that nobody else waits for a crowd of their own workspace either.
3. The lanes' workspaces are found by skipping through an index from one to the next, a batch of them at a time, however
   many enrollments each has. Each process goes round them, and begins where it ended.
4. A batch is walked in turn, too: the first of each workspace and lane, by chance, then the second ones. So if there is
   no time for all, nobody is left out each time.
5. One that was tried before is taken alone, and in turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Statement
from journeys.engine.enrollments.transitions import CLAIM_CHOSEN, UNCLAIMED, ClaimedEnrollment

BATCH = 500

# Customers and enrollments are locked for the statement only, and skipped if another transaction has locked them. Of
# one customer's enrollments one is taken, since what it does may affect the others: the one that was due first, or that
# was queued first.
# The claim is short: while the walker lives, its locks on the customers keep other walkers away.
#
# The planner's statistics may be from a time when no enrollment was due, or no customer existed, so it has no choice:
# each customer is looked up by key, (docs/sql.md), not before it is the enrollment's turn; and the
# update selects by id alone, since what is locked is known to be due.
_FREE = """
    SELECT enrollment.* FROM ({due}) AS enrollment
    CROSS JOIN LATERAL (
        SELECT FROM customers_customer known WHERE known.id = enrollment.customer_id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS customer
"""

_CLAIM = """
chosen AS (
    SELECT DISTINCT ON (customer_id) id, due_at, place FROM due ORDER BY customer_id, due_at, job_id
), claimed AS ({claim_chosen})
"""

_LONGEST_DUE = """
WITH due AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY crowd, workspace_id ORDER BY due_at, job_id) AS place
    FROM ({free} LIMIT {most}) AS longest
), {claim}
SELECT claimed.*, (SELECT count(*) FROM due) = {most} AS is_full FROM claimed
WHERE until IS NOT NULL ORDER BY place, random()
"""

_DUE = """
    SELECT id, customer_id, due_at, job_id, crowd, workspace_id FROM journeys_enrollment, {in_index_order}
    WHERE due_at <= now() AND attempts = 0 AND {unclaimed}
    ORDER BY due_at OFFSET 0 FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
"""

# The indexes that serve turns end with this expression, and it stands in these statements, so that no index of due
# times serves them as well: it would go through everybody else's.
_MOMENT = "coalesce(due_at, 'infinity')"

_NEXT_WORKSPACE = """
    SELECT crowd, workspace_id, due_at FROM journeys_enrollment, {in_index_order}
    WHERE due_at IS NOT NULL AND {whose} AND {unclaimed}
      AND (crowd, workspace_id) > (before.crowd, before.workspace_id)
    ORDER BY crowd, workspace_id, {moment} LIMIT 1
"""

_DUE_OF_ONE = """
    SELECT id, customer_id, due_at, job_id FROM journeys_enrollment, {in_index_order}
    WHERE due_at IS NOT NULL AND {whose} AND {moment} <= now() AND {unclaimed}
      AND crowd = served.crowd AND workspace_id = served.workspace_id
    ORDER BY {moment} OFFSET 0 FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
"""

_IN_TURN = """
WITH RECURSIVE turn AS (
    (SELECT found.* FROM (VALUES ({crowd}::boolean, {workspace_id}::text), (false, ''))
         AS before(crowd, workspace_id)
     CROSS JOIN LATERAL ({next_workspace}) AS found LIMIT 1)
    UNION ALL
    SELECT found.* FROM turn AS before CROSS JOIN LATERAL ({next_workspace}) AS found WHERE found.crowd = before.crowd
), looked_at AS MATERIALIZED (
    SELECT *, row_number() OVER () AS number FROM (SELECT * FROM turn LIMIT {looks}) AS first
), served AS MATERIALIZED (
    SELECT *, count(*) OVER () AS workspaces
    FROM (SELECT * FROM looked_at WHERE due_at <= now() ORDER BY number LIMIT {most}) AS first
), due AS MATERIALIZED (
    SELECT own.* FROM served CROSS JOIN LATERAL (
        SELECT *, row_number() OVER (ORDER BY due_at, job_id) AS place
        FROM ({free} LIMIT greatest(1, {most} / served.workspaces)) AS free
    ) AS own
), {claim}
SELECT last.crowd, last.workspace_id, claimed.*
FROM (
    SELECT crowd, workspace_id FROM looked_at WHERE number = (
        SELECT CASE WHEN count(*) = {most} THEN max(number) ELSE (SELECT max(number) FROM looked_at) END FROM served
    )
) AS last
LEFT JOIN claimed ON until IS NOT NULL ORDER BY place, random()
"""

# Each condition is part of the statement's text, so that its partial index serves it.
_FRESH, _TRIED = "attempts = 0", "attempts > 0"


def _claim(text: str, *, due: str, whose: str) -> Statement:
    return Statement(
        text, free=_FREE, claim=_CLAIM, claim_chosen=CLAIM_CHOSEN, next_workspace=_NEXT_WORKSPACE, due=due,
        in_index_order=IN_INDEX_ORDER, whose=whose, moment=_MOMENT, unclaimed=UNCLAIMED,
    )  # fmt: skip


_CLAIM_LONGEST_DUE = _claim(_LONGEST_DUE, due=_DUE, whose=_FRESH)
_CLAIM_IN_TURN = _claim(_IN_TURN, due=_DUE_OF_ONE, whose=_FRESH)
_CLAIM_TRIED = _claim(_IN_TURN, due=_DUE_OF_ONE, whose=_TRIED)

_BEGINNING = (False, "")
# By statement: the lane and the workspace at which this process ended.
_last: dict[Statement, tuple[bool, str]] = {}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Claimed enrollments, each of a different customer, in the order in which they are to be walked.

    `others_wait` if more may be due, so that the next batch is to be taken in turn.
    """

    enrollments: Sequence[ClaimedEnrollment]
    others_wait: bool


def claim_longest_due() -> Batch:
    """At most BATCH due enrollments not tried before: the longest due of all."""
    rows = _CLAIM_LONGEST_DUE.records(most=BATCH)
    return Batch(enrollments=[_claimed(row) for row in rows], others_wait=any(row["is_full"] for row in rows))


def claim_in_turn() -> Batch:
    """At most BATCH due enrollments not tried before, of the next lane: from each of its next workspaces as many."""
    enrollments = _claim_in_turn(_CLAIM_IN_TURN, most=BATCH)
    return Batch(enrollments=enrollments, others_wait=bool(enrollments))


def claim_tried() -> list[ClaimedEnrollment]:
    """One due enrollment that was tried before; it is walked alone, so that it cannot spoil others."""
    return _claim_in_turn(_CLAIM_TRIED, most=1)


def _claim_in_turn(statement: Statement, *, most: int) -> list[ClaimedEnrollment]:
    crowd, workspace_id = _last.get(statement, _BEGINNING)
    rows = statement.records(crowd=crowd, workspace_id=workspace_id, looks=BATCH, most=most)
    if rows:
        _last[statement] = rows[0]["crowd"], rows[0]["workspace_id"]
    return [_claimed(row) for row in rows if row["id"]]


def _claimed(row: Mapping[str, Any]) -> ClaimedEnrollment:
    return ClaimedEnrollment(row["id"], row["attempts"], row["due_at"], row["until"])


_IS_ANYBODY_DUE = Statement(
    "SELECT EXISTS (SELECT FROM journeys_enrollment WHERE due_at <= now() AND {unclaimed})", unclaimed=UNCLAIMED
)


def has_due() -> bool:
    """Whether an enrollment is due and not claimed: after a claim that found none, one whose customer is locked."""
    return bool(_IS_ANYBODY_DUE.column()[0])

"""What puts off an enrollment that a walker has claimed: it failed, was not tried, or is held with its journey.

All go by the claim: who has lost it to another walker changes nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Rows, Statement
from journeys.engine.enrollments.transitions import CLAIMED, STILL_CLAIMED, ClaimedEnrollment
from journeys.rules.failures import SNOOZE_SECONDS, pause_after

_OF_CLAIM = f"enrollment.id = ANY(ARRAY[claimed.id]) AND {STILL_CLAIMED}"
_RETRY = Statement(
    """
UPDATE journeys_enrollment enrollment
SET attempts = claimed.attempts, error = claimed.error, due_at = now() + {pause}, claimed_until = NULL
FROM {failures} WHERE {of_claim} AND enrollment.state || '' = 'active'
""",
    pause=pause_after("claimed.attempts"),
    failures=Rows("claimed", CLAIMED | {"attempts": "int", "error": "text"}),
    of_claim=_OF_CLAIM,
)


@dataclass(frozen=True, kw_only=True)
class FailedAttempt:
    """A failed attempt at a claimed enrollment, and why it failed."""

    claimed: ClaimedEnrollment
    error: str


def retry(failures: Sequence[FailedAttempt]) -> None:
    """Records why attempts failed, and delays the next ones."""
    if failures:
        _RETRY.execute(failures=[(*one.claimed.key, one.claimed.attempts, one.error) for one in failures])


_SNOOZE = Statement(
    """
UPDATE journeys_enrollment enrollment SET attempts = greatest(enrollment.attempts, {least}), error = claimed.error,
    due_at = now() + make_interval(secs => {seconds}), claimed_until = NULL
FROM {failures} WHERE {of_claim} AND enrollment.state || '' = 'active'
""",
    failures=Rows("claimed", CLAIMED | {"error": "text"}),
    of_claim=_OF_CLAIM,
)


def snooze(failures: Sequence[FailedAttempt], *, seconds: float = SNOOZE_SECONDS, alone: bool = False) -> None:
    """Records what enrollments wait for that may not be at fault themselves. The attempts do not count.

    They are retried for as long as it takes; once one was tried `alone`, always so: if it is at fault after all, it
    costs others nothing.
    """
    if failures:
        rows = [(*one.claimed.key, one.error) for one in failures]
        _SNOOZE.execute(seconds=seconds, least=int(alone), failures=rows)


_UNTRIED = Rows("claimed", CLAIMED)
_RELEASE_CLAIM = Statement(
    """
UPDATE journeys_enrollment enrollment
SET claimed_until = NULL, due_at = coalesce(now() + make_interval(secs => {seconds}), enrollment.due_at)
FROM {untried} WHERE {of_claim} AND enrollment.state || '' = 'active'
""",
    untried=_UNTRIED,
    of_claim=_OF_CLAIM,
)


def release(untried: Sequence[ClaimedEnrollment], *, seconds: float | None = None) -> None:
    """Gives up the claims of enrollments that were not tried: they are as long due as before.

    With `seconds`, they are due after these.
    """
    if untried:
        _RELEASE_CLAIM.execute(seconds=seconds, untried=[one.key for one in untried])


# The journeys' rows are locked against a resumption: it resumes what was suspended before it, and nothing is after it.
_SUSPEND = Statement(
    """
WITH paused AS MATERIALIZED (
    SELECT id FROM journeys_journey
    WHERE id = ANY({journey_ids}::text[]) AND (held_at IS NOT NULL OR per_minute IS NOT NULL) ORDER BY id FOR SHARE
)
UPDATE journeys_enrollment enrollment
SET claimed_until = NULL, due_at = NULL, was_due_at = enrollment.due_at
FROM {untried} WHERE {of_claim} AND enrollment.state || '' = 'active'
  AND enrollment.journey_id = ANY(ARRAY(SELECT id FROM paused))
RETURNING enrollment.id
""",
    untried=_UNTRIED,
    of_claim=_OF_CLAIM,
)


def suspend(untried: Sequence[ClaimedEnrollment], *, journey_ids: Iterable[str]) -> None:
    """Suspends enrollments until their journeys are resumed.

    Those whose journey has been resumed meanwhile are released.
    """
    if untried:
        suspended = set(_SUSPEND.column(untried=[one.key for one in untried], journey_ids=sorted(set(journey_ids))))
        release([one for one in untried if one.id not in suspended])


# Whoever holds one meanwhile is passed over, and so are locks in another order. `start` is when the first of them is
# due; without it, each is due when it was.
_RESUME = Statement(
    """
WITH suspended AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY was_due_at, id) - 1 AS place FROM (
        SELECT id, was_due_at FROM journeys_enrollment, {in_index_order}
        WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL
        ORDER BY was_due_at LIMIT {most} FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
    ) AS first
)
UPDATE journeys_enrollment enrollment SET was_due_at = NULL, due_at = CASE WHEN enrollment.state || '' = 'active' THEN
    coalesce({start}::timestamptz + suspended.place * make_interval(secs => {seconds}), enrollment.was_due_at)
END
FROM suspended WHERE enrollment.id = ANY(ARRAY[suspended.id])
""",
    in_index_order=IN_INDEX_ORDER,
)


def resume_suspended(*, journey_id: str, start: datetime | None, seconds: float, most: int) -> int:
    """Makes at most so many of the journey's suspended enrollments due again, the longest due first; how many it were.

    With `start`, they are due from then on, so many seconds apart.
    """
    return _RESUME.execute(journey_id=journey_id, start=start, seconds=seconds, most=most)

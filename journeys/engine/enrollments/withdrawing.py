"""Messages are withdrawn with the enrollment or the journey that delivered them, unless they are over.

The row's lock decides against whoever ends it otherwise, so the customer need not be locked.
"""

import time
from collections.abc import Collection

from engage.database.sql import Statement

# Of those in a relation `named` (the enrollments' ids and states, the reason, and whether all go or those that are to),
# a part of the statement that exits those that have not ended. The ids are values that were given, in the collation of
# deliveries' index by them (docs/sql.md), and no index of all that are due leads past it.
WITHDRAW = """
    UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = statement_timestamp(), because = named.reason
    FROM named WHERE enrollment_id = ANY(ARRAY[named.id])
      AND coalesce(ended_at, 'infinity') = 'infinity'
      AND (named.withdraws OR withdraw_on_exit AND named.state = 'active')
"""
_OF_EXITED = Statement("""
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = 'The enrollment exited.'
WHERE enrollment_id = ANY({enrollment_ids}::text[]) AND ended_at IS NULL AND withdraw_on_exit
""")
_OF_JOURNEY = Statement("""
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = {because}
WHERE ended_at IS NULL AND id = ANY(ARRAY(
    SELECT id FROM journeys_inappdelivery WHERE journey_id = {journey_id} AND ended_at IS NULL
    LIMIT {most} FOR UPDATE SKIP LOCKED
))
""")
_IS_ANY_LEFT = Statement(
    "SELECT EXISTS (SELECT FROM journeys_inappdelivery WHERE journey_id = {journey_id} AND ended_at IS NULL)"
)
_AT_ONCE = 1000


def withdraw_of_exited(enrollment_ids: Collection[str]) -> None:
    """Withdraws what these enrollments, whose own steps have ended them, have delivered with `withdrawOnExit`."""
    if enrollment_ids:
        _OF_EXITED.execute(enrollment_ids=list(enrollment_ids))


def withdraw_of_journey(journey_id: str, *, because: str, until: float) -> bool:
    """Withdraws all that the journey has delivered, also to those who have completed it; returns whether that was all.

    Goes on until then (of the monotonic clock), but withdraws some in any case. What others have locked at the moment
    is left for the next time.
    """
    while _OF_JOURNEY.execute(journey_id=journey_id, because=because, most=_AT_ONCE) == _AT_ONCE:
        if time.monotonic() >= until:
            return False
    return not _IS_ANY_LEFT.column(journey_id=journey_id)[0]

"""Positions that readers keep: the feed's and the audit's, by which they ask for what came since.

They are drawn when something is read for the first time, under a lock, and lie behind the last and not before the
clock: so none comes again after a step back in time, which nothing in the database knows of. A standby that takes over
may lack what was told last, and so does a backup that is restored; a sequence would give its positions to other events,
which readers who are further never see. Only clocks that differ by more than a failover takes could do that.
"""

from engage.errors import Refusal

# In SQL. Seconds stay below 2**31 until 2088: clients of 1.0.0 read the audit's positions as integers of 32 bits.
MICROSECONDS = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
SECONDS_SINCE_2020 = "(floor(extract(epoch FROM clock_timestamp()))::bigint - 1577836800)"
# How far before its end a history is read again by who comes from another, as positions of the clocks may overlap.
READ_AGAIN_SECONDS = 3600


class CursorFromAnotherHistory(Refusal):
    """The cursor is ahead of all that is told here: a backup was restored, or a standby took over. `details` has the
    `after` to go on with; what was read behind it may not have happened.
    """

    status = 409
    error = "Cursor from another history"

    def __init__(self, after: str) -> None:
        super().__init__(
            "after is ahead of the last position, so it is of another history of this database: a backup was restored, "
            f"or a standby took over. Go on with after={after}. What you read behind it may not have happened.",
            details=[{"field": "after", "after": after}],
        )

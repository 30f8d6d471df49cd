"""How often a message was delivered lately, and what became of it: by day and journey, of the newest deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from engage.database.object_ids import first_id_at
from engage.database.sql import Statement

MOST_READ = 20_000
_FIGURES = Statement("""
SELECT (newest.created_at AT TIME ZONE 'UTC')::date AS day, newest.journey_id, count(*) AS delivered,
       count(newest.shown_at) AS shown, count(*) FILTER (WHERE newest.state = 'acted') AS acted,
       count(*) FILTER (WHERE newest.state = 'closed') AS closed,
       count(*) FILTER (WHERE newest.state = 'expired') AS expired
FROM (
    SELECT * FROM journeys_inappdelivery known
    WHERE known.message_id = {message_id} AND known.workspace_id = {workspace_id} AND known.id >= {since}
    ORDER BY known.id DESC LIMIT {most}
) AS newest
GROUP BY 1, 2 ORDER BY 1 DESC, 2
""")


@dataclass(frozen=True, kw_only=True)
class DeliveredOnDay:
    """What became, until now, of what a journey delivered on a day (in UTC)."""

    day: date
    journey_id: str
    delivered: int
    shown: int
    acted: int
    closed: int
    expired: int


def delivered_lately(*, workspace_id: str, message_id: str, since: datetime) -> Sequence[DeliveredOnDay]:
    """Of the newest MOST_READ deliveries from then on, the latest day first."""
    rows = _FIGURES.records(workspace_id=workspace_id, message_id=message_id, since=first_id_at(since), most=MOST_READ)
    return [DeliveredOnDay(**row) for row in rows]

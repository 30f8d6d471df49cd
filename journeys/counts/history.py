"""The counts as the history tells them: for what happened before there were counts, and to compare the two.

Each statement sees history and counts as of one moment, and whoever writes the one commits the other with it. So the
difference is what was never counted, whatever happens meanwhile.
"""

from collections.abc import Mapping

from django.db import connection, transaction

from journeys.counts.counting import Key
from journeys.counts.told import HISTORY, HISTORY_OF_ONE

_COUNTED = """
    SELECT workspace_id, journey_id, revision_id, begin AS hour, kind, name, outcome, number
    FROM journeys_count WHERE grain = 'hour'
    UNION ALL
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, number FROM journeys_countdelta
"""

_COUNT_WHAT_IS_MISSING = f"""
WITH {HISTORY}, missing AS (
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, sum(number) AS number
    FROM (SELECT *, 1 AS number FROM told UNION ALL SELECT {{columns}}, -number FROM ({_COUNTED}) AS counted) AS both_of
    GROUP BY workspace_id, journey_id, revision_id, hour, kind, name, outcome HAVING sum(number) > 0
), written AS (
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT * FROM missing
)
SELECT coalesce(sum(number), 0) FROM missing
""".replace("{columns}", "workspace_id, journey_id, revision_id, hour, kind, name, outcome")  # noqa: S608

_SUMS = f"""
WITH {HISTORY_OF_ONE}
SELECT workspace_id, journey_id, revision_id, kind, name, outcome, count(*) FROM told GROUP BY 1, 2, 3, 4, 5, 6
"""  # noqa: S608


def count_what_is_missing() -> int:
    """Counts the history that was never counted, and returns how much it is. May run under traffic, and twice.

    What the history has lost since it was counted stays counted.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('engage: count history', 0))")
        cursor.execute(_COUNT_WHAT_IS_MISSING)
        return int(cursor.fetchone()[0])


def counted_by_history(journey_id: str) -> Mapping[Key, int]:
    """The journey's counts, whatever the hour, as its whole history tells them. Reads all of it."""
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"journey_id": journey_id})
        return {(*row[:-1],): row[-1] for row in cursor.fetchall()}

"""A journey's counts as its whole history tells them, to compare."""

from collections.abc import Mapping

from engage.database.sql import Statement
from journeys.engine.counts.recounting import HISTORY
from tests.support.counts import InAnHour

_SUMS = Statement(
    """
WITH {history}
SELECT workspace_id, journey_id, revision_id, kind, name, outcome, hour, count(*)
FROM told WHERE journey_id = {journey_id} GROUP BY 1, 2, 3, 4, 5, 6, 7
""",
    history=HISTORY,
)


def counted_by_history(journey_id: str) -> Mapping[InAnHour, int]:
    """The journey's counts, by the hour."""
    return {(*key,): number for *key, number in _SUMS.rows(journey_id=journey_id)}

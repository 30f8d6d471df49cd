"""What all journeys did lately, hour by hour: decisions, and webhooks that were delivered or failed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engage.database.sql import Statement
from journeys.steps.definition import SENDING_TYPES

DELIVERED, FAILED = "webhook delivered", "webhook failed"
_HOUR = timedelta(hours=1)
# Folding keeps them few; where nobody folds, the overview does not read all that was ever written.
_DELTAS_READ = 100_000

Hours = Sequence[Counter[str]]


@dataclass(frozen=True, kw_only=True)
class LatelyDone:
    """In each of the hours that begin at `begins`: how many decisions by result, and webhooks by how they ended.

    In all journeys together, and in each of the busiest, by its id, the one with the most decisions first.
    """

    begins: Sequence[datetime]
    all: Hours
    busiest: Mapping[str, Hours]


# The counts know steps by name; which of them send, the revisions know: its own, or for the history of who has
# moved into one without the step, another one.
_LATELY = Statement("""
WITH counted AS MATERIALIZED (
    SELECT journey_id, begin, revision_id, kind, name, outcome, number FROM journeys_count
    WHERE grain = 'hour' AND kind IN ('entry', 'end') AND begin >= {since}
      AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
    UNION ALL
    SELECT journey_id, hour, revision_id, kind, name, outcome, number
    FROM (SELECT * FROM journeys_countdelta ORDER BY id LIMIT {deltas}) AS recent
    WHERE kind IN ('entry', 'end') AND hour >= {since}
      AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
), step AS MATERIALIZED (
    SELECT revision.id AS revision_id, revision.journey_id, step->>'id' AS name,
           step->>'type' = ANY({sending}::text[]) AS sends
    FROM journeys_journeyrevision revision CROSS JOIN LATERAL jsonb_array_elements(revision.steps) AS step
    WHERE revision.id = ANY(ARRAY(SELECT DISTINCT revision_id FROM counted WHERE kind = 'end'))
), anywhere AS MATERIALIZED (
    SELECT journey_id, name, bool_or(sends) AS sends FROM step GROUP BY journey_id, name
), summed AS MATERIALIZED (
    SELECT journey_id, begin, name AS what, sum(number) AS number FROM counted WHERE kind = 'entry' GROUP BY 1, 2, 3
    UNION ALL
    SELECT counted.journey_id, begin, CASE outcome WHEN 'done' THEN {delivered} ELSE {failed} END, sum(number)
    FROM counted JOIN anywhere USING (journey_id, name) LEFT JOIN step USING (revision_id, journey_id, name)
    WHERE coalesce(step.sends, anywhere.sends) AND kind = 'end' AND outcome IN ('done', 'failed') GROUP BY 1, 2, 3
), busiest AS (
    SELECT journey_id, row_number() OVER (
        ORDER BY sum(number) FILTER (WHERE what NOT IN ({delivered}, {failed})) DESC NULLS LAST, sum(number) DESC
    ) AS place
    FROM summed GROUP BY journey_id ORDER BY place LIMIT {most}
)
SELECT NULL, 0, begin, what, sum(number)::bigint FROM summed GROUP BY begin, what
UNION ALL
SELECT journey_id, busiest.place, begin, what, summed.number::bigint FROM summed JOIN busiest USING (journey_id)
ORDER BY 2
""")


def done_lately(*, now: datetime, hours: int, journeys: int, workspaces: Collection[str] | None = None) -> LatelyDone:
    """What was done in the last `hours`, the present one included, and by the busiest `journeys`; one statement.

    In these workspaces; None: in all.
    """
    own = None if workspaces is None else list(workspaces)
    this_hour = now.replace(minute=0, second=0, microsecond=0)
    begins = [this_hour - _HOUR * ago for ago in reversed(range(hours))]
    places = {begin: place for place, begin in enumerate(begins)}
    counts: dict[str | None, list[Counter[str]]] = defaultdict(lambda: [Counter() for _ in begins])
    rows = _LATELY.rows(
        since=begins[0],
        deltas=_DELTAS_READ,
        sending=list(SENDING_TYPES),
        delivered=DELIVERED,
        failed=FAILED,
        most=journeys,
        workspaces=own,
    )
    for journey_id, _, begin, what, number in rows:
        if begin in places:  # a clock may be ahead
            counts[journey_id][places[begin]][what] += number
    together = counts[None]
    del counts[None]
    return LatelyDone(begins=begins, all=together, busiest={str(journey): hours for journey, hours in counts.items()})

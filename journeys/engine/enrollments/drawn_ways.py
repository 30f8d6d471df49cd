"""Which way a customer went at the splits of a journey when they first came there, in any of their enrollments.

It is read from the history, and only for splits whose weights have been changed: otherwise the draw (steps/split.py)
comes out the same again. So nothing is written for it, and who walked before the change is known as well. Of a
completed enrollment whose history has been pruned, what its revision drew is drawn again.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

from engage.database.sql import Rows, Statement
from engage.errors import Refusal
from journeys.engine.enrollments.revisions import courses_of
from journeys.steps.split import Split

_DRAWN = Statement(
    """
SELECT asked.customer_id, asked.journey_id, first.* FROM {asked} CROSS JOIN LATERAL (
    SELECT DISTINCT ON (run.step_id) run.step_id, run.number, past.revision_id
    FROM journeys_enrollment past CROSS JOIN LATERAL (
        SELECT step_id, ordinal, substring(detail FROM '^Path ([0-9]+) of')::int - 1 AS number
        FROM journeys_steprun known
        WHERE known.enrollment_id = past.id AND known.type || '' = 'split' AND known.state || '' = 'done'
        UNION ALL
        SELECT '', 0, NULL WHERE past.state = 'completed' AND past.steps_begun > 0
          AND NOT EXISTS (SELECT FROM journeys_steprun known WHERE known.enrollment_id = past.id LIMIT 1)
    ) AS run
    WHERE past.customer_id = asked.customer_id AND past.journey_id || '' = asked.journey_id
    ORDER BY run.step_id, past.entered_at, run.ordinal
) AS first ORDER BY first.step_id
""",
    asked=Rows("asked", {"customer_id": "text", "journey_id": "text"}),
)


def drawn_ways(asked: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Mapping[str, int]]:
    """By customer and journey: the index of the path first taken at each split, in one statement; none for nobody."""
    rows = _DRAWN.rows(asked=sorted(set(asked))) if asked else []
    pruned = courses_of({revision_id for *_, step_id, _, revision_id in rows if not step_id})
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for customer_id, journey_id, step_id, number, revision_id in rows:
        ways = found[customer_id, journey_id]
        if step_id:
            ways.setdefault(step_id, number)
            continue
        with suppress(Refusal):  # a revision that cannot be read any more tells of no draw
            splits = [step for step in pruned.of(revision_id).steps.values() if isinstance(step, Split)]
            ways |= {step.id: step.path_of(journey_id=journey_id, customer_id=customer_id) for step in splits}
    return found

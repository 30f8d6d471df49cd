"""What a batch of walks adds to the counts (engine/counts/counting.py): the ways taken, and how steps ended."""

from collections import Counter
from collections.abc import Sequence

from engage.database.sql import Rows, Statement
from journeys.engine.counts.counting import Key
from journeys.engine.walking.positions import Position, Walked
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED
from journeys.steps.results import Ended


def counts_of(walks: Sequence[Walked]) -> Counter[Key]:
    """The counts of these walks."""
    numbers: Counter[Key] = Counter()
    earlier = _earlier_steps([walked.position for walked in walks])
    for walked in walks:
        position = walked.position
        whose = position.workspace_id, position.journey_id, position.revision_id
        last = position.step_id if position.began else earlier.get(position.claimed.id, ENTRY)
        for step in walked.walk.step_records:
            if not step.resumed:
                numbers[*whose, "edge", last, step.step_id] += 1
            if step.state != "waiting":
                numbers[*whose, "end", step.step_id, step.state] += 1
            last = step.step_id
        stop = walked.walk.stop
        if isinstance(stop, Ended):
            numbers[*whose, "edge", last, EXITED if stop.exited else COMPLETED] += 1
    return numbers


_EARLIER = Statement(
    """
SELECT asked.id, run.step_id FROM {asked}
CROSS JOIN LATERAL (
    SELECT step_id FROM journeys_steprun known
    WHERE known.enrollment_id = asked.id AND known.ordinal = asked.ordinal LIMIT 1
) AS run
""",
    asked=Rows("asked", {"id": "text", "ordinal": "int"}),
)


def _earlier_steps(positions: Sequence[Position]) -> dict[str, str]:
    """The last steps of those that paused between two, by enrollment. There are few: usually no statement."""
    paused = [position for position in positions if position.steps_begun and not position.began]
    return dict(_EARLIER.rows(asked=[(one.claimed.id, one.steps_begun - 1) for one in paused])) if paused else {}

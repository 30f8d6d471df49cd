"""Goals of enrollments: watched from their beginning, and counted in the transaction that records their event.

Who calls holds the customers' row locks. So an event that finds no watch came before the enrollment began, and what the
enrollment has gone through stands still while it is counted.
"""

import json
from collections.abc import Collection, Sequence
from typing import Annotated, NamedTuple

import structlog

from engage.database.sql import Rows, Statement
from engage.errors import Refusal
from journeys.engine.counts.counting import COUNT_GOALS
from journeys.steps.goals import HELD_OUT, LONGEST_WAY, Goal, parse_goals
from journeys.steps.kinds import COMPLETED, EXITED

log = structlog.get_logger(__name__)


class NewWatch(NamedTuple):
    """A goal that an enrollment, or one who is held out, may reach, for so many seconds from now on."""

    id: Annotated[str, "text"]
    workspace_id: Annotated[str, "text"]
    customer_id: Annotated[str, "text"]
    journey_id: Annotated[str, "text"]
    revision_id: Annotated[int, "bigint"]
    enrollment_id: Annotated[str | None, "text"]
    goal: Annotated[str, "text"]
    event_name: Annotated[str, "text"]
    seconds: Annotated[float, "float"]


_WATCH = Statement(
    """
INSERT INTO journeys_goalwatch
    (id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, goal, event_name, counted, until)
SELECT id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, goal, event_name, '{}',
       statement_timestamp() + seconds * interval '1 second'
FROM {watches}
""",
    watches=Rows.like("watch", NewWatch),
)


def watch_goals(watches: Sequence[NewWatch]) -> None:
    """Begins to watch."""
    if watches:
        _WATCH.execute(watches=watches)


_GOALS = Statement("SELECT id, goals FROM journeys_journey WHERE id = ANY({journey_ids}::text[]) AND goals IS NOT NULL")


def goals_of(journey_ids: Collection[str]) -> dict[str, dict[str, Goal]]:
    """The goals of journeys as they are now, by the journeys' ids and their keys."""
    return {journey_id: _parsed(journey_id, text) for journey_id, text in _GOALS.rows(journey_ids=list(journey_ids))}


def _parsed(journey_id: str, text: str) -> dict[str, Goal]:
    """None that this version cannot read: the events that they count must be recorded all the same."""
    try:
        return {goal.key: goal for goal in parse_goals(json.loads(text), stored=True)}
    except Refusal:
        log.exception("goals_unreadable", journey_id=journey_id)
        return {}


# Counted are the enrollment, each step that it had begun, and each way that it had taken from a branch or a split.
_REACH = Statement(
    """
WITH watch AS MATERIALIZED (
    SELECT found.id, found.enrollment_id FROM unnest({watches}::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_goalwatch known WHERE known.id = asked.id LIMIT 1) AS found
    WHERE found.reached_at IS NULL
), run AS MATERIALIZED (
    SELECT watch.id, begun.step_id, begun.type, coalesce(
        lead(begun.step_id) OVER (PARTITION BY watch.id ORDER BY begun.ordinal),
        CASE enrollment.state WHEN 'completed' THEN '{completed}' WHEN 'exited' THEN '{exited}' END
    ) AS following
    FROM watch
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment known WHERE known.id = watch.enrollment_id LIMIT 1
    ) AS enrollment
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun known WHERE known.enrollment_id = watch.enrollment_id OFFSET 0
    ) AS begun
), told AS (
    SELECT id, CASE WHEN enrollment_id IS NULL THEN '{held_out}' ELSE '' END AS outcome FROM watch
    UNION SELECT id, step_id FROM run
    UNION SELECT id, step_id || ' ' || following FROM run
    WHERE type IN ('branch', 'split') AND length(step_id || ' ' || following) <= {longest_way}
), reached AS (
    UPDATE journeys_goalwatch watch SET reached_at = statement_timestamp(), counted = outcomes
    FROM (SELECT id, array_agg(outcome ORDER BY outcome) AS outcomes FROM told GROUP BY id) AS counted
    WHERE watch.id = ANY(ARRAY[counted.id])
    RETURNING workspace_id, journey_id, revision_id, goal, watch.counted
)
{count_goals}
""",
    held_out=HELD_OUT,
    completed=COMPLETED,
    exited=EXITED,
    longest_way=str(LONGEST_WAY),
    count_goals=COUNT_GOALS,
)


def reach_goals(watch_ids: Collection[str]) -> None:
    """Notes that the goals of these watches are reached, and counts them."""
    if watch_ids:
        _REACH.execute(watches=list(watch_ids))

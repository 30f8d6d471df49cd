"""Enrollments that go over to another revision, or to another customer. Who calls holds the customers' row locks."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

from engage.database.sql import Rows, Statement
from journeys.engine.counts.counting import COUNT_MOVES
from journeys.engine.enrollments.transitions import BEGAN_IN


class Standing(NamedTuple):
    """A step of an older revision, whose number it has, at which one may stand who is moved; `sends` once it begins."""

    revision_id: Annotated[int, "bigint"]
    number: Annotated[int, "int"]
    step_id: Annotated[str, "text"]
    sends: Annotated[bool, "bool"]


_MOVE = Statement(
    """
WITH standing AS MATERIALIZED (
    SELECT inside.id, inside.revision_id, place.number
    FROM unnest({enrollment_ids}::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS inside
    JOIN {places} ON place.revision_id = inside.revision_id AND place.step_id = inside.step_id
    WHERE inside.state = 'active' AND inside.customer_id = ANY({customer_ids}::text[])
      AND NOT (place.sends AND inside.step_began_at IS NOT NULL)
), moved AS (
    UPDATE journeys_enrollment enrollment
    SET revision_id = {revision_id}, moves = coalesce(moves, '[]') || jsonb_build_array(jsonb_build_object(
        'at', statement_timestamp(), 'from', standing.number, 'to', {number}::int, 'stepsBegun', steps_begun,
        'beganIn', CASE WHEN step_began_at IS NOT NULL THEN coalesce({began_in}, enrollment.revision_id) END
    ))
    FROM standing WHERE enrollment.id = ANY(ARRAY[standing.id])
    RETURNING enrollment.id, workspace_id, journey_id, enrollment.revision_id, job_id, standing.revision_id AS was
), watched AS (
    UPDATE journeys_goalwatch watch SET revision_id = moved.revision_id
    FROM moved WHERE watch.enrollment_id = ANY(ARRAY[moved.id])
), counted AS ({count_moves})
SELECT id FROM moved
""",
    places=Rows.like("place", Standing),
    began_in=BEGAN_IN,
    count_moves=COUNT_MOVES,
)


def move(
    enrollment_ids: Sequence[str],
    *,
    customer_ids: Iterable[str],
    places: Sequence[Standing],
    revision_id: int,
    number: int,
) -> set[str]:
    """Lets those who stand at one of the places go on in the revision with this id and number; returns whom.

    `customer_ids` are those who are locked. What has begun goes on as it began: waits keep their times and events.
    """
    asked = {"enrollment_ids": list(enrollment_ids), "customer_ids": list(customer_ids)}
    return set(_MOVE.column(**asked, places=places, revision_id=revision_id, number=number))


_GIVE_TO = Statement("""
WITH delivered AS (
    UPDATE journeys_inappdelivery SET customer_id = {into}
    WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}
), watched AS (
    UPDATE journeys_goalwatch SET customer_id = {into}
    WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}
), drawn AS (
    UPDATE journeys_draw own SET customer_id = {into}
    WHERE own.customer_id = {anonymous} AND own.workspace_id || '' = {workspace_id}
      AND NOT EXISTS (SELECT FROM journeys_draw theirs
                      WHERE theirs.customer_id = {into} AND theirs.journey_id = own.journey_id)
      AND NOT EXISTS (SELECT FROM journeys_enrollment theirs
                      WHERE theirs.customer_id = {into} AND theirs.journey_id = own.journey_id)
)
UPDATE journeys_enrollment SET customer_id = {into}
WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}
""")


def give_to(*, workspace_id: str, anonymous: str, into: str) -> int:
    """Makes all enrollments of a customer, with what they have delivered and their goals, those of another one.

    Who gets them is active in none of the journeys in which the customer is. What was drawn about them stays; the
    customer's draws become theirs in other journeys.
    """
    return _GIVE_TO.execute(workspace_id=workspace_id, anonymous=anonymous, into=into)

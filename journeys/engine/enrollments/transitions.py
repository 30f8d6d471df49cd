"""What changes an enrollment's row: entering, being claimed and walked, hearing an event, ending early.

postponing.py and transfers.py have the rest.

Who calls must hold the customers' row locks, so that nobody else changes these enrollments meanwhile; claims go by the
claim instead. Rows are updated by key, and `|| ''` keeps the index of the active ones out of it (docs/sql.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from engage.database.sql import Rows, Statement
from engage.feed import telling
from journeys.engine.counts.counting import COUNT_ENDED_AT_ONCE, COUNT_EXITS
from journeys.engine.enrollments.withdrawing import WITHDRAW


class NewEnrollment(NamedTuple):
    """An enrollment to be made: active and due, or ended as it begins."""

    id: Annotated[str, "text"]
    workspace_id: Annotated[str, "text"]
    journey_id: Annotated[str, "text"]
    customer_id: Annotated[str, "text"]
    revision_id: Annotated[int, "bigint"]
    job_id: Annotated[int, "bigint"]
    state: Annotated[str, "text"]
    exit_reason: Annotated[str, "text"]
    step_id: Annotated[str, "text"]
    event_id: Annotated[str | None, "text"]
    chain: Annotated[int, "smallint"]
    crowd: Annotated[bool, "boolean"]
    entrance: Annotated[str | None, "text"] = None


# Of what ends as it begins, both are told.
_TELL_OF = {"customer_ids": "customer_id", "enrollment_ids": "id"}
_TELL_ENTERED = telling(
    "(SELECT 'enrollment.started' AS type, * FROM entered "
    "UNION ALL SELECT 'enrollment.' || state, * FROM entered WHERE state <> 'active') AS told",
    of="entered",
    **_TELL_OF,
)
_TELL_ENDED = telling(
    "(SELECT 'enrollment.' || state AS type, * FROM ended WHERE state <> 'active') AS told", of="ended", **_TELL_OF
)

_ENTER = Statement(
    """
WITH entered AS (
    INSERT INTO journeys_enrollment
        (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, event_id, chain,
         crowd, entrance, due_at, attempts, entered_at, ended_at)
    SELECT entry.*, CASE WHEN state = 'active' THEN now() END, 0, statement_timestamp(),
           CASE WHEN state <> 'active' THEN statement_timestamp() END
    FROM {entries}
    RETURNING workspace_id, journey_id, revision_id, state, id, customer_id
), told AS ({tell})
{count_ended_at_once}
""",
    tell=_TELL_ENTERED,
    count_ended_at_once=COUNT_ENDED_AT_ONCE,
    entries=Rows.like("entry", NewEnrollment),
)


def enter(entries: Sequence[NewEnrollment]) -> None:
    """Makes enrollments; those that are active are due to be walked.

    Counts those that end as they begin, but no entries.
    """
    if entries:
        _ENTER.execute(entries=entries)


class ClaimedEnrollment(NamedTuple):
    """An enrollment that has been due since `due_at`, and is claimed `until` then (as PostgreSQL writes both).

    `attempts` counts this one.
    """

    id: str
    attempts: int
    due_at: str
    until: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Tells this claim from others of the same enrollment, as a row of CLAIMED."""
        return self.id, self.due_at, self.until


# The claim of those in a relation `chosen`, a part of the statements that choose them (walking/claims.py). It changes
# nothing that is indexed. If a claim has run out, its walker has died: that attempt is counted now, and those that were
# claimed together are not claimed again, but found by claims of one that was tried before.
CLAIM_CHOSEN = """
    UPDATE journeys_enrollment enrollment
    SET attempts = attempts + (claimed_until IS NOT NULL)::int,
        claimed_until = CASE WHEN claimed_until IS NULL OR attempts > 0 THEN now() + interval '5 seconds' END
    FROM chosen WHERE enrollment.id = ANY(ARRAY[chosen.id])
    RETURNING enrollment.id, attempts + 1 AS attempts, enrollment.due_at::text, claimed_until::text AS until,
              chosen.place
"""
UNCLAIMED = "coalesce(claimed_until, '-infinity') <= now()"

# Claims, and whether one still holds, asked so that no index of due times serves it. The version before moves `due_at`
# when it claims, and leaves `claimed_until`.
CLAIMED = {"id": "text", "due_at": "timestamptz", "until": "timestamptz"}
STILL_CLAIMED = "enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at"


class EnrollmentStop(NamedTuple):
    """Where a walk has brought an enrollment: its new state, the step, when it is due there, and the event it waits
    for, or until when it waits for a condition. `steps_begun` counts all steps, and `began` is whether it has begun
    this one.
    """

    id: Annotated[str, "text"]
    step_id: Annotated[str, "text"]
    steps_begun: Annotated[int, "int"]
    state: Annotated[str, "text"] = "active"
    exit_reason: Annotated[str, "text"] = ""
    due_at: Annotated[str | None, "timestamptz"] = None
    awaits_event: Annotated[str, "text"] = ""
    began: Annotated[bool, "bool"] = True
    watches_until: Annotated[str | None, "timestamptz"] = None


_GO_ON = """
UPDATE journeys_enrollment enrollment SET
    state = stop.state, exit_reason = stop.exit_reason, step_id = stop.step_id, due_at = stop.due_at,
    awaits_event = stop.awaits_event, watches_until = stop.watches_until, steps_begun = stop.steps_begun,
    claimed_until = NULL, attempts = 0, error = '',
    step_began_at = CASE WHEN stop.began AND enrollment.steps_begun = stop.steps_begun THEN enrollment.step_began_at
                         WHEN stop.began THEN now() END,
    ended_at = CASE WHEN stop.state <> 'active' THEN now() END
FROM {stops} WHERE enrollment.id = ANY(ARRAY[stop.id])
"""
_STOPS = Rows.like("stop", EnrollmentStop)
_MOVE_ON = Statement(_GO_ON, stops=_STOPS)
_MOVE_ON_OR_END = Statement(
    """
WITH ended AS (
    {go_on} RETURNING enrollment.id, workspace_id, journey_id, customer_id, enrollment.state
)
{tell}
""",
    go_on=_GO_ON,
    tell=_TELL_ENDED,
    stops=_STOPS,
)


def go_on(stops: Sequence[EnrollmentStop]) -> None:
    """Brings walked enrollments to their stops."""
    ends = any(stop.state != "active" for stop in stops)
    (_MOVE_ON_OR_END if ends else _MOVE_ON).execute(stops=stops)


_HEARD = Rows("heard", {"id": "text", "event_id": "text", "chain": "smallint"})
_NOTE_HEARD = Statement(
    """
UPDATE journeys_enrollment enrollment SET event_id = heard.event_id, chain = heard.chain
FROM {heard} WHERE enrollment.id = ANY(ARRAY[heard.id])
""",
    heard=_HEARD,
)
_END_WAITS = Statement(
    """
UPDATE journeys_enrollment SET awaits_event = '', event_id = heard.event_id, chain = heard.chain, due_at = now(),
    was_due_at = NULL, claimed_until = NULL, attempts = 0, error = ''
FROM {heard} WHERE journeys_enrollment.id = ANY(ARRAY[heard.id])
""",
    heard=_HEARD,
)


def note_heard(heard: Mapping[str, tuple[str, int]]) -> None:
    """Keeps which event, with its place in a chain, ended a wait as it began, by enrollment."""
    if heard:
        _NOTE_HEARD.execute(heard=[(enrollment_id, *event) for enrollment_id, event in heard.items()])


def end_waits(heard: Mapping[str, tuple[str, int]]) -> None:
    """Makes enrollments due whose wait has been ended by this event."""
    if heard:
        _END_WAITS.execute(heard=[(enrollment_id, *event) for enrollment_id, event in heard.items()])


_END_WATCHES = Statement("""
UPDATE journeys_enrollment SET watches_until = NULL, due_at = now(), was_due_at = NULL, claimed_until = NULL,
    attempts = 0, error = ''
WHERE id = ANY({ids}::text[])
""")
_RESCHEDULE = Statement(
    """
UPDATE journeys_enrollment enrollment SET due_at = later.due_at, claimed_until = NULL
FROM {later} WHERE enrollment.id = ANY(ARRAY[later.id])
""",
    later=Rows("later", {"id": "text", "due_at": "timestamptz"}),
)


def end_watches(ids: Sequence[str]) -> None:
    """Makes enrollments due whose condition holds."""
    if ids:
        _END_WATCHES.execute(ids=ids)


def reschedule(due: Mapping[str, datetime]) -> None:
    """Makes enrollments that wait for a condition due at these moments."""
    if due:
        _RESCHEDULE.execute(later=[(enrollment_id, moment.isoformat()) for enrollment_id, moment in due.items()])


# Those in a relation `answered` whose webhook has come to its end, a part of the statement that writes its result.
MOVE_ANSWERED = """
    UPDATE journeys_enrollment SET due_at = now() WHERE id = ANY(ARRAY(SELECT id FROM answered)) RETURNING 1
"""


@dataclass(frozen=True, kw_only=True)
class EnrollmentExit:
    """An enrollment to end, and why.

    `withdraws`: with all messages that it delivered, also those that need not go, and also if it has ended before.
    """

    enrollment_id: str
    reason: str
    withdraws: bool = False


# Steps and webhooks that wait are stopped in the same statement: none goes on, or is sent, after the end.
_EXIT = Statement(
    """
WITH named AS MATERIALIZED (
    SELECT asked.id, known.state, known.steps_begun, asked.reason, asked.withdraws
    FROM {exits}
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment one WHERE one.id = asked.id LIMIT 1) AS known
), asked AS MATERIALIZED (
    SELECT id, steps_begun, reason FROM named WHERE state = 'active'
), ended AS (
    UPDATE journeys_enrollment enrollment
    SET state = 'exited', exit_reason = asked.reason, ended_at = statement_timestamp(), due_at = NULL,
        was_due_at = NULL, step_began_at = NULL, awaits_event = '', watches_until = NULL, claimed_until = NULL,
        attempts = 0, error = ''
    FROM asked WHERE enrollment.id = ANY(ARRAY[asked.id])
    RETURNING enrollment.id, workspace_id, journey_id, customer_id, state
), interrupted AS (
    UPDATE journeys_steprun SET state = 'interrupted', ended_at = statement_timestamp()
    WHERE id = ANY(ARRAY(
        SELECT run.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_steprun known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS run WHERE run.state = 'waiting'
    ))
), dropped AS (
    UPDATE journeys_webhookdelivery SET state = 'dropped', result = 'The enrollment ended before it was delivered.'
    WHERE id = ANY(ARRAY(
        SELECT delivery.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_webhookdelivery known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS delivery WHERE delivery.state IN ('waiting', 'held') AND NOT delivery.again
    ))
), withdrawn AS ({withdraw}), counted AS ({count_exits}), told AS ({tell})
SELECT id FROM ended
""",
    tell=_TELL_ENDED,
    withdraw=WITHDRAW,
    count_exits=COUNT_EXITS,
    exits=Rows("asked", {"id": "text", "reason": "text", "withdraws": "bool"}),
)


def exit_enrollments(exits: Iterable[EnrollmentExit]) -> set[str]:
    """Ends those of the enrollments that are active, in one statement, and returns their ids."""
    rows = [(one.enrollment_id, one.reason, one.withdraws) for one in exits]
    return set(_EXIT.column(exits=rows)) if rows else set()


# An expression: in which revision the wait under way began, if not in that of the enrollment. What is waited for is as
# it was begun; where that leads to is as it is now.
BEGAN_IN = """CASE
    WHEN (enrollment.moves->-1->>'stepsBegun')::int = enrollment.steps_begun AND enrollment.step_began_at IS NOT NULL
    THEN (enrollment.moves->-1->>'beganIn')::bigint
END"""

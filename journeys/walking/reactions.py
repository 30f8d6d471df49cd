"""What recorded events lead to: they end enrollments, move those that wait for them, and start journeys.

Runs in the transaction that records the events, with the customers' rows locked, so that no walker walks their
enrollments meanwhile. The caller that commits wakes the workers for what is then due (`wakeups.wake_for_reaction`).
An enrollment or a wait that begins later looks back for what it missed (enrollments/early_events.py).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from django.db import connection

from customers.events import NewEvent, record_events
from engage.database.fragment import Fragment, compose
from engage.database.named_rows import named_rows
from engage.errors import Refusal
from journeys.due import Reaction
from journeys.enrollments.exits import EnrollmentExit, exit_enrollments
from journeys.enrollments.revisions import Courses, courses_of
from journeys.entering.by_event import queue_entries, starts_nothing
from journeys.steps.course import Course
from journeys.steps.track_event import MAX_LINKS
from journeys.steps.wait_for_event import WaitForEvent

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class _ActiveEnrollment:
    """An enrollment that events may end or move."""

    id: str
    customer_id: str
    course: Course
    step_id: str
    awaits: str


@dataclass
class _Effects:
    """The effects of the events, before they are written."""

    exits: dict[str, EnrollmentExit] = field(default_factory=dict)
    moves: dict[str, NewEvent] = field(default_factory=dict)


def _any_number(_: int) -> bool:
    return True


def record_and_react(
    events: Sequence[NewEvent], *, except_for: Collection[str] = (), may_start: Callable[[int], bool] = _any_number
) -> Reaction:
    """Records the events and what they lead to; the number of statements does not grow with that of the events.

    `except_for` are enrollments that stay as they are: those whose own steps recorded the events. `may_start` is asked
    if the events start journeys, with the number of entries; if it says no, they start none, and all else is as usual.
    """
    record_events(events)
    reacting = [event for event in events if event.chain <= MAX_LINKS]
    if not reacting:
        return Reaction()
    inside = [one for one in _active_enrollments(reacting) if one.id not in except_for]
    effects = _effects(reacting, inside)
    exit_enrollments(list(effects.exits.values()))
    moves = {
        enrollment_id: event for enrollment_id, event in effects.moves.items() if enrollment_id not in effects.exits
    }
    _write_moves(moves)
    return Reaction(queued=queue_entries(reacting, may_queue=may_start), somebody_walks=bool(moves))


_ACTIVE_ENROLLMENTS = """
SELECT enrollment.id, enrollment.customer_id, enrollment.revision_id, enrollment.step_id, enrollment.awaits_event
FROM journeys_enrollment enrollment
JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
WHERE enrollment.customer_id = ANY(%(customers)s::text[]) AND enrollment.state = 'active'
  AND (enrollment.awaits_event = ANY(%(names)s::text[]) OR revision.exit_events && %(names)s::varchar[])
"""
# The predicate of _ACTIVE_ENROLLMENTS for one customer and one name; in a function
# (migrations/0011_notice_after_the_lock.py), because it must see what was committed before the row was locked.
_NOT_INSIDE = "NOT journeys_takes_notice(customer.id, %s)"


def unnoticed(event_name: str) -> Fragment:
    """The condition on a row `customer`, already locked, that the bridge's event of this name leads to nothing.

    It ends no enrollment, moves none, and starts no journey: it only has to be recorded.
    """
    return compose("{} AND {}", starts_nothing(event_name), Fragment(_NOT_INSIDE, [event_name]))


def _active_enrollments(events: Sequence[NewEvent]) -> list[_ActiveEnrollment]:
    """The active enrollments of the events' customers that may react to events of these names."""
    with connection.cursor() as cursor:
        cursor.execute(
            _ACTIVE_ENROLLMENTS,
            {
                "customers": list({event.customer_id for event in events}),
                "names": list({event.name for event in events}),
            },
        )
        rows = named_rows(cursor)
    courses = courses_of({row["revision_id"] for row in rows})
    return [
        _ActiveEnrollment(
            id=row["id"],
            customer_id=row["customer_id"],
            course=course,
            step_id=row["step_id"],
            awaits=row["awaits_event"],
        )
        for row in rows
        if (course := _course(row["revision_id"], courses)) is not None
    ]


def _course(revision_id: int, courses: Courses) -> Course | None:
    """None for a revision that cannot be read: its enrollments fail when they are walked; the events need not."""
    try:
        return courses.of(revision_id)
    except Refusal:
        log.exception("revision_unreadable", revision_id=revision_id)
        return None


def _effects(events: Sequence[NewEvent], inside: Sequence[_ActiveEnrollment]) -> _Effects:
    by_customer: dict[str, list[_ActiveEnrollment]] = {}
    for one in inside:
        by_customer.setdefault(one.customer_id, []).append(one)
    effects = _Effects()
    for event in events:
        for one in by_customer.get(event.customer_id, ()):
            _notice(one, event, effects)
    return effects


def _notice(inside: _ActiveEnrollment, event: NewEvent, effects: _Effects) -> None:
    """The first event that ends an enrollment ends it; the first one that it waits for moves it."""
    reason = inside.course.exit_rules.matching(
        name=event.name,
        properties=event.properties,
        from_bridge=event.source.is_bridge,
        message=event.message_id,
        verified=event.verified,
    )
    if reason is not None:
        effects.exits.setdefault(inside.id, EnrollmentExit(enrollment_id=inside.id, reason=reason))
    elif inside.awaits and _is_awaited(event, inside):
        effects.moves.setdefault(inside.id, event)


def _is_awaited(event: NewEvent, inside: _ActiveEnrollment) -> bool:
    step = inside.course.steps.get(inside.step_id)
    return isinstance(step, WaitForEvent) and step.pattern.matches(
        name=event.name,
        properties=event.properties,
        from_bridge=event.source.is_bridge,
        message=event.message_id,
        verified=event.verified,
    )


# Rows are updated by key, as in entering/waiting_jobs.py.
_MOVE = """
UPDATE journeys_enrollment SET awaits_event = '', event_id = heard.event_id, chain = heard.chain, due_at = now(),
    attempts = 0, error = ''
FROM unnest(%s::text[], %s::text[], %s::smallint[]) AS heard(id, event_id, chain)
WHERE journeys_enrollment.id = ANY(ARRAY[heard.id])
"""


def _write_moves(moves: Mapping[str, NewEvent]) -> None:
    if moves:
        with connection.cursor() as cursor:
            cursor.execute(
                _MOVE, [list(moves), [event.id for event in moves.values()], [event.chain for event in moves.values()]]
            )

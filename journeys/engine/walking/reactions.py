"""What recorded events lead to: they reach goals, end enrollments, move those that wait for them, and start journeys.

Runs in the transaction that records the events, with the customers' rows locked, so that no walker walks their
enrollments meanwhile. The caller that commits wakes the workers for what is then due (`wakeups.wake`).
An enrollment or a wait that begins later looks back for what it missed (enrollments/early_events.py).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import structlog
from django.utils import timezone

from customers.events import NewEvent, record_events
from engage.database.sql import Fragment, Statement, Template
from engage.process.budget import Thirds, for_many
from journeys.engine.due import Due
from journeys.engine.enrollments.goals import goals_of, reach_goals
from journeys.engine.enrollments.knowledge import known_to
from journeys.engine.enrollments.revisions import Courses, courses_of
from journeys.engine.enrollments.transitions import BEGAN_IN, EnrollmentExit, end_waits, exit_enrollments
from journeys.engine.entering.by_event import occurrence_of, queue_entries, starts_nothing
from journeys.steps.course import Course
from journeys.steps.events import EventPattern, Known, nothing_known
from journeys.steps.track_event import MAX_LINKS
from journeys.steps.wait_for_event import WaitForEvent

log = structlog.get_logger(__name__)
_Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _ActiveEnrollment:
    """An enrollment that events may end or move."""

    id: str
    customer_id: str
    journey_id: str
    course: Course
    began_in: Course  # its wait
    step_id: str
    awaits: str
    known: Known

    @property
    def awaited(self) -> EventPattern | None:
        """What it waits for at this moment."""
        step = self.began_in.steps.get(self.step_id) if self.awaits else None
        return None if step is None else step.awaited

    def looks_beyond(self, names: Collection[str], *, looks_ahead: bool) -> bool:
        """Whether it compares an event of these names with what it knows."""
        waits = self._waits_ahead() if looks_ahead else filter(None, [self.awaited])
        patterns = [*self.course.exit_rules.events, *waits]
        return any(pattern.looks_beyond and pattern.name in names for pattern in patterns)

    def gone_on(self) -> "_ActiveEnrollment":
        """Itself in the step that directly follows when the event has come, which may be a wait or not."""
        step = self.course.steps.get(self.step_id)
        following = step.on_event if isinstance(step, WaitForEvent) else None
        return replace(self, began_in=self.course, step_id=following or "")

    def _waits_ahead(self) -> Iterator[EventPattern]:
        one, seen = self, set[str]()
        while one.awaited is not None and one.step_id not in seen:
            yield one.awaited
            seen.add(one.step_id)
            one = one.gone_on()


class Reaction(NamedTuple):
    """What an event does to an enrollment: ends it for this reason, or, without one, moves it on from this step."""

    event: NewEvent
    enrollment_id: str
    journey_id: str
    step_id: str
    ends: str | None


class ReachedGoal(NamedTuple):
    """A goal that an event reaches: of an enrollment, or, without one, of somebody who is held out."""

    event: NewEvent
    watch_id: str
    journey_id: str
    enrollment_id: str | None
    goal: str


def _any_number(_: int) -> bool:
    return True


def record_and_react(
    events: Sequence[NewEvent], *, except_for: Collection[str] = (), may_start: Callable[[int], bool] = _any_number
) -> Due:
    """Records the events and what they lead to; the number of statements does not grow with that of the events.

    `except_for` are enrollments that stay as they are: those whose own steps recorded the events. `may_start` is asked
    if the events start journeys, with the number of entries; if it says no, they start none, and all else is as usual.
    """
    record_events(events)
    reacting = [event for event in events if event.chain <= MAX_LINKS]
    if not reacting:
        return Due()
    with for_many(len(reacting)):
        return _react(reacting, except_for=except_for, may_start=may_start)


def _react(reacting: Sequence[NewEvent], *, except_for: Collection[str], may_start: Callable[[int], bool]) -> Due:
    reached, found = effects_of(reacting, except_for=except_for)
    reach_goals([one.watch_id for one in reached])
    exit_enrollments(
        EnrollmentExit(enrollment_id=one.enrollment_id, reason=one.ends) for one in found if one.ends is not None
    )
    moves = {one.enrollment_id: (one.event.id, one.event.chain) for one in found if one.ends is None}
    end_waits(moves)
    return Due(jobs=queue_entries(reacting, may_queue=may_start), walk=bool(moves))


def effects_of(
    events: Sequence[NewEvent], *, except_for: Collection[str] = (), looks_ahead: bool = False
) -> tuple[list[ReachedGoal], list[Reaction]]:
    """What the events, in their order, do to what is there: goals that they reach, each once, and enrollments.

    The first event that ends an enrollment ends it; unless one does, the first that it waits for moves it. With
    `looks_ahead`, later ones move it on from waits that directly follow, as they will where these look back.
    """
    enrollments, watches = _listeners(events, except_for=except_for)
    return _reached(events, watches), _reactions(events, enrollments, looks_ahead=looks_ahead)


def _reactions(events: Sequence[NewEvent], rows: Sequence[_Row], *, looks_ahead: bool) -> list[Reaction]:
    inside: dict[str, dict[str, _ActiveEnrollment]] = {}
    for one in _active_enrollments(events, rows, looks_ahead=looks_ahead):
        inside.setdefault(one.customer_id, {})[one.id] = one
    ends, moves, thirds = dict[str, Reaction](), list[Reaction](), Thirds(event.workspace_id for event in events)
    for event in events:
        those = inside.get(event.customer_id, {})
        for one in list(those.values()):
            with thirds.of(event.workspace_id, one.journey_id):
                found = _reaction(one, event)
            if found is not None and found.ends is not None:
                ends.setdefault(one.id, found)
            elif found is not None:
                moves.append(found)
                those[one.id] = one.gone_on() if looks_ahead else replace(one, awaits="")
    return [*ends.values(), *(move for move in moves if move.enrollment_id not in ends)]


# The active enrollments that the events may end or move, and the goals that they may reach, also of those that have
# ended.
_LISTENERS = Statement(
    """
SELECT enrollment.id, enrollment.customer_id, enrollment.journey_id, enrollment.revision_id, enrollment.step_id,
       enrollment.awaits_event, coalesce({began_in}, enrollment.revision_id) AS began_in, NULL AS watch_id, NULL AS goal
FROM journeys_enrollment enrollment
JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
WHERE enrollment.customer_id = ANY({customers}::text[]) AND enrollment.state = 'active'
  AND (enrollment.awaits_event = ANY({names}::text[]) OR revision.exit_events && {names}::varchar[])
UNION ALL
SELECT watch.enrollment_id, watch.customer_id, watch.journey_id, NULL, NULL, watch.event_name, NULL, watch.id,
       watch.goal
FROM journeys_goalwatch watch
WHERE watch.customer_id = ANY({customers}::text[]) AND watch.event_name = ANY({names}::text[])
  AND watch.reached_at IS NULL AND watch.until > statement_timestamp()
""",
    began_in=BEGAN_IN,
)
# The predicate of _LISTENERS for one customer and one name; in a function (migrations/0071_events_reach_goals.py),
# because it must see what was committed before the row was locked.
_UNNOTICED = Template("{starts_nothing} AND NOT journeys_takes_notice(customer.id, {event_name})")


def unnoticed(event_name: str) -> Fragment:
    """The condition on a row `customer`, already locked, that the bridge's event of this name leads to nothing.

    It reaches no goal, ends no enrollment, moves none, and starts no journey: it only has to be recorded.
    """
    return _UNNOTICED.filled(starts_nothing=starts_nothing(event_name), event_name=event_name)


def _listeners(events: Sequence[NewEvent], *, except_for: Collection[str]) -> tuple[list[_Row], list[_Row]]:
    """What the events' customers have that events of these names may concern: active enrollments, and watched goals."""
    customers, names = list({event.customer_id for event in events}), list({event.name for event in events})
    rows = [row for row in _LISTENERS.records(customers=customers, names=names) if row["id"] not in except_for]
    return [row for row in rows if row["watch_id"] is None], [row for row in rows if row["watch_id"] is not None]


def _reached(events: Sequence[NewEvent], watches: Sequence[_Row]) -> list[ReachedGoal]:
    """The goals that are reached, each by the first such event; most events: none.

    Of which name, the watch says; the rest is as the journeys define it now.
    """
    if not watches:
        return []
    goals, known = goals_of({watch["journey_id"] for watch in watches}), nothing_known(timezone.now())
    told: dict[tuple[str, str], list[NewEvent]] = {}
    for event in events:
        told.setdefault((event.customer_id, event.name), []).append(event)
    found, thirds = [], Thirds(event.workspace_id for event in events)
    for watch in watches:
        if (defined := goals.get(watch["journey_id"], {}).get(watch["goal"])) is None:
            continue
        goal = replace(defined, name=watch["awaits_event"])
        for event in told.get((watch["customer_id"], watch["awaits_event"]), ()):
            with thirds.of(event.workspace_id, watch["journey_id"]):
                matches = goal.matches(occurrence_of(event), from_bridge=event.source.is_bridge, known=known)
            if matches:
                found.append(ReachedGoal(event, watch["watch_id"], watch["journey_id"], watch["id"], watch["goal"]))
                break
    return found


def _active_enrollments(
    events: Sequence[NewEvent], rows: Sequence[_Row], *, looks_ahead: bool
) -> list[_ActiveEnrollment]:
    """The rows as enrollments, with what those know that compare the events with it."""
    names = {event.name for event in events}
    courses, now = courses_of({row[name] for row in rows for name in ("revision_id", "began_in")}), timezone.now()
    active = [
        _ActiveEnrollment(
            id=row["id"],
            customer_id=row["customer_id"],
            journey_id=row["journey_id"],
            course=course,
            began_in=began_in,
            step_id=row["step_id"],
            awaits=row["awaits_event"],
            known=nothing_known(now),
        )
        for row in rows
        if (course := _course(row["revision_id"], courses)) is not None
        and (began_in := _course(row["began_in"], courses)) is not None
    ]
    beyond = [one.id for one in active if one.looks_beyond(names, looks_ahead=looks_ahead)]
    known = known_to(beyond, now=now) if beyond else {}
    return [replace(one, known=known[one.id]) if one.id in known else one for one in active] if known else active


def _course(revision_id: int, courses: Courses) -> Course | None:
    """None for a revision that cannot be read: its enrollments fail when they are walked; the events need not."""
    try:
        return courses.of(revision_id)
    except Exception:  # whatever is wrong with it
        log.exception("revision_unreadable", revision_id=revision_id)
        return None


def _reaction(inside: _ActiveEnrollment, event: NewEvent) -> Reaction | None:
    occurrence, from_bridge = occurrence_of(event), event.source.is_bridge
    reason = inside.course.exit_rules.matching(occurrence, from_bridge=from_bridge, known=inside.known)
    awaited = inside.awaited
    if reason is None and not (awaited and awaited.matches(occurrence, from_bridge=from_bridge, known=inside.known)):
        return None
    return Reaction(event, inside.id, inside.journey_id, inside.step_id, reason)

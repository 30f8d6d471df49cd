"""What reported events would do, without doing it: which journeys they start, and why they do not start others.

The events are taken in their order, as if they were recorded now: reactions.py says which goals they would reach and
what they would end and move, entering/by_event.py what they would start, and entering/dry_runs.py what a worker would
decide about that. Nobody is locked: it may come otherwise.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from django.utils import timezone

from customers.conditions import findings_of, why_not
from customers.events import NewEvent
from customers.identity.locks import find_customers_named
from engage.database.object_ids import ObjectId
from engage.errors import Refusal
from engage.json.fields import Spelled
from engage.json.keywords import known
from engage.process.budget import for_many, third
from journeys.engine.entering.by_event import EventJourney, NotStarted, listened_to, occurrence_of
from journeys.engine.entering.dry_runs import try_entries
from journeys.engine.walking.reactions import ReachedGoal, Reaction, effects_of
from journeys.engine.walking.recording import ReportedEvent, new_event
from journeys.models import Journey
from journeys.rules.entry_rules import Decision, Verdict
from journeys.steps.context import with_event
from journeys.steps.events import nothing_known

CLOSED = "closed"
_REASONS = [
    *(reason.value for reason in (NotStarted.WHERE_NOT_MET, NotStarted.FROM_BRIDGE, NotStarted.TOO_SLOW)),
    CLOSED,
    *(verdict.value for verdict in Verdict if verdict is not Verdict.ENROLLED),
]


@dataclass(frozen=True, kw_only=True)
class _OfJourney:
    journey_id: Annotated[ObjectId, "The journey's id."]
    key: Annotated[str, "The journey's key."]


@dataclass(frozen=True, kw_only=True)
class WouldStart(_OfJourney):
    """A journey that the customer would enter."""


@dataclass(frozen=True, kw_only=True)
class WouldMove(_OfJourney):
    """An enrollment that waits for the event, and would go on."""

    enrollment_id: ObjectId
    step_id: Annotated[str, "The step that waits."]


@dataclass(frozen=True, kw_only=True)
class WouldEnd(_OfJourney):
    """An enrollment that the event would end."""

    enrollment_id: ObjectId
    reason: str


@dataclass(frozen=True, kw_only=True)
class WouldCount(_OfJourney):
    """A goal of a journey that the event would reach, for an enrollment or for who was held out."""

    enrollment_id: Annotated[
        ObjectId | None, "The enrollment that would count, also one that has ended; null if the customer was held out."
    ]
    goal: Annotated[str, "The goal's key."]


@dataclass(frozen=True, kw_only=True)
class WouldNotStart(_OfJourney):
    """A journey that events of this name start, and that this one would not."""

    reason: Annotated[
        str,
        "`where_not_met`: the event does not meet the journey's `where`. `from_bridge`: events of in-app messages do "
        "not count there. `too_slow`: its `where` takes too much processor time. `closed`: it takes in nobody. Else "
        "the result that the job would have.",
        known(_REASONS),
    ]
    details: Annotated[
        Sequence[str],
        "For `where_not_met` and `conditions_not_met`: the tests that fail, each with the value that is there and what "
        "is wanted. For `too_slow`: how much is too much. For others the reason as text, if there is more to say.",
    ]


@dataclass(frozen=True, kw_only=True)
class TriedEvent:
    """What an event would do."""

    starts: Annotated[list[WouldStart], "The journeys that the customer would enter."] = field(default_factory=list)
    moves: Annotated[list[WouldMove], "The waiting enrollments that would go on."] = field(default_factory=list)
    ends: Annotated[list[WouldEnd], "The enrollments that would end."] = field(default_factory=list)
    goals: Annotated[
        list[WouldCount],
        "The goals that would be counted, by the first of the events that reaches each: for each enrollment, and each "
        "decision to hold the customer out.",
    ] = field(default_factory=list)
    not_started: Annotated[
        list[WouldNotStart], "The journeys that events of this name start, and that it would not.", Spelled("not")
    ] = field(default_factory=list)

    def about(self, journeys: Collection[str] | None) -> "TriedEvent":
        """As far as it is about the journeys with these ids; None: about any."""
        if journeys is None:
            return self
        return TriedEvent(
            **{name: [one for one in found if one.journey_id in journeys] for name, found in vars(self).items()}
        )


def try_reported_events(
    *,
    workspace_id: str,
    events: Sequence[ReportedEvent | Refusal],
    from_bridge: bool = False,
    journeys: Collection[str] | None = None,
) -> list[TriedEvent | Refusal]:
    """What `record_reported_events` would do, or, `from_bridge`, what the same events of in-app messages would do.

    Refusals are as there. Of other journeys than those with the ids in `journeys` nothing is told; None: of all it is.
    The number of statements does not grow with that of the events.
    """
    references = {event.customer for event in events if isinstance(event, ReportedEvent)}
    customers = find_customers_named(workspace_id=workspace_id, references=references)
    outcomes = [new_event(event, customers, workspace_id, from_bridge=from_bridge) for event in events]
    tried = _try([one for one in outcomes if isinstance(one, NewEvent)], workspace_id)
    return [tried[one.id].about(journeys) if isinstance(one, NewEvent) else one for one in outcomes]


def _try(events: Sequence[NewEvent], workspace_id: str) -> Mapping[str, TriedEvent]:
    """What each event would do, by its id."""
    with for_many(len(events)):
        return _try_within(events, workspace_id)


def _try_within(events: Sequence[NewEvent], workspace_id: str) -> Mapping[str, TriedEvent]:
    tried = {event.id: TriedEvent() for event in events}
    reached, reactions = effects_of(events, looks_ahead=True)
    concerned = {goal.journey_id for goal in reached} | {one.journey_id for one in reactions}
    keys = dict(Journey.objects.filter(id__in=concerned).values_list("id", "key"))
    for goal in reached:
        _add_goal(tried[goal.event.id], goal, key=keys[goal.journey_id])
    for one in reactions:
        _add_reaction(tried[one.event.id], one, key=keys[one.journey_id])
    starting: list[tuple[NewEvent, EventJourney]] = []
    for event, journey, refusal in listened_to(events, closed=True):
        if journey.active and refusal is None:
            starting.append((event, journey))
        else:
            tried[event.id].not_started.append(_missed(event, journey, refusal))
    decisions = try_entries(
        workspace_id=workspace_id,
        entries=[(journey.id, event) for event, journey in starting],
        ended={one.enrollment_id for one in reactions if one.ends is not None},
    )
    for (event, journey), decision in zip(starting, decisions, strict=True):
        _add_decision(tried[event.id], journey, decision)
    return tried


def _add_goal(to: TriedEvent, one: ReachedGoal, *, key: str) -> None:
    to.goals.append(WouldCount(journey_id=one.journey_id, key=key, enrollment_id=one.enrollment_id, goal=one.goal))


def _add_reaction(to: TriedEvent, one: Reaction, *, key: str) -> None:
    if one.ends is None:
        to.moves.append(
            WouldMove(journey_id=one.journey_id, key=key, enrollment_id=one.enrollment_id, step_id=one.step_id)
        )
    else:
        to.ends.append(WouldEnd(journey_id=one.journey_id, key=key, enrollment_id=one.enrollment_id, reason=one.ends))


def _add_decision(to: TriedEvent, journey: EventJourney, decision: Decision) -> None:
    if decision.enrolls:
        to.starts.append(WouldStart(journey_id=journey.id, key=journey.key))
    else:
        details = decision.details or [decision.reason]
        to.not_started.append(
            WouldNotStart(journey_id=journey.id, key=journey.key, reason=decision.verdict.value, details=details)
        )


def _missed(event: NewEvent, journey: EventJourney, refusal: NotStarted | None) -> WouldNotStart:
    reason, details = CLOSED if refusal is None or not journey.active else refusal.value, list[str]()
    where = journey.pattern.where
    if reason in {NotStarted.WHERE_NOT_MET, NotStarted.TOO_SLOW} and where is not None:
        facts = with_event(nothing_known(timezone.now())(), occurrence_of(event))
        with third():
            details = why_not(where, findings_of(facts))
    return WouldNotStart(journey_id=journey.id, key=journey.key, reason=reason, details=details)

"""The `journeys` of a seed file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engage.json.documents import Part
from engage.models import Workspace
from engage.resources.fields import Described
from engage.resources.resource import DefinitionWarning
from journeys.definitions.reading import InvalidSeed, read_described
from journeys.engine.steering.acts import closed_by
from journeys.journey.authoring import InvalidJourney, SavedJourney, save_journey
from journeys.journey.fields import JourneyFields
from journeys.models import Journey, SteeringAct
from journeys.seeding.secrets import read_steps

_PAST = {SteeringAct.Kind.CLOSE.value: "closed", SteeringAct.Kind.ABORT.value: "aborted"}


def read_journeys(part: Part) -> list[Described]:
    """`[{"key": "welcome", "name": "Welcome", "trigger": "api", …, "steps": […]}]`, of types alone: the values are
    checked when journeys are saved. Raises InvalidSeed.
    """
    return read_described(part, JourneyFields, instead={"steps": read_steps})


@dataclass(frozen=True, kw_only=True)
class SeededJourneys:
    """Each journey's id by its key; of those that the file would open, why they stay closed; and the warnings about
    definitions, with their places in the file.
    """

    ids: Mapping[str, str]
    stay_closed: Mapping[str, str]
    warnings: Sequence[DefinitionWarning]


def seed_journeys(*, workspace: Workspace, journeys: Sequence[Described], now: datetime) -> SeededJourneys:
    """Creates or updates the journeys one by one, as staff would. Raises InvalidSeed.

    One that staff or a key has closed, aborted or archived is not opened: the next deployment would undo it.
    """
    stay_closed = {
        one.key: why for one in journeys if one.changes.get("active") and (why := _why_closed(workspace, one.key))
    }
    saved = {one.key: _seed_journey(workspace, one, now, closed=one.key in stay_closed) for one in journeys}
    return SeededJourneys(
        ids={key: one.journey.id for key, one in saved.items()},
        stay_closed=stay_closed,
        warnings=[
            replace(warning, place=f"{one.place}.{warning.place}")
            for one in journeys
            for warning in saved[one.key].warnings
        ],
    )


def _why_closed(workspace: Workspace, key: str) -> str | None:
    """Who closed the journey, when and why; None if it is not there or may be opened. Locks it."""
    journey = Journey.objects.select_for_update(no_key=True).filter(workspace=workspace, key=key).first()
    act = None if journey is None else closed_by(journey)
    if act is not None:
        because = f": {act.reason}" if act.reason else "."
        return f"{_PAST[act.kind]} by {act.actor} at {act.at:%Y-%m-%d %H:%M} UTC{because}"
    return "archived by staff." if journey is not None and journey.archived_at else None


def _seed_journey(workspace: Workspace, described: Described, now: datetime, *, closed: bool) -> SavedJourney:
    changes = {**described.changes, **({"active": False} if closed else {})}
    try:
        return save_journey(workspace=workspace, key=described.key, now=now, **changes)
    except InvalidJourney as refusal:
        told = "\n".join(f"{described.place}.{one.message}" for one in refusal.all_found())
        raise InvalidSeed(told + refusal.and_more) from None

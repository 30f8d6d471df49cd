"""The `journeys` of a seed file."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import cast

from engage.json.documents import Part
from engage.models import Workspace
from journeys.design.authoring import SPELLINGS, InvalidJourney, JourneyChanges, save_journey
from journeys.seeding.reading import Described, InvalidSeed, read_described

# Types only: the values are checked when journeys are saved.
_READERS: Mapping[str, Callable[[Part], object]] = {
    "name": Part.text,
    "trigger_type": Part.text,
    "event_name": lambda part: "" if part.is_null else part.text(),
    "event_where": lambda part: part.value,
    "event_from_bridge": lambda part: part.is_null or part.flag(),
    "active": Part.flag,
    "max_entries_per_customer": lambda part: None if part.is_null else part.integer(),
    "allow_reenrollment": Part.flag,
    "entry_conditions": lambda part: part.value,
    "steps": lambda part: part.value,
    "exit_on": lambda part: part.value,
    "guards": lambda part: part.value,
}


def read_journeys(part: Part) -> list[Described]:
    """`[{"key": "welcome", "name": "Welcome", "trigger": "api", …, "steps": […]}]`. Raises InvalidSeed."""
    return read_described(part, _READERS, spellings=SPELLINGS)


def seed_journeys(*, workspace: Workspace, journeys: Sequence[Described], now: datetime) -> dict[str, str]:
    """Creates or updates the journeys one by one, as staff would; returns each one's id by its key.

    Raises InvalidSeed.
    """
    return {one.key: _seed_journey(workspace, one, now) for one in journeys}


def _seed_journey(workspace: Workspace, described: Described, now: datetime) -> str:
    changes = cast("JourneyChanges", described.changes)
    try:
        saved = save_journey(workspace=workspace, key=described.key, now=now, **changes)
    except InvalidJourney as refusal:
        raise InvalidSeed("\n".join(f"{described.place}.{one.message}" for one in refusal.all_found())) from None
    return saved.journey.id

"""Making and changing journeys: the one place where their rules and steps are checked and saved."""

from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction

from customers.conditions import InvalidCondition
from engage.errors import Refusal
from engage.fields import same_json
from engage.models import Workspace
from journeys.entry_conditions import check_entry_conditions
from journeys.models import Journey, JourneyRevision
from journeys.steps.definition import parse_steps
from journeys.steps.written import InvalidSteps

# How seed files and messages spell what may be said of a journey.
SPELLINGS = {
    "key": "key",
    "name": "name",
    "trigger_type": "trigger",
    "event_name": "eventName",
    "active": "active",
    "max_entries_per_customer": "maxEntriesPerCustomer",
    "allow_reenrollment": "allowReenrollment",
    "entry_conditions": "entryConditions",
    "steps": "steps",
}


class InvalidJourney(Refusal):
    """A journey cannot be as described; the message begins with the place: `steps[2].for must …`.

    `field` is the name of what is wrong as in `JourneyChanges`, or `key`.
    """

    error = "Invalid journey"
    code = "invalid_journey"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class JourneyChanges(TypedDict, total=False):
    """What may be said of a journey; what is not said stays as it is, or as the model has it for a new one."""

    name: str
    trigger_type: str
    event_name: str
    active: bool
    max_entries_per_customer: int | None
    allow_reenrollment: bool
    entry_conditions: object
    steps: object


class SavedJourney(NamedTuple):
    """A journey as it now stands, and what saving it came to."""

    journey: Journey
    outcome: Literal["created", "changed", "unchanged"]


@transaction.atomic
def save_journey(*, workspace: Workspace, key: str, now: datetime, **changes: Unpack[JourneyChanges]) -> SavedJourney:
    """Makes the workspace's journey of this key, or changes it. Raises InvalidJourney; then nothing is written.

    Other steps than before make a new revision, with which customers enter from then on; those who are inside walk on
    with theirs. A new journey is named after its key until it is given a name.
    """
    check_journey(Journey(workspace=workspace, key=key, name=key), steps=[])
    journey, made = Journey.objects.select_for_update(no_key=True).get_or_create(
        workspace=workspace, key=key, defaults={"name": key, "revision": 0}
    )
    stored_steps = _current_steps(journey)
    steps = changes.pop("steps", stored_steps or [])
    changed = _apply(journey, changes)
    check_journey(journey, steps=steps)
    if stored_steps is None or not same_json(steps, stored_steps):
        journey.revision += 1
        changed.add("revision")
        JourneyRevision.objects.create(workspace=workspace, journey=journey, number=journey.revision, steps=steps)
    if changed:
        journey.updated_at = now
        journey.save(update_fields=[*changed, "updated_at"])
    return SavedJourney(journey, "created" if made else "changed" if changed else "unchanged")


def check_journey(journey: Journey, *, steps: object) -> None:
    """Whether the journey, saved or not, could be kept as it is with these steps. Raises InvalidJourney."""
    _check_fields(journey)
    _check_trigger(journey)
    _check_entry_conditions(journey)
    try:
        parse_steps(steps)
    except InvalidSteps as refusal:
        raise InvalidJourney("steps", refusal.message) from None


def _current_steps(journey: Journey) -> list[Any] | None:
    """The steps of the current revision; None where the journey has none yet."""
    return (
        JourneyRevision.objects.filter(journey=journey, number=journey.revision).values_list("steps", flat=True).first()
    )


def _apply(journey: Journey, changes: JourneyChanges) -> set[str]:
    """Sets the fields; the names of those that became different."""
    fields: dict[str, object] = dict(changes)
    if changes.get("trigger_type") == Journey.TriggerType.API:
        fields.setdefault("event_name", "")
    changed = {name for name, value in fields.items() if not same_json(value, getattr(journey, name))}
    for name in changed:
        setattr(journey, name, fields[name])
    return changed


def _check_fields(journey: Journey) -> None:
    try:
        journey.clean_fields(exclude={"workspace"})
    except ValidationError as invalid:
        field, (message, *_) = next(iter(invalid.message_dict.items()))
        raise InvalidJourney(field, f"{SPELLINGS.get(field, field)}: {message}") from None


def _check_trigger(journey: Journey) -> None:
    if journey.trigger_type == Journey.TriggerType.EVENT and not journey.event_name.strip():
        raise InvalidJourney("event_name", "eventName is required where the trigger is event.")
    if journey.trigger_type == Journey.TriggerType.API and journey.event_name:
        raise InvalidJourney("event_name", "eventName must be null where the trigger is api.")


def _check_entry_conditions(journey: Journey) -> None:
    try:
        check_entry_conditions(journey.entry_conditions, trigger_type=journey.trigger_type)
    except InvalidCondition as refusal:
        raise InvalidJourney("entry_conditions", refusal.message) from None

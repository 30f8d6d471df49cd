"""What the calls about definitions take and answer: items of a seed file, as they are sent and as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from engage.calls.queries import DryRun
from engage.database.object_ids import ObjectId
from engage.json.fields import LEFT_OUT
from engage.json.keywords import Keywords
from engage.resources.fields import Fields
from engage.resources.resource import DefinitionWarning
from journeys.steering.moving import Moving

_TEXT = Keywords(type="string")
_FLAG = Keywords(type="boolean")
_OBJECT = Keywords(type="object", additionalProperties=True)
_OBJECTS = Keywords(type="array", items={"type": "object", "additionalProperties": True})
_KEY = "The key, as in the path; may be left out."
_MANAGED_BY = "What it comes from, such as `git:acme/journeys`: staff are asked before they save over it. Nothing."


@dataclass(frozen=True, kw_only=True)
class _Named(Fields):
    key: Annotated[Any, _KEY, _TEXT] = None
    name: Annotated[Any, "What people call it; the key by default.", _TEXT] = None


@dataclass(frozen=True, kw_only=True)
class JourneyBody(_Named):
    """A journey, whole. What is left out, or null, gets its default; an unknown field is a mistake."""

    trigger: Annotated[Any, "What enters customers: `api`, the default, or `event`.", _TEXT] = None
    event_name: Annotated[Any, "Of an event journey: the event's name.", _TEXT] = None
    where: Annotated[Any, "Of an event journey: the condition that its event must meet.", _OBJECT] = None
    from_bridge: Annotated[Any, "Of an event journey: whether events of in-app messages count; true.", _FLAG] = None
    active: Annotated[
        Any, "Whether a new journey takes in customers; true. Afterwards that is state, and stays as it is.", _FLAG
    ] = None
    max_entries_per_customer: Annotated[
        Any, "How many times one customer may enter; 1 where it is left out.", Keywords(type="integer", minimum=1)
    ] = None
    allow_reenrollment: Annotated[Any, "Whether one who completed the journey may enter again; false.", _FLAG] = None
    concurrent_entrances: Annotated[
        Any, "Whether a customer may be inside once for each `entranceId`, and each counts apart; false.", _FLAG
    ] = None
    entry_conditions: Annotated[Any, "The condition that customers must meet to enter.", _OBJECT] = None
    steps: Annotated[Any, "The steps; none by default.", _OBJECTS] = None
    exit_on: Annotated[Any, "What ends an enrollment, wherever it is; nothing by default.", _OBJECTS] = None
    guards: Annotated[Any, "What holds the journey by itself; nothing by default.", _OBJECTS] = None
    payload_schema: Annotated[
        Any, "What payloads must be: a JSON Schema (2020-12) of an object, without references; anything.", _OBJECT
    ] = None
    goals: Annotated[
        Any, "What it is for: events that are counted for each enrollment within a time; nothing by default.", _OBJECTS
    ] = None
    hold_out: Annotated[
        Any, "The `share` of those who might enter that is held out, to compare; nobody by default.", _OBJECT
    ] = None
    managed_by: Annotated[Any, _MANAGED_BY, _TEXT] = None


@dataclass(frozen=True, kw_only=True)
class SegmentBody(_Named):
    """A segment, whole, without its members: these stay. What is left out, or null, gets its default."""

    conditions: Annotated[Any, "Who meets this condition is in it, beside its members.", _OBJECT] = None
    managed_by: Annotated[Any, _MANAGED_BY, _TEXT] = None


@dataclass(frozen=True, kw_only=True)
class JourneyQuery(DryRun):
    """Whether it is a dry run, and whether those inside are moved."""

    move_inside: Annotated[
        bool, "`true` to let those inside go on in the current revision, if their step is there."
    ] = False


@dataclass(frozen=True, kw_only=True)
class ConfirmedQuery(DryRun):
    """Whether it is a dry run, and whether journeys may be broken."""

    confirm: Annotated[bool, "`true` to change it although journeys could not send by it any more."] = False


@dataclass(frozen=True, kw_only=True)
class DefinitionRecord:
    """A definition as it is stored. Its ETag is over all of it, also over secrets."""

    # Not the name of its own field: a client of openapi-python-client would have one variable for both.
    schema_name: ClassVar = "StoredDefinition"

    id: ObjectId
    key: Annotated[str, "The key; of a variable its name."]
    definition: Annotated[
        Mapping[str, Any], "The item as a seed file has it, with all its fields; a secret is shown as `***`."
    ]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]


@dataclass(frozen=True, kw_only=True)
class PutDefinitionRecord:
    """A definition as the call leaves it, or would."""

    id: Annotated[ObjectId | None, "Null for a dry run that would create it."]
    key: Annotated[str, "The key; of a variable its name."]
    outcome: Literal["created", "changed", "unchanged"]
    changed: Annotated[Sequence[str], "The names of the fields that differ from what was stored."]
    inside: Annotated[int | None, "Of a journey that was there: how many are inside, who go on with their revision."]
    moving: Annotated[
        Moving | None, "With `moveInside`: who of those in older revisions go on in the current one.", LEFT_OUT
    ] = None
    dry_run: Annotated[bool, "Whether this is only what the call would do."] = False
    definition: Annotated[
        Mapping[str, Any], "The item as a seed file has it, with all its fields; a secret is shown as `***`."
    ]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]


@dataclass(frozen=True, kw_only=True)
class DefinitionDeleted:
    """The definition was deleted."""

    deleted: Literal[True] = True

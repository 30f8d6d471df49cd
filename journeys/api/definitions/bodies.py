"""What the calls about definitions take and answer: items of a seed file, as they are sent and as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from engage.calls.queries import DryRun
from engage.database.object_ids import ObjectId
from engage.json.fields import LEFT_OUT
from engage.json.keywords import Keywords
from journeys.design.warnings import DefinitionWarning
from journeys.models import LARGEST_BATCH
from journeys.steering.moving import Moving

_TEXT = Keywords(type="string")
_FLAG = Keywords(type="boolean")
_OBJECT = Keywords(type="object", additionalProperties=True)
_OBJECTS = Keywords(type="array", items={"type": "object", "additionalProperties": True})
_KEY = "The key, as in the path; may be left out."
_MANAGED_BY = "What it comes from, such as `git:acme/journeys`: staff are asked before they save over it. Nothing."


@dataclass(frozen=True, kw_only=True)
class _Named:
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
class ConnectionBody(_Named):
    """A connection, whole. What is left out, or null, gets its default; `***` keeps a secret that is stored."""

    channel: Annotated[Any, "`email`, `sms`, `push`, `chat`, or `other`, the default.", _TEXT] = None
    per_second: Annotated[
        Any, "How many requests begin in a second; as many as there is room for.", Keywords(type="number")
    ] = None
    url: Annotated[Any, "Where the request goes to: a template. Required.", _TEXT] = None
    secret_url: Annotated[Any, "Whether the URL is a secret; false.", _FLAG] = None
    method: Annotated[Any, "The request's method; `POST`.", _TEXT] = None
    headers: Annotated[Any, "Headers by name. Their values are secrets.", _OBJECT] = None
    auth: Annotated[Any, "How it proves who it is. All of it is secret.", _OBJECT] = None
    body: Annotated[Any, "What the request sends as JSON: a template."] = None
    inputs: Annotated[Any, "What a step gives it: a JSON Schema of an object, whose values it may use.", _OBJECT] = None


@dataclass(frozen=True, kw_only=True)
class VariableBody:
    """A variable."""

    key: Annotated[Any, "The name, as in the path; may be left out.", _TEXT] = None
    value: Annotated[Any, "Any JSON but null. No secret: everybody reads it. Required."] = None


@dataclass(frozen=True, kw_only=True)
class SubscriptionBody:
    """A subscription, whole. What is left out, or null, gets its default."""

    key: Annotated[Any, "The key, as in the path if it is there; may be left out.", _TEXT] = None
    url: Annotated[Any, "Where events are posted. Required.", _TEXT] = None
    types: Annotated[
        Any, "The types of events that are pushed; all by default.", Keywords(type="array", items={"type": "string"})
    ] = None
    journeys: Annotated[
        Any,
        "The keys of the journeys whose events are pushed; all by default, with what is of no journey.",
        Keywords(type="array", items={"type": "string"}),
    ] = None
    batch: Annotated[
        Any,
        "How many events one request has at most; 100 by default.",
        Keywords(type="integer", minimum=1, maximum=LARGEST_BATCH),
    ] = None


@dataclass(frozen=True, kw_only=True)
class JourneyQuery(DryRun):
    """Whether it is a dry run, and whether those inside are moved."""

    move_inside: Annotated[
        bool, "`true` to let those inside go on in the current revision, if their step is there."
    ] = False


@dataclass(frozen=True, kw_only=True)
class ConnectionQuery(DryRun):
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

"""The calls about definitions: journeys, segments, connections, variables and subscriptions, each as the item of a seed
file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal, cast

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId, delete, get, put
from engage.calls.queries import DRY_RUN_MESSAGE, DryRun
from engage.database.object_ids import ObjectId
from engage.errors import FailureDetail, MissingParameter
from engage.json.keywords import Keywords
from engage.scopes import Scope
from journeys.api.path_ids import JOURNEY_ID
from journeys.connections.variables import VariableInUse
from journeys.design.connections import BreaksJourneys, ConnectionInUse
from journeys.design.warnings import DefinitionWarning
from journeys.models import LARGEST_BATCH
from journeys.seeding import kinds
from journeys.seeding.definitions import (
    Definition,
    DefinitionInvalid,
    PreconditionFailed,
    PreconditionRequired,
    SecretsMissing,
    delete_definition,
    get_definition,
    put_definition,
)

_SEGMENT_ID = replace(SEGMENT_ID, missing=lambda _: SegmentNotFound())
_CONNECTION_ID = PathId(
    name="connectionId",
    description="The connection's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5c1",
    missing=kinds.ConnectionNotFound,
)
SUBSCRIPTION_ID = PathId(
    name="subscriptionId",
    description="The subscription's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5e1",
    missing=kinds.SubscriptionNotFound,
)
_VARIABLE = PathId(name="key", description="The variable's name.", example="shop", missing=kinds.VariableNotFound)
_ETAG = '"3f1c7a90b6e24d5f8a7b6c5d4e3f2a1b"'

_TEXT = Keywords(type="string")
_FLAG = Keywords(type="boolean")
_OBJECT = Keywords(type="object", additionalProperties=True)
_OBJECTS = Keywords(type="array", items={"type": "object", "additionalProperties": True})
_KEY = "The key, as in the path; may be left out."
_NAME = "What people call it; the key by default."


@dataclass(frozen=True, kw_only=True)
class JourneyBody:
    """A journey, whole. What is left out, or null, gets its default; an unknown field is a mistake."""

    key: Annotated[Any, _KEY, _TEXT] = None
    name: Annotated[Any, _NAME, _TEXT] = None
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


@dataclass(frozen=True, kw_only=True)
class SegmentBody:
    """A segment, whole, without its members: these stay. What is left out, or null, gets its default."""

    key: Annotated[Any, _KEY, _TEXT] = None
    name: Annotated[Any, _NAME, _TEXT] = None
    conditions: Annotated[Any, "Who meets this condition is in it, beside its members.", _OBJECT] = None


@dataclass(frozen=True, kw_only=True)
class ConnectionBody:
    """A connection, whole. What is left out, or null, gets its default; `***` keeps a secret that is stored."""

    key: Annotated[Any, _KEY, _TEXT] = None
    name: Annotated[Any, _NAME, _TEXT] = None
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

    key: Annotated[Any, _KEY, _TEXT] = None
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
    dry_run: Annotated[bool, "Whether this is only what the call would do."] = False
    definition: Annotated[
        Mapping[str, Any], "The item as a seed file has it, with all its fields; a secret is shown as `***`."
    ]
    warnings: Annotated[Sequence[DefinitionWarning], "What may not be meant, such as a step that cannot be reached."]


@dataclass(frozen=True, kw_only=True)
class DefinitionDeleted:
    """The definition was deleted."""

    deleted: Literal[True] = True


_IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string"},
    location=OpenApiParameter.HEADER,
    description="The ETag of what you have read. Needed to change or delete what is there, and for nothing else: "
    "creating, a dry run, and a body that changes nothing need none. `*` stands for whatever is there.",
)


def _etag_of(*statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        {"type": "string"},
        location=OpenApiParameter.HEADER,
        description="Of the whole definition, for If-Match. A dry run's answer has none.",
        response=[*statuses],
    )


_MISTAKE = "steps[0].for must be a duration such as P1D or PT2H, but 'soon' came."
_INVALID = DefinitionInvalid(_MISTAKE, details=[FailureDetail(field="steps", place="steps[0].for", message=_MISTAKE)])
_UNKNOWN_SECRET = SecretsMissing("headers.X-Token needs its value: *** keeps what is stored.")
_WAIT = {"id": "wait", "type": "delay", "for": "P1D"}
_JOURNEY: dict[str, Any] = {
    "key": "welcome",
    "name": "Welcome",
    "trigger": "api",
    "maxEntriesPerCustomer": None,
    "allowReenrollment": False,
    "concurrentEntrances": False,
    "entryConditions": None,
    "steps": [_WAIT],
    "exitOn": [],
    "guards": [],
    "payloadSchema": None,
}
_PLAN = {"field": "customer.plan", "op": "eq", "value": "pro"}
_SEGMENT = {"key": "pro", "name": "Pro plan", "conditions": _PLAN}
_CONNECTION = {
    "key": "mail",
    "name": "Our mailer",
    "channel": "email",
    "perSecond": 10,
    "url": "https://mail.example/send",
    "headers": {"X-Token": "***"},
    "body": {"to": "{{ inputs.to }}"},
    "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
}


EXAMPLE_SUBSCRIPTION: dict[str, Any] = {
    "key": "crm",
    "url": "https://crm.example/events",
    "types": ["job.decided"],
    "journeys": None,
    "batch": 100,
}


def record_of(id_: str, item: Mapping[str, Any]) -> Answered[DefinitionRecord]:
    record = DefinitionRecord(id=id_, key=item["key"], definition=item, warnings=[])
    return Answered(data=record, headers={"ETag": _ETAG})


def _put_examples(id_: str, item: Mapping[str, Any], *, changed: Sequence[str], inside: int | None) -> dict[str, Any]:
    data = PutDefinitionRecord(
        id=id_, key=item["key"], outcome="changed", changed=changed, inside=inside, definition=item, warnings=[]
    )
    made = replace(data, outcome="created", changed=[*item], inside=None)
    return {
        "Changed": Answered(data=data, says=_CHANGED, headers={"ETag": _ETAG}),
        "Created": Answered(data=made, says=_CREATED, status=HTTPStatus.CREATED, headers={"ETag": _ETAG}),
        "A dry run": Answered(data=replace(data, dry_run=True), says=DRY_RUN_MESSAGE),
    }


_CREATED, _CHANGED, _UNCHANGED = "Created.", "Changed.", "Nothing to change."
_EMPTY = "The body must be the whole definition, and must not be empty."
_REFUSED = [MissingParameter(_EMPTY)]
_UNSEEN = [PreconditionFailed(), PreconditionRequired()]
_common: dict[str, Any] = {"policy": "definitions", "tag": "Definitions"}
_put = partial(
    put,
    **_common,
    answer={HTTPStatus.OK: "What was there is now as the body says.", HTTPStatus.CREATED: "It was created."},
    parameters=[_IF_MATCH, _etag_of(HTTPStatus.OK, HTTPStatus.CREATED)],
)
_get = partial(get, **_common, says="Definition found.", answer="The definition.", parameters=[_etag_of(HTTPStatus.OK)])
_delete = partial(
    delete,
    **_common,
    says="Deleted.",
    answer="It was deleted.",
    parameters=[_IF_MATCH],
    examples={"Deleted": DefinitionDeleted()},
)


def _read(kind: kinds.Kind, asked: Asked[None, None], named: str) -> Answered[DefinitionRecord]:
    found = get_definition(kind, workspace_id=asked.workspace_id, named=named)
    return Answered(data=DefinitionRecord(**_told(found)), headers={"ETag": found.etag})


def _write(
    kind: kinds.Kind, asked: Asked[Any, Any], named: str, *, confirmed: bool = False
) -> Answered[PutDefinitionRecord]:
    """The body is read as it was sent: its mistakes are told with those of the definition, all at once."""
    dry_run = asked.query.dry_run
    sent = cast("dict[str, Any]", asked.request.data)
    if not sent:  # whatever was lost on the way must not empty a definition
        raise MissingParameter(_EMPTY)
    done = put_definition(
        kind,
        workspace_id=asked.workspace_id,
        named=named,
        written={name: value for name, value in sent.items() if value is not None},
        if_match=asked.request.headers.get("If-Match"),
        confirmed=confirmed,
        dry_run=dry_run,
        now=timezone.now(),
    )
    told = _told(done.definition)
    if dry_run and done.outcome == "created":
        told["id"] = None
    record = PutDefinitionRecord(
        **told, outcome=done.outcome, changed=done.changed, inside=done.inside, dry_run=dry_run
    )
    if dry_run:
        return Answered(data=record)
    says, status = {
        "created": (_CREATED, HTTPStatus.CREATED),
        "changed": (_CHANGED, HTTPStatus.OK),
        "unchanged": (_UNCHANGED, HTTPStatus.OK),
    }[done.outcome]
    return Answered(data=record, says=says, status=status, headers={"ETag": done.definition.etag})


def _take_away(kind: kinds.Kind, asked: Asked[None, None], named: str) -> DefinitionDeleted:
    delete_definition(
        kind,
        workspace_id=asked.workspace_id,
        named=named,
        if_match=asked.request.headers.get("If-Match"),
        actor=asked.actor,
        now=timezone.now(),
    )
    return DefinitionDeleted()


def _told(found: Definition) -> dict[str, Any]:
    key = str(found.item["key"])
    return {"id": found.row.id, "key": key, "definition": found.item, "warnings": found.warnings}


# Journeys ------------------------------------------------------------------------------------------------------------

_of_journeys: dict[str, Any] = {
    "path": "journeys/{workspaceId}/{journeyId}",
    "scope": Scope.DEFINITIONS,
    "ids": [JOURNEY_ID],
}


@_put(
    **_of_journeys,
    requests={"A wait": {"name": "Welcome", "steps": [_WAIT]}},
    examples=_put_examples(JOURNEY_ID.example, _JOURNEY, changed=["steps"], inside=310),
    refuses=[*_REFUSED, _INVALID, _UNKNOWN_SECRET, *_UNSEEN],
)
def put_journey(asked: Asked[JourneyBody, DryRun], journey_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a journey

    The body is the journey's item of a seed file, whole: what is left out gets its default. All mistakes are told at
    once, each with its place, before If-Match is looked at. Other steps or exit rules are a new revision, with which
    customers enter from then on. Whether the journey is closed, held or aborted is no part of it, and stays.

    A header `***` of a step keeps the secret that is stored for the step with the same id.
    """
    return _write(kinds.JOURNEYS, asked, journey_id)


@_get(**_of_journeys, examples={"Found": record_of(JOURNEY_ID.example, _JOURNEY)})
def get_journey(asked: Asked[None, None], journey_id: str) -> Answered[DefinitionRecord]:
    """Read a journey

    Returns the journey with its current steps and exit rules, as a PUT takes them.
    """
    return _read(kinds.JOURNEYS, asked, journey_id)


@_delete(**_of_journeys, refuses=_UNSEEN)
def delete_journey(asked: Asked[None, None], journey_id: str) -> DefinitionDeleted:
    """Archive a journey

    Closes the journey and hides it. Those inside go on, and what happened stays. Staff can restore it.
    """
    return _take_away(kinds.JOURNEYS, asked, journey_id)


# Segments ------------------------------------------------------------------------------------------------------------

_of_segments: dict[str, Any] = {
    "path": "segments/{workspaceId}/{segmentId}",
    "scope": Scope.DEFINITIONS,
    "ids": [_SEGMENT_ID],
}


@_put(
    **_of_segments,
    requests={"By a condition": {"name": "Pro plan", "conditions": _PLAN}},
    examples=_put_examples(SEGMENT_ID.example, _SEGMENT, changed=["conditions"], inside=None),
    refuses=[*_REFUSED, DefinitionInvalid("conditions.op is 'is', which is none of eq, ne."), *_UNSEEN],
)
def put_segment(asked: Asked[SegmentBody, DryRun], segment_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a segment

    The body is the segment's item of a seed file, without members: who was put into it stays there.
    """
    return _write(kinds.SEGMENTS, asked, segment_id)


@_get(**_of_segments, examples={"Found": record_of(SEGMENT_ID.example, _SEGMENT)})
def get_segment(asked: Asked[None, None], segment_id: str) -> Answered[DefinitionRecord]:
    """Read a segment

    Returns the segment's name and condition.
    """
    return _read(kinds.SEGMENTS, asked, segment_id)


@_delete(**_of_segments, refuses=_UNSEEN)
def delete_segment(asked: Asked[None, None], segment_id: str) -> DefinitionDeleted:
    """Delete a segment

    Deletes the segment, and takes its members out of it. The customers stay.
    """
    return _take_away(kinds.SEGMENTS, asked, segment_id)


# Connections ---------------------------------------------------------------------------------------------------------

_of_connections: dict[str, Any] = {
    "path": "connections/{workspaceId}/{connectionId}",
    "scope": Scope.CONNECTIONS,
    "ids": [_CONNECTION_ID],
}


@_put(
    **_of_connections,
    requests={
        "A mailer": {
            "name": "Our mailer",
            "channel": "email",
            "url": "https://mail.example/send",
            "headers": {"X-Token": "hush"},
            "body": {"to": "{{ inputs.to }}"},
            "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
        }
    },
    examples=_put_examples(_CONNECTION_ID.example, _CONNECTION, changed=["headers"], inside=None),
    refuses=[
        *_REFUSED,
        DefinitionInvalid("url must begin with https:// or http://."),
        _UNKNOWN_SECRET,
        BreaksJourneys("Journeys could not send by mail any more: welcome."),
        *_UNSEEN,
    ],
)
def put_connection(asked: Asked[ConnectionBody, ConnectionQuery], connection_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a connection

    The body is the connection's item of a seed file, whole; beside the fields here it takes all that a connection has
    (`form`, `html`, `accept`, …). It holds at once, also for those inside. What journeys could not
    send by any more is refused, unless `confirm=true`. `***` keeps a secret that is stored, as long as the URL leads to
    the same host.
    """
    return _write(kinds.CONNECTIONS, asked, connection_id, confirmed=asked.query.confirm)


@_get(**_of_connections, examples={"Found": record_of(_CONNECTION_ID.example, _CONNECTION)})
def get_connection(asked: Asked[None, None], connection_id: str) -> Answered[DefinitionRecord]:
    """Read a connection

    Returns the connection. Nobody reads a secret again: it is shown as `***`.
    """
    return _read(kinds.CONNECTIONS, asked, connection_id)


@_delete(
    **_of_connections, refuses=[ConnectionInUse("Journeys send by mail: welcome. It cannot be deleted."), *_UNSEEN]
)
def delete_connection(asked: Asked[None, None], connection_id: str) -> DefinitionDeleted:
    """Delete a connection

    Deletes the connection with its secrets, unless journeys send by it.
    """
    return _take_away(kinds.CONNECTIONS, asked, connection_id)


# Variables -----------------------------------------------------------------------------------------------------------

_of_variables: dict[str, Any] = {
    "path": "variables/{workspaceId}/{key}",
    "scope": Scope.DEFINITIONS,
    "ids": [_VARIABLE],
}
_SHOP = {"key": "shop", "value": "Garden"}


@_put(
    **_of_variables,
    requests={"A text": {"value": "Garden"}},
    examples=_put_examples("68a1f0c2e4b0a1d2c3e4f5d1", _SHOP, changed=["value"], inside=None),
    refuses=[*_REFUSED, DefinitionInvalid("value is required."), *_UNSEEN],
)
def put_variable(asked: Asked[VariableBody, DryRun], key: str) -> Answered[PutDefinitionRecord]:
    """Create or change a variable

    The value holds at once, wherever templates read `vars.<name>`.
    """
    return _write(kinds.VARIABLES, asked, key)


@_get(**_of_variables, examples={"Found": record_of("68a1f0c2e4b0a1d2c3e4f5d1", _SHOP)})
def get_variable(asked: Asked[None, None], key: str) -> Answered[DefinitionRecord]:
    """Read a variable

    Returns the variable's value.
    """
    return _read(kinds.VARIABLES, asked, key)


@_delete(
    **_of_variables, refuses=[VariableInUse("The variable shop is read by welcome; it cannot be deleted."), *_UNSEEN]
)
def delete_variable(asked: Asked[None, None], key: str) -> DefinitionDeleted:
    """Delete a variable

    Deletes the variable, unless definitions read it.
    """
    return _take_away(kinds.VARIABLES, asked, key)


# Subscriptions -------------------------------------------------------------------------------------------------------

_of_subscriptions: dict[str, Any] = {
    "path": "subscriptions/{workspaceId}/{subscriptionId}",
    "scope": Scope.DEFINITIONS,
    "ids": [SUBSCRIPTION_ID],
    "of_all_journeys": True,  # whatever is pushed, its receiver keeps
}


@_put(
    **_of_subscriptions,
    requests={"Decisions": {"url": "https://crm.example/events", "types": ["job.decided"]}},
    examples=_put_examples(SUBSCRIPTION_ID.example, EXAMPLE_SUBSCRIPTION, changed=["types"], inside=None),
    refuses=[*_REFUSED, DefinitionInvalid("url: This field cannot be blank."), *_UNSEEN],
)
def put_subscription(asked: Asked[SubscriptionBody, DryRun], subscription_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a subscription

    The body is the subscription's item of a seed file, whole. A new one is told what happens from now on; the feed is
    kept for as long as there is any. How far one has come, and whether it is paused, is no part of it, and stays. Where
    other events are wanted than before, some may be pushed twice.
    """
    return _write(kinds.SUBSCRIPTIONS, asked, subscription_id)


@_get(**_of_subscriptions, examples={"Found": record_of(SUBSCRIPTION_ID.example, EXAMPLE_SUBSCRIPTION)})
def get_subscription(asked: Asked[None, None], subscription_id: str) -> Answered[DefinitionRecord]:
    """Read a subscription

    Returns the subscription, as a PUT takes it.
    """
    return _read(kinds.SUBSCRIPTIONS, asked, subscription_id)


@_delete(**_of_subscriptions, refuses=_UNSEEN)
def delete_subscription(asked: Asked[None, None], subscription_id: str) -> DefinitionDeleted:
    """Delete a subscription

    Deletes the subscription, with what was on its way. Without any, the feed is kept only where it is on.
    """
    return _take_away(kinds.SUBSCRIPTIONS, asked, subscription_id)

"""The calls about definitions: journeys, segments, connections, variables and subscriptions, each as the item of a seed
file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId, delete, get, put
from engage.calls.queries import DRY_RUN_MESSAGE, DryRun
from engage.errors import FailureDetail, MissingParameter
from engage.scopes import Scope
from journeys.api.definition_bodies import (
    ConnectionBody,
    ConnectionQuery,
    DefinitionDeleted,
    DefinitionRecord,
    JourneyBody,
    JourneyQuery,
    PutDefinitionRecord,
    SegmentBody,
    SubscriptionBody,
    VariableBody,
)
from journeys.api.path_ids import JOURNEY_ID
from journeys.connections.variables import VariableInUse
from journeys.design.connections import BreaksJourneys, ConnectionInUse
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
from journeys.steering.moving import GONE, UNDER_WAY, Moving

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
    "goals": [{"key": "bought", "event": "order_paid", "within": "P7D"}],
    "holdOut": {"share": 0.1},
    "managedBy": "git:acme/journeys",
}
_PLAN = {"field": "customer.plan", "op": "eq", "value": "pro"}
_SEGMENT = {"key": "pro", "name": "Pro plan", "conditions": _PLAN, "managedBy": None}
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


def _put_examples(
    id_: str,
    item: Mapping[str, Any],
    *,
    changed: Sequence[str],
    inside: int | None,
    moving: Moving | None = None,
) -> dict[str, Any]:
    data = PutDefinitionRecord(
        id=id_, key=item["key"], outcome="changed", changed=changed, inside=inside, definition=item, warnings=[]
    )
    made = replace(data, outcome="created", changed=[*item], inside=None)
    moved = replace(data, moving=moving)
    return {
        **({"Those inside are moved": Answered(data=moved, says=_CHANGED, headers={"ETag": _ETAG})} if moving else {}),
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
    kind: kinds.Kind, asked: Asked[Any, Any], named: str, *, confirmed: bool = False, moved_by: str | None = None
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
        moved_by=moved_by,
    )
    told = _told(done.definition)
    if dry_run and done.outcome == "created":
        told["id"] = None
    record = PutDefinitionRecord(
        **told,
        outcome=done.outcome,
        changed=done.changed,
        inside=done.inside,
        moving=done.moving,
        dry_run=dry_run,
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
    examples=_put_examples(
        JOURNEY_ID.example,
        _JOURNEY,
        changed=["steps"],
        inside=310,
        moving=Moving(revision=8, moves=302, stays={UNDER_WAY: 6, GONE: 2}),
    ),
    refuses=[*_REFUSED, _INVALID, _UNKNOWN_SECRET, *_UNSEEN],
)
def put_journey(asked: Asked[JourneyBody, JourneyQuery], journey_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a journey

    The body is the journey's item of a seed file, whole: what is left out gets its default. All mistakes are told at
    once, each with its place, before If-Match is looked at. Other steps or exit rules are a new revision, with which
    customers enter from then on. Whether the journey is closed, held or aborted is no part of it, and stays.

    Those inside go on with the revision they entered with. With `moveInside=true` they go on in this one, if their step
    is still there with the same type: a wait keeps its time and its event, and kept answers stay. They are moved within
    seconds after the call, many one after the other; `moving` says how many, and how many stay where they are and why.
    Asked again, it moves whoever can be moved by then; a body that changes nothing is enough for that.

    A header `***` of a step keeps the secret that is stored for the step with the same id.
    """
    moved_by = asked.actor if asked.query.move_inside else None
    return _write(kinds.JOURNEYS, asked, journey_id, moved_by=moved_by)


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

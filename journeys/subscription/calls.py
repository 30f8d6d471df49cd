"""The calls about subscriptions that others of definitions do not have: made without a key, listed with how they do,
tried, resumed, and what was pushed to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from django.db.models import Count, Q
from django.utils import timezone

from engage.calls.asked import Asked
from engage.calls.call import Answered, get, post
from engage.calls.queries import AFTER, LIMIT
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId, new_object_id
from engage.errors import MissingParameter, Refusal
from engage.feed import FeedType
from engage.http.paging import NEXT, page_of, place_of, written_place
from engage.http.preconditions import Seen
from engage.json.fields import Whole
from engage.resources.definitions import DefinitionInvalid, put_definition
from engage.scopes import Scope
from journeys.definitions.bodies import DefinitionRecord
from journeys.definitions.calls import as_read
from journeys.definitions.each import calls_of
from journeys.engine import wakeups
from journeys.models import Push, Subscription
from journeys.subscription.resource import (
    SUBSCRIPTIONS,
    SubscriptionFields,
    SubscriptionNotFound,
    resume_subscription,
    try_subscription,
)


class SubscriptionExists(Refusal):
    """There is a subscription with this key."""

    status = 409
    error = "Subscription exists"

    def __init__(self, key: str) -> None:
        super().__init__(f"There is a subscription {key[:100]!r} already. A PUT changes it.")


@dataclass(frozen=True, kw_only=True)
class ListedSubscription:
    """A subscription, and how it does."""

    subscription_id: ObjectId
    key: str
    url: str
    types: Annotated[Sequence[FeedType] | None, "The types of events that are pushed; null: all."]
    journeys: Annotated[Sequence[str] | None, "The keys of the journeys whose events are pushed; null: all."]
    batch: Annotated[int, "How many events one request has at most."]
    waiting: Annotated[int, "How many requests are under way, or are tried again."]
    failing_since: Annotated[datetime | None, "Nothing was taken since then; null if it takes what is sent."]
    last_failure: Annotated[str | None, "What the latest failure was, in words."]
    paused_at: Annotated[datetime | None, "Nothing is sent since then, until it is resumed; null if it is not paused."]
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class ListedSubscriptions:
    """All subscriptions of the workspace, in the order of their keys."""

    subscriptions: Sequence[ListedSubscription]


@dataclass(frozen=True, kw_only=True)
class TestSent:
    """A test is on its way."""

    delivery_id: Annotated[str, "As the list of deliveries has it; its receiver sees it as `webhook-id`."]


@dataclass(frozen=True, kw_only=True)
class ResumedSubscription:
    """The subscription goes on."""

    subscription_id: ObjectId
    key: str
    changed: Annotated[bool, "Whether it was paused."]


@dataclass(frozen=True, kw_only=True)
class PushRecord:
    """A request with events, and what came of it."""

    delivery_id: Annotated[str, "What its receiver sees as `webhook-id`, the same on every attempt."]
    events: Annotated[int, "How many events it has."]
    is_test: bool
    state: Push.State
    result: Annotated[str, "What the last attempt came to, in words; empty before the first."]
    attempts: Annotated[int, "The attempts that were made."]
    created_at: datetime
    tried_at: Annotated[datetime | None, "When the last attempt began."]
    status: Annotated[int | None, "The status of its answer; null if none came."]
    milliseconds: Annotated[int | None, "How long it took."]
    next_attempt_at: Annotated[datetime | None, "While it waits: when the next attempt is due."]


@dataclass(frozen=True, kw_only=True)
class PushesPage:
    """What was pushed, the latest first."""

    deliveries: Sequence[PushRecord]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class PushesQuery:
    """Which page."""

    limit: Annotated[int, LIMIT, Whole(most=200)] = 50
    after: Annotated[int | None, AFTER, place_of(int)] = None


_CALLS = calls_of(SUBSCRIPTIONS)
_AT = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
_LISTED = ListedSubscription(
    subscription_id=_CALLS.texts.example_id,
    key="crm",
    url="https://crm.example/events",
    types=[FeedType.JOB_DECIDED],
    journeys=None,
    batch=100,
    waiting=0,
    failing_since=None,
    last_failure=None,
    paused_at=None,
    updated_at=_AT,
)
_FAILING: dict[str, Any] = {"failing_since": _AT, "last_failure": "Answered 500.", "waiting": 8}
_PUSH = PushRecord(
    delivery_id="psh_6b00b1b1aa4223798a14ff2c",
    events=100,
    is_test=False,
    state=Push.State.DELIVERED,
    result="Answered 200.",
    attempts=1,
    created_at=_AT,
    tried_at=_AT,
    status=200,
    milliseconds=38,
    next_attempt_at=None,
)
_common: dict[str, Any] = {
    "scope": Scope.DEFINITIONS,
    "policy": "definitions",
    "tag": "Definitions",
    "of_all_journeys": True,
}
_EMPTY = "The body must be the whole subscription, and must not be empty."


@post(
    path="subscriptions/{workspaceId}",
    **_common,
    says="Created.",
    status=HTTPStatus.CREATED,
    answer="The subscription.",
    requests={"Decisions": {"url": "https://crm.example/events", "types": ["job.decided"]}},
    examples={"Created": _CALLS.record()},
    refuses=[MissingParameter(_EMPTY), DefinitionInvalid("url must begin with https://."), SubscriptionExists("crm")],
)
def create_subscription(asked: Asked[SubscriptionFields, None]) -> Answered[DefinitionRecord]:
    """Subscribe to what happens

    Makes a subscription: what the feed tells is posted to its URL from now on, signed as webhooks are. The feed is kept
    for as long as there is a subscription. Without `key`, it gets one.
    """
    if not asked.request.data:
        raise MissingParameter(_EMPTY)
    sent: Any = asked.body
    key = sent["key"] if isinstance(sent.get("key"), str) else f"s-{new_object_id()}"
    if SUBSCRIPTIONS.find(asked.workspace_id, key).exists():
        raise SubscriptionExists(key)
    done = put_definition(
        SUBSCRIPTIONS,
        workspace_id=asked.workspace_id,
        named=key,
        written=sent,
        seen=Seen(),
        confirmed=False,
        dry_run=False,
        now=timezone.now(),
        in_path=False,
    )
    return replace(as_read(done.definition), below=done.definition.row.id)


@get(
    path="subscriptions/{workspaceId}",
    **_common,
    says="Subscriptions listed.",
    answer="All of them.",
    examples={
        "One that fails": ListedSubscriptions(subscriptions=[replace(_LISTED, **_FAILING)]),
        "One that is well": ListedSubscriptions(subscriptions=[_LISTED]),
    },
)
def list_subscriptions(asked: Asked[None, None]) -> ListedSubscriptions:
    """List the subscriptions

    Lists the workspace's subscriptions, of which there are at most 20, with how they do: one that has taken nothing for
    five days is paused.
    """
    waiting = Count("pushes", filter=Q(pushes__state=Push.State.WAITING))
    rows = Subscription.objects.filter(workspace=asked.workspace_id).annotate(waiting=waiting).order_by("key")
    return ListedSubscriptions(subscriptions=[_listed(one, one.waiting) for one in rows])


def _listed(one: Subscription, waiting: int) -> ListedSubscription:
    return ListedSubscription(
        subscription_id=one.id,
        key=one.key,
        url=one.url,
        types=None if one.types is None else [kind for name in one.types if (kind := known_value(FeedType, name))],
        journeys=one.journeys,
        batch=one.batch,
        waiting=waiting,
        failing_since=one.failing_since,
        last_failure=one.last_failure or None,
        paused_at=one.paused_at,
        updated_at=one.updated_at,
    )


_of_one: dict[str, Any] = {**_common, "ids": [_CALLS.id]}


@post(
    path="subscriptions/{workspaceId}/{subscriptionId}/test",
    **_of_one,
    says="A test is on its way.",
    status=HTTPStatus.ACCEPTED,
    answer="The test.",
    examples={"Accepted": TestSent(delivery_id=_PUSH.delivery_id)},
)
def try_out_subscription(asked: Asked[None, None], subscription_id: str) -> TestSent:
    """Test a subscription

    Posts one event of the type `test` to the subscription's URL, once, also if it is paused. The list of deliveries
    says what came of it.
    """
    push = try_subscription(_found(asked.workspace_id, subscription_id))
    wakeups.wake_sender()
    return TestSent(delivery_id=push.webhook_id)


@post(
    path="subscriptions/{workspaceId}/{subscriptionId}/resume",
    **_of_one,
    says="The subscription goes on.",
    answer="The subscription.",
    examples={"Resumed": ResumedSubscription(subscription_id=_CALLS.texts.example_id, key="crm", changed=True)},
)
def resume_paused_subscription(asked: Asked[None, None], subscription_id: str) -> ResumedSubscription:
    """Resume a subscription

    A subscription that is paused, because it has taken nothing for five days or has asked for nothing more, goes on
    where it has stopped, at once. Of one that is not paused, nothing changes.
    """
    found = _found(asked.workspace_id, subscription_id)
    changed = resume_subscription(found)
    wakeups.wake_sender()
    return ResumedSubscription(subscription_id=found.id, key=found.key, changed=changed)


@get(
    path="subscriptions/{workspaceId}/{subscriptionId}/deliveries",
    **_of_one,
    says="Deliveries listed.",
    answer="A page.",
    examples={
        "One": PushesPage(deliveries=[_PUSH], next=None),
        "One that waits": PushesPage(
            deliveries=[
                replace(_PUSH, state=Push.State.WAITING, result="Answered 500.", status=500, next_attempt_at=_AT),
            ],
            next=written_place(1042),
        ),
    },
)
def list_subscription_deliveries(asked: Asked[None, PushesQuery], subscription_id: str) -> PushesPage:
    """List what was pushed

    Lists a subscription's requests, the latest first. They are kept as long as the feed is.
    """
    query = asked.query
    rows = _found(asked.workspace_id, subscription_id).pushes.order_by("-id")
    if query.after is not None:
        rows = rows.filter(id__lt=query.after)
    shown, following = page_of(list(rows[: query.limit + 1]), query.limit, lambda one: one.id)
    return PushesPage(deliveries=[record for one in shown if (record := _record(one))], next=following)


def _record(push: Push) -> PushRecord | None:
    state = known_value(Push.State, push.state)
    return (
        None
        if state is None
        else PushRecord(
            delivery_id=push.webhook_id,
            events=push.size,
            is_test=push.test,
            state=state,
            result=push.result,
            attempts=push.attempts,
            created_at=push.created_at,
            tried_at=push.tried_at,
            status=push.status,
            milliseconds=push.milliseconds,
            next_attempt_at=push.due_at if state is Push.State.WAITING else None,
        )
    )


def _found(workspace_id: str, named: str) -> Subscription:
    row: Subscription | None = SUBSCRIPTIONS.find(workspace_id, named).first()
    if row is None:
        raise SubscriptionNotFound(named)
    return row

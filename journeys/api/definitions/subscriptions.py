"""Subscriptions, as the item of a seed file."""

from typing import Any

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
    SubscriptionBody,
)
from journeys.api.definitions.calls import Calls
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

_SUBSCRIPTION_ID = PathId(
    name="subscriptionId",
    description="The subscription's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5e1",
    missing=kinds.SubscriptionNotFound,
)
_SUBSCRIPTION: dict[str, Any] = {
    "key": "crm",
    "url": "https://crm.example/events",
    "types": ["job.decided"],
    "journeys": None,
    "batch": 100,
}

SUBSCRIPTIONS = Calls(
    kind=kinds.SUBSCRIPTIONS,
    path="subscriptions/{workspaceId}/{subscriptionId}",
    id=_SUBSCRIPTION_ID,
    of_all_journeys=True,  # whatever is pushed, its receiver keeps
    example_id=_SUBSCRIPTION_ID.example,
    item=_SUBSCRIPTION,
)


@SUBSCRIPTIONS.put(
    requests={"Decisions": {"url": "https://crm.example/events", "types": ["job.decided"]}},
    changed=["types"],
    refuses=[DefinitionInvalid("url: This field cannot be blank.")],
)
def put_subscription(asked: Asked[SubscriptionBody, DryRun], subscription_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a subscription

    The body is the subscription's item of a seed file, whole. A new one is told what happens from now on; the feed is
    kept for as long as there is any. How far one has come, and whether it is paused, is no part of it, and stays. Where
    other events are wanted than before, some may be pushed twice.
    """
    return SUBSCRIPTIONS.write(asked, subscription_id)


@SUBSCRIPTIONS.get()
def get_subscription(asked: Asked[None, None], subscription_id: str) -> Answered[DefinitionRecord]:
    """Read a subscription

    Returns the subscription, as a PUT takes it.
    """
    return SUBSCRIPTIONS.read(asked, subscription_id)


@SUBSCRIPTIONS.delete()
def delete_subscription(asked: Asked[None, None], subscription_id: str) -> DefinitionDeleted:
    """Delete a subscription

    Deletes the subscription, with what was on its way. Without any, the feed is kept only where it is on.
    """
    return SUBSCRIPTIONS.take_away(asked, subscription_id)

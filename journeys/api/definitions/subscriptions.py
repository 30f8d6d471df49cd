"""Subscriptions, as the item of a seed file."""

from typing import Any

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.calls.queries import DryRun
from engage.scopes import Scope
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
    SubscriptionBody,
)
from journeys.api.definitions.calls import (
    REFUSED,
    UNSEEN,
    delete_call,
    get_call,
    put_call,
    put_examples,
    read,
    record_of,
    take_away,
    write,
)
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

SUBSCRIPTION_ID = PathId(
    name="subscriptionId",
    description="The subscription's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5e1",
    missing=kinds.SubscriptionNotFound,
)
EXAMPLE_SUBSCRIPTION: dict[str, Any] = {
    "key": "crm",
    "url": "https://crm.example/events",
    "types": ["job.decided"],
    "journeys": None,
    "batch": 100,
}

_of_subscriptions: dict[str, Any] = {
    "path": "subscriptions/{workspaceId}/{subscriptionId}",
    "scope": Scope.DEFINITIONS,
    "ids": [SUBSCRIPTION_ID],
    "of_all_journeys": True,  # whatever is pushed, its receiver keeps
}


@put_call(
    **_of_subscriptions,
    requests={"Decisions": {"url": "https://crm.example/events", "types": ["job.decided"]}},
    examples=put_examples(SUBSCRIPTION_ID.example, EXAMPLE_SUBSCRIPTION, changed=["types"], inside=None),
    refuses=[*REFUSED, DefinitionInvalid("url: This field cannot be blank."), *UNSEEN],
)
def put_subscription(asked: Asked[SubscriptionBody, DryRun], subscription_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a subscription

    The body is the subscription's item of a seed file, whole. A new one is told what happens from now on; the feed is
    kept for as long as there is any. How far one has come, and whether it is paused, is no part of it, and stays. Where
    other events are wanted than before, some may be pushed twice.
    """
    return write(kinds.SUBSCRIPTIONS, asked, subscription_id)


@get_call(**_of_subscriptions, examples={"Found": record_of(SUBSCRIPTION_ID.example, EXAMPLE_SUBSCRIPTION)})
def get_subscription(asked: Asked[None, None], subscription_id: str) -> Answered[DefinitionRecord]:
    """Read a subscription

    Returns the subscription, as a PUT takes it.
    """
    return read(kinds.SUBSCRIPTIONS, asked, subscription_id)


@delete_call(**_of_subscriptions, refuses=UNSEEN)
def delete_subscription(asked: Asked[None, None], subscription_id: str) -> DefinitionDeleted:
    """Delete a subscription

    Deletes the subscription, with what was on its way. Without any, the feed is kept only where it is on.
    """
    return take_away(kinds.SUBSCRIPTIONS, asked, subscription_id)

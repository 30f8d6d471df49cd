"""The API's answer about the key that asks."""

from typing import Annotated, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.spelling import spelled
from engage.json.instants import Instant
from engage.json.keywords import known
from engage.models import ApiKey
from engage.scopes import Scope

ME_MESSAGE = "This is what the API key may do."
_LIMITED = ("trigger", "customers", "events", "lookup")


class KeyWorkspace(TypedDict):
    """The workspace of a key."""

    workspaceId: Annotated[ObjectId, "The workspace's id, which stands in the paths of the calls."]
    key: Annotated[str, "Its short name."]
    name: str


class KeyLimit(TypedDict):
    """How often a key may call."""

    calls: Annotated[int, "The number of calls in a window."]
    seconds: Annotated[int, "How long a window is."]


class KeyLimits(TypedDict):
    """The limits of a key, each with its own count."""

    trigger: Annotated[KeyLimit, "Triggers."]
    customers: Annotated[KeyLimit, "Calls about customers; those that read have a count of their own."]
    events: Annotated[KeyLimit, "Reports of events."]
    lookup: Annotated[KeyLimit, "Look-ups."]


class Me(TypedDict):
    """An API key: whose it is, and what it may do."""

    keyId: Annotated[ObjectId, "The key's id, as the logs name it."]
    name: str
    prefix: Annotated[str, "The key's first characters."]
    workspace: KeyWorkspace
    scopes: Annotated[
        list[Annotated[str, known(Scope.values)]] | None,
        "What the key may do; null: everything, also what is added later.",
    ]
    journeys: Annotated[list[str] | None, "The ids of the journeys that it is for; null: all."]
    networks: Annotated[list[str] | None, "The networks from which it may be used; null: all."]
    expiresAt: Annotated[Instant | None, "When the key ends; null: it does not."]
    limits: KeyLimits


def me_data(key: ApiKey) -> Me:
    """The key must have its workspace loaded."""
    limits = {policy: key.rate_for(policy, reads=policy == "lookup") for policy in _LIMITED}
    return spelled(
        Me,
        key,
        keyId=key.id,
        workspace=spelled(KeyWorkspace, key.workspace, workspaceId=key.workspace_id),
        limits={policy: KeyLimit(calls=calls, seconds=seconds) for policy, (calls, seconds) in limits.items()},
    )

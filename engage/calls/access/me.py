"""The call of a key about itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from engage.calls.asked import Asked
from engage.calls.call import get
from engage.database.object_ids import ObjectId
from engage.json.keywords import known
from engage.models import ApiKey
from engage.scopes import Scope


@dataclass(frozen=True, kw_only=True)
class KeyWorkspace:
    """The workspace of a key."""

    workspace_id: Annotated[ObjectId, "The workspace's id, which stands in the paths of the calls."]
    key: Annotated[str, "Its short name."]
    name: str


@dataclass(frozen=True)
class KeyLimit:
    """How often a key may call."""

    calls: Annotated[int, "The number of calls in a window."]
    seconds: Annotated[int, "How long a window is."]


@dataclass(frozen=True, kw_only=True)
class KeyLimits:
    """The limits of a key, each with its own count."""

    trigger: Annotated[KeyLimit, "Triggers."]
    customers: Annotated[KeyLimit, "Calls about customers; those that read have a count of their own."]
    events: Annotated[KeyLimit, "Reports of events."]
    lookup: Annotated[KeyLimit, "Look-ups."]


@dataclass(frozen=True, kw_only=True)
class Me:
    """An API key: whose it is, and what it may do."""

    key_id: Annotated[ObjectId, "The key's id, as the logs name it."]
    name: str
    prefix: Annotated[str, "The key's first characters."]
    workspace: KeyWorkspace
    scopes: Annotated[
        Sequence[Annotated[str, known(Scope.values)]] | None,
        "What the key may do; null: everything, also what is added later.",
    ]
    journeys: Annotated[Sequence[str] | None, "The ids of the journeys that it is for; null: all."]
    networks: Annotated[Sequence[str] | None, "The networks from which it may be used; null: all."]
    expires_at: Annotated[datetime | None, "When the key ends; null: it does not."]
    limits: KeyLimits


_ME = Me(
    key_id="6b00b1b1aa4223798a14fee1",
    name="shop",
    prefix="engage_0aB1c2",
    workspace=KeyWorkspace(workspace_id="6b00b1b1aa4223798a14fee0", key="acme", name="Acme"),
    scopes=[Scope.TRIGGER, Scope.EVENTS],
    journeys=["6b00b1b1aa4223798a14fee8"],
    networks=["203.0.113.0/24"],
    expires_at=None,
    limits=KeyLimits(
        trigger=KeyLimit(100, 60), customers=KeyLimit(1000, 60), events=KeyLimit(1000, 60), lookup=KeyLimit(1000, 60)
    ),
)


@get(
    path="me",
    scope=None,
    policy="lookup",
    tag="Access",
    says="This is what the API key may do.",
    answer="The key.",
    examples={"A key for one journey": _ME},
)
def get_me(asked: Asked[None, None]) -> Me:
    """Ask what the API key may do

    Returns the key's workspace, scopes, journeys, networks and limits.
    """
    key = ApiKey.objects.select_related("workspace").get(id=asked.key.id)
    workspace = key.workspace
    return Me(
        key_id=key.id,
        name=key.name,
        prefix=key.prefix,
        workspace=KeyWorkspace(workspace_id=workspace.id, key=workspace.key, name=workspace.name),
        scopes=key.scopes,
        journeys=key.journeys,
        networks=key.networks,
        expires_at=key.expires_at,
        limits=KeyLimits(
            trigger=KeyLimit(*key.rate_for("trigger", reads=False)),
            customers=KeyLimit(*key.rate_for("customers", reads=False)),
            events=KeyLimit(*key.rate_for("events", reads=False)),
            lookup=KeyLimit(*key.rate_for("lookup", reads=True)),
        ),
    )

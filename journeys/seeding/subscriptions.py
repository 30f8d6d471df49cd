"""The `subscriptions` of a seed file."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.models import Workspace
from journeys.models import LARGEST_BATCH
from journeys.seeding.reading import Described, InvalidSeed, read_described, read_item
from journeys.subscriptions.saving import SubscriptionChanges, save_subscription


def _texts(part: Part) -> list[str] | None:
    return None if part.is_null else [item.text() for item in part.items()]


def _batch(part: Part) -> int:
    if isinstance(part.value, bool) or not isinstance(part.value, int):
        part.refuse_type("a whole number")
    if not 1 <= part.value <= LARGEST_BATCH:
        part.refuse(f"must be from 1 to {LARGEST_BATCH}.")
    return part.value


_READERS: Mapping[str, Callable[[Part], Any]] = {
    "url": Part.text,
    "types": _texts,
    "journeys": _texts,
    "batch": _batch,
}


def read_subscriptions(part: Part) -> list[Described]:
    """`[{"key": "crm", "url": "https://…", "types": ["job.decided"], "journeys": null, "batch": 100}]`."""
    return read_described(part, _READERS)


def read_subscription(item: Part, read: Reading) -> Described:
    return read_item(item, _READERS, read)


def seed_subscriptions(*, workspace: Workspace, subscriptions: Sequence[Described], now: datetime) -> dict[str, str]:
    """Makes or changes them, after the journeys that they name; their ids by key. Raises InvalidSeed."""
    return {one.key: _seed(workspace, one, now) for one in subscriptions}


def _seed(workspace: Workspace, described: Described, now: datetime) -> str:
    changes = cast("SubscriptionChanges", described.changes)
    try:
        return save_subscription(workspace=workspace, key=described.key, now=now, **changes).subscription.id
    except Refusal as refusal:
        told = "\n".join(f"{described.place}.{one.message}" for one in refusal.all_found())
        raise InvalidSeed(told + refusal.and_more) from None

"""Cuts what the feed tells into pushes: each a part of it, for one request.

A subscription has at most MOST_WAITING pushes that are under way or are tried again, and no more is cut meanwhile. So a
receiver that is away for days costs as many rows, and nothing is lost: the rest is where it is, in the feed.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from django.db import transaction

from engage.database.alone import alone
from engage.database.object_ids import new_object_id
from engage.database.sql import Statement
from journeys.engine.feed.reading import FeedEvent, Place, Wanted, feed_part
from journeys.models import Journey, Push, Subscription

MOST_WAITING = 8
_SECONDS = 0.1

# Those that have room, of workspaces that have told something since.
_HUNGRY = Statement("""
SELECT id FROM journeys_subscription subscription
WHERE paused_at IS NULL AND (
    SELECT count(*) FROM journeys_push push
    WHERE push.subscription_id = subscription.id AND push.state = 'waiting' AND NOT test
) < {most} AND (
    EXISTS (SELECT FROM engage_feedbatch WHERE workspace_id = subscription.workspace_id AND position IS NULL)
    OR EXISTS (
        SELECT FROM engage_feedbatch batch WHERE batch.workspace_id = subscription.workspace_id
          AND batch.position >= subscription.position
          AND (batch.position > subscription.position OR batch.size > subscription.number)
    )
)
ORDER BY random()
""")


def cut_pushes(*, whole: bool) -> int:
    """Makes pushes for all subscriptions that have room; how many. `whole`: none that holds less than a batch.

    Of one subscription by one process at a time; who comes second passes over it. The sender's only thread for the
    database does this between webhooks: so for a moment, and those that chance puts first, lest some are always left.
    """
    cut, until = 0, time.monotonic() + _SECONDS
    for subscription_id in _HUNGRY.column(most=MOST_WAITING):
        with alone("push_cutting", subscription_id=subscription_id):
            cut += _cut(subscription_id, whole=whole)
        if time.monotonic() >= until:
            break
    return cut


@transaction.atomic
def _cut(subscription_id: str, *, whole: bool) -> int:
    free = Subscription.objects.select_for_update(skip_locked=True, no_key=True)
    subscription = free.filter(pk=subscription_id, paused_at=None).first()
    if subscription is None:
        return 0
    room = MOST_WAITING - subscription.pushes.filter(state=Push.State.WAITING, test=False).count()
    if room <= 0:
        return 0
    after = Place(position=subscription.position, number=subscription.number)
    part = feed_part(
        workspace_id=subscription.workspace_id,
        wanted=wanted_by(subscription),
        after=after,
        limit=subscription.batch * room,
    )
    starts = range(0, len(part.events), subscription.batch)
    batches = [part.events[start : start + subscription.batch] for start in starts]
    is_kept_back = whole and part.is_all and bool(batches) and len(batches[-1]) < subscription.batch
    if is_kept_back:
        del batches[-1]
    Push.objects.bulk_create(_pushes(subscription, after, batches))
    behind = (batches[-1][-1].place if batches else after) if is_kept_back else part.next
    if behind != after:
        moved = {"position": behind.position, "number": behind.number}
        Subscription.objects.filter(pk=subscription.pk).update(**moved)
    return len(batches)


def _pushes(subscription: Subscription, after: Place, batches: Sequence[Sequence[FeedEvent]]) -> Iterator[Push]:
    ends = [after, *(batch[-1].place for batch in batches)]
    for batch, (begin, end) in zip(batches, pairwise(ends), strict=True):
        yield Push(
            workspace_id=subscription.workspace_id,
            subscription=subscription,
            own_id=new_object_id(),
            size=len(batch),
            after_position=begin.position,
            after_number=begin.number,
            last_position=end.position,
            last_number=end.number,
        )


def wanted_by(subscription: Subscription) -> Wanted:
    """The events that it wants; journeys that are gone tell nothing."""
    return Wanted(types=subscription.types, journeys=_ids(subscription.workspace_id, subscription.journeys))


def _ids(workspace_id: str, keys: Iterable[str] | None) -> list[str] | None:
    if keys is None:
        return None
    return list(Journey.objects.filter(workspace_id=workspace_id, key__in=list(keys)).values_list("id", flat=True))


def events_of(push: Push, subscription: Subscription) -> Sequence[FeedEvent]:
    """The events of a push, as they are told now; none if they are not kept any more."""
    part = feed_part(
        workspace_id=push.workspace_id,
        wanted=wanted_by(subscription),
        after=Place(position=push.after_position, number=push.after_number),
        limit=push.size,
    )
    last = Place(position=push.last_position, number=push.last_number)
    return [event for event in part.events if event.place <= last]

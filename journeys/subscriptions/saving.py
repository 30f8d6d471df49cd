"""Subscriptions are made, changed, deleted, tried and resumed here, by whatever way: the one place of their rules."""

from collections.abc import Iterator
from copy import copy
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction

from engage.audit.facts import SECRET, Facts, changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.database.object_ids import new_object_id
from engage.errors import Refusal
from engage.feed import FeedType
from engage.json.documents import one_of
from engage.models import AuditEntry, Workspace
from journeys.design.authoring import require_callable
from journeys.design.columns import column_mistakes
from journeys.feed.numbering import number_fresh
from journeys.feed.reading import end_of_feed
from journeys.models import Journey, Push, Subscription
from journeys.operations.redaction import url_without_secrets
from journeys.steps.webhook_targets import RefusedRequest, parse_target
from journeys.webhooks.circuits import try_now
from journeys.webhooks.sources import source_of_subscription

MOST_SUBSCRIPTIONS, MOST_JOURNEYS, LONGEST_URL = 20, 50, 2_000
_OF_STATE = ("host", "position", "number", "failing_since", "last_failure", "paused_at")


class SubscriptionChanges(TypedDict, total=False):
    """The fields to set; one that is left out keeps its value. `types` and `journeys` None: all."""

    url: str
    types: list[str] | None
    journeys: list[str] | None
    batch: int


class InvalidSubscription(Refusal):
    """A subscription cannot be as described."""

    error = "Invalid subscription"


class SavedSubscription(NamedTuple):
    subscription: Subscription
    outcome: Literal["created", "changed", "unchanged"]


def save_subscription(
    *, workspace: Workspace, key: str, now: datetime, **changes: Unpack[SubscriptionChanges]
) -> SavedSubscription:
    """Makes the workspace's subscription with this key, or changes it. From then on the workspace's feed is kept.

    A new one is told what happens from now on. Where other events are wanted, those that were on their way are cut
    anew, so some may come twice. Raises InvalidSubscription, with all mistakes; then nothing is written.
    """
    number_fresh(workspace.pk)  # what nobody has read yet would be numbered behind a new one's begin
    with transaction.atomic():
        return _save(workspace, key, now, changes)


def _save(workspace: Workspace, key: str, now: datetime, changes: SubscriptionChanges) -> SavedSubscription:
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    own = Subscription.objects.filter(workspace=workspace)
    stored = own.select_for_update(no_key=True).filter(key=key).first()
    if stored is None and own.count() >= MOST_SUBSCRIPTIONS:
        raise InvalidSubscription(f"key: a workspace has at most {MOST_SUBSCRIPTIONS} subscriptions.").at("key")
    subscription = _checked(stored or Subscription(workspace=workspace, key=key), changes)
    before = None if stored is None else told_of(stored)
    after = told_of(subscription)
    if before == after:
        return SavedSubscription(subscription, "unchanged")
    subscription.updated_at = now
    if stored is None:
        subscription.position, subscription.number = end_of_feed(workspace.pk)[0]
    elif (stored.types, stored.journeys) != (subscription.types, subscription.journeys):
        _cut_anew(subscription)
    subscription.save()
    _keep_feed(workspace)
    record(*saved(subscription, before=before, after=after))
    return SavedSubscription(subscription, "created" if before is None else "changed")


def _checked(subscription: Subscription, changes: SubscriptionChanges) -> Subscription:
    """The subscription with these changes, unsaved."""
    changed = copy(subscription)
    for name, value in changes.items():
        setattr(changed, name, value)
    check_subscription(changed)
    return changed


def check_subscription(subscription: Subscription) -> None:
    """Raises InvalidSubscription with all mistakes; otherwise notes its host."""
    refused = list(_mistakes(subscription))
    if refused:
        raise one_of(refused)


def _mistakes(subscription: Subscription) -> Iterator[Refusal]:
    for column, message in column_mistakes(
        subscription, except_for={"workspace", "host", "types", "journeys"}, spellings={}
    ):
        yield InvalidSubscription(message).at(column)
    if subscription.url:
        try:
            if len(subscription.url) > LONGEST_URL:
                raise RefusedRequest(f"The URL may have {LONGEST_URL} characters.")
            target = parse_target(subscription.url)
            require_callable(target)
            subscription.host = f"{target.host}:{target.port}"
        except RefusedRequest as refused:
            yield InvalidSubscription(f"url: {refused}").at("url")
    yield from _wishes_mistaken(subscription)


def _wishes_mistaken(subscription: Subscription) -> Iterator[Refusal]:
    for field, values, most in (
        ("types", subscription.types, len(FeedType)),
        ("journeys", subscription.journeys, MOST_JOURNEYS),
    ):
        if values is not None and not 1 <= len(values) <= most:
            yield InvalidSubscription(f"{field} must name from 1 to {most}, or be null for all.").at(field)
    for place, name in enumerate(subscription.types or ()):
        if name not in FeedType.values:
            message = f"types[{place}] must be one of {', '.join(FeedType.values)}, not {name[:100]!r}."
            yield InvalidSubscription(message).at(f"types[{place}]")
    keys = subscription.journeys or []
    own = Journey.objects.filter(workspace=subscription.workspace_id, key__in=keys)
    known = set(own.values_list("key", flat=True)) if keys else set()
    for place, name in enumerate(keys):
        if name not in known:
            message = f"journeys[{place}] is {name[:100]!r}, which is no key of a journey in this workspace."
            yield InvalidSubscription(message).at(f"journeys[{place}]")


def told_of(subscription: Subscription) -> Facts:
    """What the audit tells of it: what it is, not how far it has come; of a credential in its URL, that it differs."""
    told = {name: value for name, value in facts_of(subscription).items() if name not in _OF_STATE}
    plain = url_without_secrets(subscription.url)
    return told if plain == subscription.url else told | {"url": plain, "secrets": (SECRET, subscription.url)}


def _keep_feed(workspace: Workspace) -> None:
    """While there is a subscription, the feed is kept, whether it is on or not."""
    any_there = Subscription.objects.filter(workspace=workspace).exists()
    Workspace.objects.filter(pk=workspace.pk).exclude(subscribed=any_there).update(subscribed=any_there)


def _cut_anew(subscription: Subscription) -> None:
    """Takes back what is on its way, with what was delivered behind it."""
    waiting = subscription.pushes.filter(state=Push.State.WAITING, test=False)
    first = waiting.order_by("after_position", "after_number").first()
    if first is not None:
        subscription.position, subscription.number = first.after_position, first.after_number
        waiting.delete()


@transaction.atomic
def delete_subscription(subscription: Subscription) -> None:
    """Deletes it, with what was on its way."""
    gone = change(AuditEntry.Action.DELETED, subscription, changes=changes_between(told_of(subscription), {}))
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=subscription.workspace_id)
    subscription.delete()
    _keep_feed(workspace)
    record(gone)


@transaction.atomic
def resume_subscription(subscription: Subscription) -> bool:
    """Goes on with a paused one where it has stopped, at once; whether it was paused. The caller wakes the sender."""
    locked = Subscription.objects.select_for_update(no_key=True).filter(pk=subscription.pk).first()
    if locked is None or locked.paused_at is None:
        return False
    paused_at, locked.paused_at, locked.failing_since, locked.last_failure = locked.paused_at, None, None, ""
    locked.save(update_fields=["paused_at", "failing_since", "last_failure"])
    locked.pushes.filter(state=Push.State.WAITING).update(due_at=TransactionNow())
    try_now(workspace_id=locked.workspace_id, host=locked.host, source=source_of_subscription(locked.pk))
    told: dict[str, Any] = {"paused_at": (paused_at.isoformat(), None)}
    record(change(AuditEntry.Action.CHANGED, locked, changes=told))
    return True


def try_subscription(subscription: Subscription) -> Push:
    """Has one event of the type `test` sent, once, also to one that is paused. The caller wakes the sender."""
    return Push.objects.create(
        workspace_id=subscription.workspace_id, subscription=subscription, own_id=new_object_id(), test=True, size=1
    )

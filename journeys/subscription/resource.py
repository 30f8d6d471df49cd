"""Subscriptions: what one is, the rules by which it is saved, and how it is tried and resumed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction

from engage.audit.facts import SECRET, Facts, facts_of
from engage.audit.recording import change, record
from engage.database.object_ids import new_object_id
from engage.errors import Refusal
from engage.feed import FeedType
from engage.json.fields import Whole
from engage.json.mistakes import none_of
from engage.models import AuditEntry, Workspace
from engage.resources.definitions import DefinitionInvalid
from engage.resources.fields import Fields
from engage.resources.resource import CallTexts, DefinitionMissing, InvalidDefinition, Resource, Saved
from journeys.engine.feed.numbering import number_fresh
from journeys.engine.feed.reading import end_of_feed
from journeys.engine.webhooks.circuits import try_now
from journeys.engine.webhooks.sources import source_of_subscription
from journeys.journey.authoring import require_callable
from journeys.models import LARGEST_BATCH, Journey, Push, Subscription
from journeys.steps.secrets import url_without_secrets
from journeys.steps.webhook_targets import RefusedRequest, parse_target

MOST_JOURNEYS, LONGEST_URL = 50, 2_000
_OF_STATE = ("host", "position", "number", "failing_since", "last_failure", "paused_at")


@dataclass(frozen=True, kw_only=True)
class SubscriptionFields(Fields):
    """A subscription, whole. What is left out, or null, gets its default."""

    key: Annotated[str, "The key, as in the path if it is there; may be left out."] = ""
    url: Annotated[str, "Where events are posted. Required."] = ""
    types: Annotated[Sequence[str] | None, "The types of events that are pushed; all by default."] = None
    journeys: Annotated[
        Sequence[str] | None,
        "The keys of the journeys whose events are pushed; all by default, with what is of no journey.",
    ] = None
    batch: Annotated[int, "How many events one request has at most; 100 by default.", Whole(LARGEST_BATCH)] = (
        LARGEST_BATCH
    )


class SubscriptionNotFound(DefinitionMissing):
    """No such subscription in the workspace."""

    error = "Subscription not found"


class Subscriptions(Resource[Subscription]):
    """A new one is told what happens from now on. Where other events are wanted, those that were on their way are cut
    anew, so some may come twice.
    """

    model, fields, section, at_most = Subscription, SubscriptionFields, "subscriptions", 20
    missing = SubscriptionNotFound
    checked_apart = frozenset({"host", "types", "journeys"})
    of_all_journeys = True  # whatever is pushed, its receiver keeps
    calls = CallTexts(
        put="""Create or replace a subscription

        The body is the subscription's item of a seed file, whole. A new one is told what happens from now on; the feed
        is kept for as long as there is any. How far one has come, and whether it is paused, is no part of it, and
        stays. Where other events are wanted than before, some may be pushed twice.
        """,
        get="""Read a subscription

        Returns the subscription, as a PUT takes it.
        """,
        delete="""Delete a subscription

        Deletes the subscription, with what was on its way. Without any, the feed is kept only where it is on.
        """,
        example={
            "key": "crm",
            "url": "https://crm.example/events",
            "types": ["job.decided"],
            "journeys": None,
            "batch": 100,
        },
        example_id="68a1f0c2e4b0a1d2c3e4f5e1",
        requests={"Decisions": {"url": "https://crm.example/events", "types": ["job.decided"]}},
        changed=["types"],
        refuses=[DefinitionInvalid("url: This field cannot be blank.")],
    )

    def save(self, *, workspace: Workspace, **more: Any) -> Saved[Subscription]:
        while number_fresh(workspace.pk):  # what nobody has read yet would be numbered behind a new one's begin
            pass
        return super().save(workspace=workspace, **more)

    def mistakes(self, row: Subscription) -> Iterator[Refusal]:
        if row.url:
            try:
                if len(row.url) > LONGEST_URL:
                    raise RefusedRequest(f"The URL may have {LONGEST_URL} characters.")
                target = parse_target(row.url)
                require_callable(target)
                row.host = f"{target.host}:{target.port}"
            except RefusedRequest as refused:
                yield InvalidDefinition(f"url: {refused}").at("url")
        yield from _wishes_mistaken(row)

    def facts(self, row: Subscription) -> Facts:
        """What it is, not how far it has come; of a credential in its URL, that it differs."""
        told = {name: value for name, value in facts_of(row).items() if name not in _OF_STATE}
        plain = url_without_secrets(row.url)
        return told if plain == row.url else told | {"url": plain, "secrets": (SECRET, row.url)}

    def before_saving(self, row: Subscription, stored: Subscription | None) -> None:
        if stored is None:
            row.position, row.number = end_of_feed(row.workspace_id)[0]
        elif (stored.types, stored.journeys) != (row.types, row.journeys):
            _cut_anew(row)

    def after_all(self, workspace_id: str) -> None:
        """While there is a subscription, the feed is kept, whether it is on or not."""
        any_there = self.own(workspace_id).exists()
        Workspace.objects.filter(pk=workspace_id).exclude(subscribed=any_there).update(subscribed=any_there)


SUBSCRIPTIONS = Subscriptions()


def _wishes_mistaken(subscription: Subscription) -> Iterator[Refusal]:
    for field, values, most in (
        ("types", subscription.types, len(FeedType)),
        ("journeys", subscription.journeys, MOST_JOURNEYS),
    ):
        if values is not None and not 1 <= len(values) <= most:
            yield InvalidDefinition(f"{field} must name from 1 to {most}, or be null for all.").at(field)
    for place, name in enumerate(subscription.types or ()):
        if mistake := none_of(FeedType.values, name):
            yield InvalidDefinition(f"types[{place}] {mistake}").at(f"types[{place}]")
    keys = subscription.journeys or []
    own = Journey.objects.filter(workspace=subscription.workspace_id, key__in=keys)
    known = set(own.values_list("key", flat=True)) if keys else set()
    for place, name in enumerate(keys):
        if name not in known:
            message = f"journeys[{place}] is {name[:100]!r}, which is no key of a journey in this workspace."
            yield InvalidDefinition(message).at(f"journeys[{place}]")


def _cut_anew(subscription: Subscription) -> None:
    """Takes back what is on its way, with what was delivered behind it."""
    waiting = subscription.pushes.filter(state=Push.State.WAITING, test=False)
    first = waiting.order_by("after_position", "after_number").first()
    if first is not None:
        subscription.position, subscription.number = first.after_position, first.after_number
        waiting.delete()


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

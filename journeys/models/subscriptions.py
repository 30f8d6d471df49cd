"""Subscriptions: servers to which a workspace's feed is pushed, and the pushes that are on their way."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import TransactionNow
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from engage.database.keys import KeyField
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import ADMINS, ALL, KeepsFew, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.feed import FeedType
from engage.models import Workspace
from engage.scopes import Scope

LARGEST_BATCH = 100


class Subscription(models.Model):
    """A server that is told what happens in the workspace, from when it subscribed on.

    What stands before `position` and `number` in the feed has been delivered, or is a push on its way.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = KeyField()
    url = models.TextField(help_text="Where events are posted, signed as webhooks are.")
    host = models.CharField(max_length=260, blank=True, editable=False, help_text="Of the URL, with the port.")
    types = ArrayField(
        models.CharField(max_length=30, choices=FeedType.choices),
        null=True,
        blank=True,
        help_text="The types of events that are pushed; empty: all.",
    )
    journeys = ArrayField(
        models.CharField(max_length=100),
        null=True,
        blank=True,
        help_text="The keys of the journeys whose events are pushed; empty: all, and what is of no journey.",
    )
    batch = models.PositiveSmallIntegerField(
        default=LARGEST_BATCH,
        validators=[MinValueValidator(1), MaxValueValidator(LARGEST_BATCH)],
        help_text="How many events one request has at most.",
    )
    position = models.BigIntegerField(default=0, editable=False)
    number = models.BigIntegerField(default=0, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False, help_text="Nothing was delivered since then.")
    last_failure = models.TextField(default="", blank=True, editable=False)
    paused_at = models.DateTimeField(null=True, editable=False, help_text="Nothing is pushed any more.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=ADMINS, keys={Scope.DEFINITIONS: ALL}, personal=())

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "key"], name="subscription_key"),
            unique_in_workspace("subscription_in_workspace"),
        ]

    def __str__(self) -> str:
        return self.key


class Push(models.Model):
    """Events on their way to a subscription: those of the feed behind one place and up to another.

    They are read again for each attempt, so what is known of people is not kept here. A test has none.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    subscription = models.ForeignKey(
        Subscription, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="pushes"
    )
    # What tells it from all others, also from those of another history; unset by versions that knew it by its number.
    own_id = models.CharField(max_length=OBJECT_ID_LENGTH, null=True, editable=False)  # noqa: DJ001
    test = models.BooleanField(default=False)
    size = models.PositiveSmallIntegerField(help_text="The number of events.")
    after_position = models.BigIntegerField(default=0)
    after_number = models.BigIntegerField(default=0)
    last_position = models.BigIntegerField(default=0)
    last_number = models.BigIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(default=0, help_text="Attempts made and recorded.")
    due_at = models.DateTimeField(
        db_default=TransactionNow(), help_text="When the next attempt is due; of one that has ended, when it did."
    )
    tried_at = models.DateTimeField(null=True, help_text="When the last attempt began.")
    milliseconds = models.PositiveIntegerField(null=True, help_text="How long it took.")
    status = models.PositiveIntegerField(null=True, help_text="The status of its answer, if one came.")
    result = models.TextField(blank=True, default="", help_text="What the last attempt came to, in words.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    # What waits goes with its subscription, or ends once its events are gone.
    table = Table(
        rights=ADMINS,
        personal=(),
        keeps=KeepsFew(
            what="pushes to subscriptions",
            days="RETAIN_FEED_DAYS",
            old=lambda before: ~Q(state=Push.State.WAITING) & Q(due_at__lt=before),
        ),
    )

    class Meta:
        verbose_name_plural = "pushes"
        constraints: ClassVar = [
            WorkspaceForeignKey(
                name="push_subscription", field="subscription", table="journeys_subscription", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves the sender's claim, subscription by subscription.
            models.Index(fields=["subscription", "due_at"], condition=Q(state="waiting"), name="push_due"),
            # Serves the list of one subscription's, newest first.
            models.Index(fields=["subscription", "-id"], name="push_latest"),
        ]

    def __str__(self) -> str:
        return self.webhook_id

    @property
    def webhook_id(self) -> str:
        """What the receiver sees as `webhook-id`, the same on every attempt."""
        return f"psh_{self.own_id or f'{self.subscription_id}_{self.id}'}"

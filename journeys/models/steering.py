"""What is done about journeys, calls and hosts while they run, by whom and why."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from engage.database.object_ids import ObjectIdField
from engage.database.table import ADMINS, STRUCTURE, VIEW, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import Workspace
from journeys.models.entering import Trigger
from journeys.models.journeys import Journey

MOST_PER_SECOND, LEAST_PER_SECOND = 1_000, 0.01


class SteeringAct(models.Model):
    """Something that was done. It is kept as long as its workspace, and names no customer."""

    class Kind(models.TextChoices):
        HOLD = "hold"
        RESUME = "resume"
        CLOSE = "close"
        ACTIVATE = "activate"
        ABORT = "abort"
        CANCEL = "cancel"
        MOVE = "move"
        HOLD_HOST = "hold_host"
        RELEASE_HOST = "release_host"
        RATE_HOST = "rate_host"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    journey = models.ForeignKey(Journey, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(Trigger, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    host = models.CharField(max_length=260, blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    actor = models.CharField(max_length=200, help_text="Who did it, in words: a key, staff, or the journey's guard.")
    reason = models.TextField(blank=True)
    numbers = models.JSONField(default=dict, help_text="What it did.")
    at = models.DateTimeField()

    table = Table(rights=STRUCTURE, personal=())

    class Meta:
        constraints: ClassVar = [
            WorkspaceForeignKey(name="act_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
            WorkspaceForeignKey(name="act_trigger", field="trigger", table="journeys_trigger", on_delete="SET NULL"),
        ]
        # Serve what was done about one journey, newest first (ids begin with their time), and about one trigger.
        indexes: ClassVar = [
            models.Index(fields=["journey", "-id"], name="act_by_journey"),
            models.Index(fields=["trigger"], condition=Q(trigger__isnull=False), name="act_by_trigger"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} by {self.actor}"


class SteeredHost(models.Model):
    """A host to which a workspace's webhooks are held, or of which only so many begin in a second."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    host = models.CharField(max_length=260, help_text="With the port: mail.example:443.")
    held_at = models.DateTimeField(null=True, editable=False)
    held_by = models.CharField(max_length=200, blank=True, editable=False)
    held_because = models.TextField(blank=True, editable=False)
    per_second = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(LEAST_PER_SECOND), MaxValueValidator(MOST_PER_SECOND)],
        help_text="How many requests begin in a second; empty: as many as there is room for.",
    )
    next_at = models.DateTimeField(null=True, editable=False, help_text="When the next one may begin.")

    table = Table(rights=Rights(viewer=VIEW, author="add change"), personal=())

    class Meta:
        # Serves the sender's claim.
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "host"], name="steered_host")]

    def __str__(self) -> str:
        return self.host


class GuardedResults(models.Model):
    """What the guards of a journey look at. How the latest attempts at its webhooks went: a character each, 1 for one
    that failed. And how many have entered, by the sixtieth of the guard's time, numbered since 1970.
    """

    journey = models.OneToOneField(Journey, on_delete=models.DO_NOTHING, db_constraint=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    latest = models.TextField(default="")
    entries = models.JSONField(default=dict, db_default={})

    table = Table(rights=ADMINS, personal=())

    class Meta:
        constraints: ClassVar = [
            WorkspaceForeignKey(name="guarded_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
        ]

    def __str__(self) -> str:
        return f"{self.latest.count('1')} of {len(self.latest)}"

"""Counts of what journeys do, which outlive the history that they count. They name nobody."""

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from engage.database.table import ADMINS, KeepsFew, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import Workspace
from journeys.models.journeys import Journey


class CountKind(models.TextChoices):
    """What a count counts; see `name` and `outcome` of a row.

    entry: a decision, by its result. edge: an enrollment that went from the node `name` to the node `outcome`
    (journeys/steps/graph.py). end: a run of the step `name` that has ended as `outcome`. event: an event that started
    nothing, by the reason; no history tells that. inapp: a delivery of the step `name` that is now `outcome`. goal: an
    enrollment that reached the goal `name` (outcome: empty), and had by then begun the step `outcome`, or gone from a
    branch or a split to a node (outcome: both, with a space between); or somebody held out (outcome: @held_out).
    """

    ENTRY = "entry"
    EDGE = "edge"
    END = "end"
    EVENT = "event"
    INAPP = "inapp"
    GOAL = "goal"


class CountDelta(models.Model):
    """By how much one transaction changed a count. Rows are only added, so nobody waits; folding deletes them."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    revision_id = models.BigIntegerField(help_text="0 for what concerns no revision: entries that enrolled nobody.")
    hour = models.DateTimeField()
    kind = models.CharField(max_length=5, choices=CountKind.choices)
    name = models.CharField(max_length=100)
    outcome = models.CharField(max_length=100, blank=True)
    number = models.BigIntegerField()

    table = Table(rights=ADMINS, personal=())

    class Meta:
        constraints: ClassVar = [
            WorkspaceForeignKey(name="delta_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
        ]
        # Serves a journey's sums, and deleting it.
        indexes: ClassVar = [models.Index(fields=["journey"], name="delta_by_journey")]

    def __str__(self) -> str:
        return f"{self.number:+} {self.name} {self.outcome} of {self.journey_id}"


def _hours_before(at: datetime) -> Q:
    """Of whole days of UTC: a day's hours are there together, or none of them is."""
    return Q(grain="hour", begin__lt=at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0))


class Count(models.Model):
    """The folded deltas: summed up by the hour, by the day (in UTC), and altogether (in the year 1970).

    Hours are kept for a time, days as long as their journey.
    """

    class Grain(models.TextChoices):
        HOUR = "hour"
        DAY = "day"
        ALL = "all"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    grain = models.CharField(max_length=4, choices=Grain.choices)
    begin = models.DateTimeField()
    revision_id = models.BigIntegerField()
    kind = models.CharField(max_length=5, choices=CountKind.choices)
    name = models.CharField(max_length=100)
    outcome = models.CharField(max_length=100, blank=True)
    number = models.BigIntegerField()

    table = Table(
        rights=ADMINS,
        personal=(),
        keeps=KeepsFew(what="counts by the hour", days="RETAIN_HOURLY_COUNTS_DAYS", old=_hours_before, order="begin"),
    )

    class Meta:
        # Serves the overview: what was decided and came to an end lately, in all journeys.
        indexes: ClassVar = [
            models.Index(
                fields=["begin", "journey"], condition=Q(grain="hour", kind__in=["entry", "end"]), name="count_by_hour"
            ),
            # Serves pruning.
            models.Index(fields=["begin"], condition=Q(grain="hour"), name="count_of_hours"),
        ]
        constraints: ClassVar = [
            # Serves folding, a journey's sums of a time, and deleting it.
            models.UniqueConstraint(
                fields=["journey", "grain", "begin", "kind", "name", "outcome", "revision_id"], name="count_once"
            ),
            WorkspaceForeignKey(name="count_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.name} {self.outcome} of {self.journey_id}"

"""For whom a journey's goals are looked out for, and who is held out of it."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from customers.event_rules import MAX_EVENT_NAME_LENGTH
from customers.models import Customer
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import Export, Keeps, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import Workspace
from journeys.models.walking import Enrollment, StepRun

_WATCHED = """
EXISTS (
    SELECT FROM journeys_goalwatch watch
    WHERE watch.enrollment_id = {enrollment} AND watch.reached_at IS NULL AND watch.until > now()
)
"""


class GoalWatch(models.Model):
    """One enrollment, or one who was held out, and one goal of the journey: whether the goal's event comes in time.

    Only the customer is a foreign key: it outlives its enrollment, and goes with the customer.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey_id = models.CharField(max_length=OBJECT_ID_LENGTH)
    revision_id = models.BigIntegerField()
    enrollment_id = models.CharField(max_length=OBJECT_ID_LENGTH, null=True)  # noqa: DJ001 (absent is not "")
    goal = models.CharField(max_length=100, help_text="Its key. What it wants of the event, the journey says.")
    event_name = models.CharField(max_length=MAX_EVENT_NAME_LENGTH)
    until = models.DateTimeField()
    reached_at = models.DateTimeField(null=True)
    counted = ArrayField(models.CharField(max_length=100), default=list, help_text="As what it was counted.")

    # One that may yet be reached is counted by what its enrollment has gone through.
    table = Table(
        keeps=Keeps(what="goals watched", days="RETAIN_HISTORY_DAYS", may_go="old.until < %(before)s"),
        needs={
            StepRun: _WATCHED.format(enrollment="old.enrollment_id"),
            Enrollment: _WATCHED.format(enrollment="old.id"),
        },
        export=Export(called="goals", moved=False),
    )

    class Meta:
        default_permissions = ()
        verbose_name_plural = "goal watches"
        constraints: ClassVar = [
            # Serves pruning what an enrollment that is watched has gone through.
            models.UniqueConstraint(fields=["enrollment_id", "goal"], name="goal_of_enrollment"),
            WorkspaceForeignKey(
                name="goal_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves whoever records an event, and merging and erasing a customer.
            models.Index(fields=["customer", "event_name"], name="goal_by_customer"),
        ]

    def __str__(self) -> str:
        return f"{self.goal} of {self.customer_id}"


class Draw(models.Model):
    """Whether a customer is held out of a journey, as it was once drawn. It stays, whatever the share is later."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey_id = models.CharField(max_length=OBJECT_ID_LENGTH)
    held_out = models.BooleanField()
    drawn_at = models.DateTimeField(db_default=Now())

    table = Table(export=Export(called="holdOuts", moved=False))

    class Meta:
        default_permissions = ()
        constraints: ClassVar = [
            # Serves deciding, and merging and erasing a customer.
            models.UniqueConstraint(fields=["customer", "journey_id"], name="drawn_once"),
            WorkspaceForeignKey(
                name="draw_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]

    def __str__(self) -> str:
        return f"{'Out' if self.held_out else 'In'}: {self.customer_id} in {self.journey_id}"

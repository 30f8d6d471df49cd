"""Customers' paths through journeys, and the history of their steps."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Coalesce

from customers.event_rules import MAX_EVENT_NAME_LENGTH
from customers.models import Customer, Event
from engage.database.object_ids import ObjectIdField
from engage.database.table import ADMINS, VIEW, Export, Keeps, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.models import Workspace
from engage.scopes import TELL_OF_THE_WAY, Scope
from journeys.models.entering import EnrollmentJob
from journeys.models.journeys import Journey, JourneyRevision
from journeys.rules.failures import GIVEN_UP

_MOMENT = Func("due_at", template="coalesce(%(expressions)s, 'infinity')")


ENROLLMENT_OVER = """
EXISTS (
    SELECT FROM journeys_enrollment enrollment
    WHERE enrollment.id = old.enrollment_id AND enrollment.state <> 'active' AND enrollment.ended_at < %(before)s
)
"""


class Enrollment(models.Model):
    """One customer's path through one journey."""

    class State(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        EXITED = "exited"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    revision = models.ForeignKey(JourneyRevision, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    # Unset once the job is pruned. The row itself stays as long as it counts for the entry rules.
    job = models.OneToOneField(
        EnrollmentJob, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="enrollment"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    exit_reason = models.TextField(blank=True)
    # The current step, and when it goes on. Long waits are stored here, never in the broker.
    step_id = models.CharField(max_length=100, blank=True)
    step_began_at = models.DateTimeField(
        null=True, help_text="When it began the step; unset while the step is ahead, and after the end."
    )
    due_at = models.DateTimeField(null=True, help_text="Unset while a webhook is being sent, and after the end.")
    was_due_at = models.DateTimeField(
        null=True, help_text="While its journey is held: when it became due. It is due again once it is released."
    )
    awaits_event = models.CharField(
        max_length=MAX_EVENT_NAME_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text="Emptied by the event that it waits for.",
    )
    watches_until = models.DateTimeField(
        null=True, help_text="While it waits for a condition about its customer: at the latest until then."
    )
    # The event that last started or moved it, and how many events led to that one by way of journeys.
    event = models.ForeignKey(Event, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    chain = models.PositiveSmallIntegerField(default=0, db_default=0)
    steps_begun = models.PositiveIntegerField(default=0, db_default=0, help_text="How many steps its history has.")
    # In no index, so that a claim writes no index either.
    claimed_until = models.DateTimeField(
        null=True, editable=False, help_text="Set while a walker has it; once that is past, the walker has died."
    )
    attempts = models.PositiveIntegerField(default=0, help_text="How often going on failed since it last went well.")
    error = models.TextField(blank=True, default="", db_default="", help_text="Why the last attempt failed.")
    crowd = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether it entered with many others, by a large call or many events; a crowd lets others go first.",
    )
    # For which of the customer's entrances it counts, where the journey had them count apart when it began.
    entrance = models.CharField(max_length=128, null=True, editable=False)  # noqa: DJ001 (absent is not "")
    # By which it went on in a later revision, in their order (transfers.py, `move`); unset: none.
    moves = models.JSONField(null=True, editable=False)
    entered_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    # A completed one counts for the entry rules for ever; an exited one for nothing.
    table = Table(
        rights=Rights(viewer=VIEW, support="change"),
        keys=dict.fromkeys(TELL_OF_THE_WAY, VIEW) | {Scope.ENROLLMENTS: "change view"},
        personal=("exit_reason",),  # staff and servers write names into it
        keeps=Keeps(
            what="exited enrollments",
            days="RETAIN_HISTORY_DAYS",
            may_go="old.state = 'exited' AND old.ended_at < %(before)s",
        ),
        # Its templates may refer to the event.
        needs={
            Event: "EXISTS (SELECT FROM journeys_enrollment enrollment "
            "WHERE enrollment.event_id = old.id AND enrollment.state = 'active')"
        },
        export=Export(called="enrollments", order="kept.entered_at, kept.id", moved=False),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("enrollment_in_workspace"),
            # Serves the entry rules: is the customer inside?
            models.UniqueConstraint(
                F("customer"), F("journey"), Coalesce(F("entrance"), Value("")),
                condition=Q(state="active"), name="enrollment_one_inside",
            ),
            models.CheckConstraint(condition=Q(due_at__isnull=True) | Q(state="active"), name="enrollment_due_inside"),
            WorkspaceForeignKey(
                name="enrollment_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(
                name="enrollment_revision_and_journey", field="revision", table="journeys_journeyrevision",
                on_delete="CASCADE", within=["journey"],
            ),
            WorkspaceForeignKey(
                name="enrollment_job", field="job", table="journeys_enrollmentjob", on_delete="SET NULL"
            ),
            WorkspaceForeignKey(name="enrollment_event", field="event", table="customers_event", on_delete="SET NULL"),
        ]  # fmt: skip
        indexes: ClassVar = [
            # Serves the entry rules: how often completed?
            models.Index(fields=["customer", "journey"], condition=Q(state="completed"), name="enrollment_completed"),
            # Serves a customer's enrollments, newest first, and erasing a customer.
            models.Index(fields=["customer", "-id"], name="enrollment_by_customer"),
            # Serves the walker's claim of the longest due. Neither it nor the next two name the state: the planner
            # would take them for a list of all active enrollments, and read it for each customer where it expects it
            # to be empty.
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="enrollment_by_due"),
            # Serves the walker's claim in turn, and the one of those that were tried before. The expression is for them
            # alone: see walking/claims.py.
            models.Index(
                "crowd", "workspace", _MOMENT, condition=Q(due_at__isnull=False, attempts=0), name="enrollment_in_turn"
            ),
            models.Index(
                "crowd", "workspace", _MOMENT,
                condition=Q(due_at__isnull=False, attempts__gt=0), name="enrollment_tried_in_turn",
            ),
            # Serves the release of those who became due while their journey was held, in that order.
            models.Index(
                fields=["journey", "was_due_at"], condition=Q(was_due_at__isnull=False), name="enrollment_parked"
            ),
            # Serves deleting an event.
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="enrollment_by_event"),
            # Serves the overview and the admin's list of those whose steps could not be walked.
            models.Index(
                fields=["ended_at", "id"], condition=Q(exit_reason__startswith=GIVEN_UP), name="enrollment_given_up"
            ),
            # Serves the admin's lists of one journey, newest first, and of one workspace.
            models.Index(fields=["workspace", "journey", "id"], name="enrollment_by_journey"),
            # Serves the list of those who wait in a step. Who goes through without a stop costs it nothing.
            models.Index(
                fields=["journey", "step_id", "id"],
                condition=Q(step_began_at__isnull=False), name="enrollment_by_step",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.id


class StepRun(models.Model):
    """One step of one enrollment: what happened, when and why."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"
        SKIPPED = "skipped"  # there was nothing to do
        INTERRUPTED = "interrupted"  # the enrollment ended while it waited

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    enrollment = models.ForeignKey(
        Enrollment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="step_runs"
    )
    ordinal = models.PositiveIntegerField(help_text="Its place in the enrollment's history, from 0.")
    step_id = models.CharField(max_length=100)
    type = models.CharField(max_length=20)
    state = models.CharField(max_length=12, choices=State.choices)
    detail = models.TextField(blank=True, help_text="What it came to, in words.")
    missing = ArrayField(models.TextField(), default=list, help_text="Names in its templates that had no value.")
    because = models.JSONField(null=True, help_text="The values that decided which way a branch went, in words.")
    policy = models.JSONField(null=True, help_text="What the contact policy said to a message, where it was asked.")
    event = models.ForeignKey(
        Event, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
        help_text="The event that it recorded, or that ended its wait.",
    )  # fmt: skip
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    table = Table(
        rights=ADMINS,
        keeps=Keeps(
            what="step runs", days="RETAIN_HISTORY_DAYS", key=("enrollment_id", "ordinal"), may_go=ENROLLMENT_OVER
        ),
        export=Export(
            called="steps",
            joined="JOIN journeys_enrollment enrollment ON enrollment.id = kept.enrollment_id",
            of="enrollment",
            order="kept.enrollment_id, kept.ordinal",
            moved=False,
        ),
    )

    class Meta:
        constraints: ClassVar = [
            # Serves an enrollment's history, in order.
            models.UniqueConstraint(fields=["enrollment", "ordinal"], name="step_run_in_enrollment"),
            WorkspaceForeignKey(
                name="step_run_enrollment", field="enrollment", table="journeys_enrollment", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(name="step_run_event", field="event", table="customers_event", on_delete="SET NULL"),
        ]
        indexes: ClassVar = [
            # Serves deleting an event.
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="step_run_by_event"),
        ]

    def __str__(self) -> str:
        return f"{self.step_id} of {self.enrollment_id}"

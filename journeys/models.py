"""Journeys, the calls that trigger them, the jobs that these make, and the enrollments that come of the jobs."""

from typing import ClassVar

from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from customers.models import Customer, Event
from engage.models import Workspace, key_validator
from engage.object_ids import ObjectIdField
from engage.tenancy import WorkspaceForeignKey, unique_in_workspace
from journeys.job_ids import job_id


class Journey(models.Model):
    """A way that customers walk, and the rules by which they enter it.

    Its steps are in revisions: an edit makes a new one, and who is inside goes on with the one they entered with.
    """

    class TriggerType(models.TextChoices):
        API = "api", "API"
        EVENT = "event", "Event"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=100, validators=[key_validator])
    name = models.CharField(max_length=200)
    trigger_type = models.CharField(max_length=10, choices=TriggerType.choices, default=TriggerType.API)
    event_name = models.CharField(max_length=255, blank=True, help_text="The event that enters its customer.")
    active = models.BooleanField(default=True)
    max_entries_per_customer = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Unset behaves like 1."
    )
    allow_reenrollment = models.BooleanField(
        default=False, help_text="With one entry per customer: may one who completed the journey enter again?"
    )
    entry_conditions = models.JSONField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1, editable=False, help_text="The number of the current revision.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("journey_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "key"], name="journey_key"),
            models.CheckConstraint(condition=~Q(max_entries_per_customer=0), name="journey_max_entries"),
            models.CheckConstraint(
                condition=Q(trigger_type="api", event_name="") | Q(trigger_type="event") & ~Q(event_name=""),
                name="journey_event_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class JourneyRevision(models.Model):
    """The steps of a journey, as they were at one time; never changed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(
        Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="revisions"
    )
    number = models.PositiveIntegerField()
    steps = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("revision_in_workspace"),
            models.UniqueConstraint(fields=["journey", "number"], name="revision_number"),
            WorkspaceForeignKey(
                name="revision_journey", field="journey", table="journeys_journey", on_delete="CASCADE"
            ),
        ]

    def __str__(self) -> str:
        return f"revision {self.number} of {self.journey_id}"


class Trigger(models.Model):
    """One call (or event) that named customers for a journey. The payload stands here once, not with every job."""

    class Form(models.TextChoices):
        SINGLE = "single"
        BULK = "bulk"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    form = models.CharField(max_length=10, choices=Form.choices)
    event = models.ForeignKey(Event, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    payload = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    customers = models.PositiveIntegerField(help_text="How many customers it named: its jobs.")
    request_id = models.CharField(max_length=64)
    queued_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("trigger_in_workspace"),
            WorkspaceForeignKey(name="trigger_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
        ]
        indexes: ClassVar = [
            # Serves a journey's triggers, newest first (ids begin with their time).
            models.Index(fields=["journey", "-id"], name="trigger_by_journey"),
        ]

    def __str__(self) -> str:
        return self.id


class EnrollmentJob(models.Model):
    """One customer named by one trigger: decided once, with a result and its reason.

    The job id of the interface is made of `journey`, `customer` and `queued_ms`. There is no foreign key to the
    customer: a job outlives an erased customer as a bare record of ids, and is then decided `customer_deleted`.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        DECIDED = "decided"
        FAILED = "failed"

    class Result(models.TextChoices):
        ENROLLED = "enrolled"
        ALREADY_ENROLLED = "already_enrolled"
        MAX_ENTRIES_REACHED = "max_entries_reached"
        CONDITIONS_NOT_MET = "conditions_not_met"
        JOURNEY_INACTIVE = "journey_inactive"
        CUSTOMER_DELETED = "customer_deleted"
        FAILED = "failed"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(
        Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="jobs"
    )
    ordinal = models.PositiveIntegerField(help_text="Its place in the trigger, from 0.")
    queued_ms = models.BigIntegerField(help_text="The job id's epoch milliseconds.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    result = models.CharField(max_length=20, choices=Result.choices, blank=True)
    reason = models.TextField(blank=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            # The job id; also serves a customer's jobs.
            models.UniqueConstraint(fields=["customer", "journey", "queued_ms"], name="job_id"),
            # Serves a chunk's jobs, a trigger's counts, and the ids of the answer in their order.
            models.UniqueConstraint(fields=["trigger", "ordinal"], name="job_in_trigger"),
            WorkspaceForeignKey(name="job_trigger", field="trigger", table="journeys_trigger", on_delete="CASCADE"),
        ]
        indexes: ClassVar = [
            # Serves the admin's list of one workspace, newest first.
            models.Index(fields=["workspace", "id"], name="job_by_workspace"),
        ]

    def __str__(self) -> str:
        return self.job_id

    @property
    def job_id(self) -> str:
        return job_id(journey_id=self.journey_id, customer_id=self.customer_id, queued_ms=self.queued_ms)


class Chunk(models.Model):
    """Work that waits: the jobs of one trigger from ordinal `start` to before `stop`. Settling it deletes it.

    A worker locks the row while it works. `attempts` and `due_at` are written before the work begins, so that also a
    worker that dies leaves a trace; they hold the next attempt back for a while.
    """

    class Lane(models.TextChoices):
        SINGLE = "single"
        BULK = "bulk"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    start = models.PositiveIntegerField()
    stop = models.PositiveIntegerField()
    lane = models.CharField(max_length=10, choices=Lane.choices)
    # When its turn would come if the lane served one chunk every 100 ms: a call for a million customers takes turns
    # with the calls that arrive while it is being served.
    turn_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, help_text="Why the last attempt failed.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trigger", "start"], name="chunk_in_trigger"),
            WorkspaceForeignKey(name="chunk_trigger", field="trigger", table="journeys_trigger", on_delete="CASCADE"),
        ]
        indexes: ClassVar = [models.Index(fields=["lane", "turn_at"], name="chunk_by_turn")]

    def __str__(self) -> str:
        return f"{self.trigger_id} [{self.start}, {self.stop})"


class Enrollment(models.Model):
    """One customer's way through one journey."""

    class State(models.TextChoices):
        ACTIVE = "active"
        COMPLETED = "completed"
        EXITED = "exited"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    revision = models.ForeignKey(JourneyRevision, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    job = models.OneToOneField(
        EnrollmentJob, on_delete=models.DO_NOTHING, db_constraint=False, related_name="enrollment"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    exit_reason = models.TextField(blank=True)
    # Where it stands, and when it goes on. Long waits are here, never in the broker.
    step_id = models.CharField(max_length=100, blank=True)
    step_began_at = models.DateTimeField(null=True, help_text="When it began the step; unset while the step is ahead.")
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    entered_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            # Serves the entry rules: is the customer inside?
            models.UniqueConstraint(
                fields=["customer", "journey"], condition=Q(state="active"), name="enrollment_one_active"
            ),
            WorkspaceForeignKey(
                name="enrollment_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(
                name="enrollment_revision", field="revision", table="journeys_journeyrevision", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves the entry rules: how often completed?
            models.Index(fields=["customer", "journey"], condition=Q(state="completed"), name="enrollment_completed"),
            # Serves a customer's enrollments, newest first, and erasing a customer.
            models.Index(fields=["customer", "-id"], name="enrollment_by_customer"),
            # Serves the walker's claim.
            models.Index(fields=["due_at"], condition=Q(state="active"), name="enrollment_due"),
            # Serves the admin's lists of one journey, newest first, and of one workspace.
            models.Index(fields=["workspace", "journey", "id"], name="enrollment_by_journey"),
        ]

    def __str__(self) -> str:
        return self.id

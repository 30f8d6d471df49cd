"""Triggers that name customers for a journey, the jobs that these create, and the waiting work."""

from typing import ClassVar

from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, models
from django.db.models import Q
from psycopg.errors import UniqueViolation

from customers.identifier_rules import LONGEST
from customers.models import NEXT_SERIAL, Customer, Event
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import ADMINS, STRUCTURE, VIEW, Export, Keeps, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.models import Workspace
from engage.notations.plurals import counted
from engage.scopes import TELL_OF_THE_WAY, Scope
from journeys.models.journeys import Journey
from journeys.rules.entry_rules import Verdict
from journeys.rules.job_ids import job_id, parse_job_id

# Nothing is pruned that is active or waits, or that something active or waiting needs.
_JOB_MAY_GO = """
{job}.status <> 'queued' AND {job}.decided_at < %(before)s AND NOT EXISTS (
    SELECT FROM journeys_enrollment enrollment WHERE enrollment.job_id = {job}.id AND enrollment.state = 'active'
)
"""


class Trigger(models.Model):
    """One call (or event) that named customers for a journey. The payload is stored here once, not with every job.

    What is sent for one recipient alone is stored with their job (`EnrollmentJob.payload`).
    """

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
    traceparent = models.CharField(  # noqa: DJ001 - a call without one costs no byte
        max_length=55, null=True, editable=False, help_text="The caller's, sent on to receivers of webhooks."
    )
    queued_at = models.DateTimeField()
    # Events with a higher serial came later. For the trigger of an event, that event's own serial counts instead.
    serial = models.BigIntegerField(null=True, editable=False, db_default=NEXT_SERIAL)
    keeps_progress = models.BooleanField(db_default=False, editable=False)  # whether it has TriggerProgress rows
    # No foreign key: a key is never deleted, and checking it would lock its row for every single trigger.
    called_by = models.CharField(
        max_length=OBJECT_ID_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text="The id of the API key that sent it; empty if an event or staff did.",
    )
    expires_at = models.DateTimeField(null=True, help_text="What is not decided by then is decided as expired.")
    # Of a call for many: {"segments": ids, "named": number of external ids, "unknown": number of those that nobody had,
    # and ids of customers: "not_in_segments", "exempt" (named as exclusions) and "excluded" (those of them who would
    # have been queued)}; of a call with recipients also the places of those whom nobody was: "unknown_recipients". What
    # else is known of these customers is not kept: they may be erased. Of a call for one: "exempt", if any.
    selection = models.JSONField(null=True, editable=False)

    table = Table(
        rights=Rights(viewer=VIEW, support="add", author="add"),
        keys=dict.fromkeys(TELL_OF_THE_WAY, VIEW) | {Scope.TRIGGER: "add view"},
        personal=("payload",),
        # It goes with its last job, and until then keeps the payload that an active enrollment may render.
        keeps=Keeps(what="triggers", days="RETAIN_JOBS_DAYS", may_go="old.queued_at < %(before)s"),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("trigger_in_workspace"),
            WorkspaceForeignKey(name="trigger_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
            WorkspaceForeignKey(name="trigger_event", field="event", table="customers_event", on_delete="SET NULL"),
        ]
        indexes: ClassVar = [
            # Serves a journey's triggers, newest first (ids begin with their time).
            models.Index(fields=["journey", "-id"], name="trigger_by_journey"),
            # Serves deleting an event.
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="trigger_by_event"),
        ]

    def __str__(self) -> str:
        return f"{counted(self.customers, 'customer')}, {self.queued_at:%Y-%m-%d %H:%M:%S} UTC"


class TriggerProgress(models.Model):
    """By how many one statement changed the number of jobs with this status and result in a block of a large trigger.

    A database trigger writes these rows (migrations/0001_version_1_0_0.sql). They are only added: with a
    shared count, workers that decide the same trigger's jobs concurrently would wait for each other. A call's chunks
    are blocks or parts of them, so a block costs no more rows than a statement.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    status = models.CharField(max_length=10)
    result = models.CharField(max_length=20)
    # The jobs' ordinals, divided by 500; unset in rows that were written before there were blocks.
    block = models.IntegerField(null=True)
    jobs = models.IntegerField()

    table = Table(rights=ADMINS, personal=())

    class Meta:
        constraints: ClassVar = [
            WorkspaceForeignKey(
                name="progress_trigger", field="trigger", table="journeys_trigger", on_delete="CASCADE"
            ),
        ]
        # Serves a trigger's sums, and deleting it.
        indexes: ClassVar = [models.Index(fields=["trigger"], name="progress_by_trigger")]

    def __str__(self) -> str:
        return f"{self.jobs:+} {self.result} of {self.trigger_id}"


class UnknownExternalId(models.Model):
    """An external id that a call for many named, or excluded, and that no customer had; cut to a customer's longest.

    Erasing a customer deletes those that are theirs (migrations/0001_version_1_0_0.sql): a call may have named
    them before they were there.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    excluded = models.BooleanField(help_text="Whether the call named it as an exclusion.")
    place = models.PositiveSmallIntegerField(help_text="Its place in the call's list, from 1.")
    external_id = models.CharField(max_length=LONGEST["external_id"])

    table = Table(
        rights=ADMINS,
        export=Export(
            called="unmatchedCalls",
            joined="JOIN ("
            "SELECT workspace_id, external_id FROM customers_customer WHERE id = {customer_id} "
            "UNION SELECT workspace_id, external_id FROM customers_alias WHERE customer_id = {customer_id}"
            ") AS named USING (workspace_id, external_id)",
            where="named.workspace_id = {workspace_id}",
            moved=False,
        ),
    )

    class Meta:
        constraints: ClassVar = [
            # Serves a trigger's list, in order, and deleting the trigger.
            models.UniqueConstraint(fields=["trigger", "excluded", "place"], name="unknown_in_trigger"),
            WorkspaceForeignKey(name="unknown_trigger", field="trigger", table="journeys_trigger", on_delete="CASCADE"),
        ]
        # Serves erasing a customer.
        indexes: ClassVar = [models.Index(fields=["external_id", "workspace"], name="unknown_by_external_id")]

    def __str__(self) -> str:
        return f"{self.place} of {self.trigger_id}"


class EnrollmentJob(models.Model):
    """One customer named by one trigger: decided once, with a result and its reason.

    The API's job id consists of `journey`, `customer` and `queued_ms`. It stays if the customer is merged into another
    one, whose job it then is (`queued_as`). There is no foreign key to the customer: a job
    outlives an erased customer as a bare record of ids, and is then decided `customer_deleted`. Nor is there one to the
    trigger, which thousands of jobs share. A database trigger refuses, once per statement, what these two keys would
    refuse, and deletes the jobs of a deleted trigger (migrations/0001_version_1_0_0.sql). The table's pages have
    room for decisions: the columns that a decision writes must stay out of all indexes.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        DECIDED = "decided"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Result(models.TextChoices):
        ENROLLED = Verdict.ENROLLED.value
        ALREADY_ENROLLED = Verdict.ALREADY_ENROLLED.value
        MAX_ENTRIES_REACHED = Verdict.MAX_ENTRIES_REACHED.value
        CONDITIONS_NOT_MET = Verdict.CONDITIONS_NOT_MET.value
        JOURNEY_INACTIVE = Verdict.JOURNEY_INACTIVE.value
        CUSTOMER_DELETED = Verdict.CUSTOMER_DELETED.value
        DUPLICATE_ENTRANCE = Verdict.DUPLICATE_ENTRANCE.value
        EXPIRED = Verdict.EXPIRED.value
        HELD_OUT = Verdict.HELD_OUT.value
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(
        Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="jobs"
    )
    ordinal = models.PositiveIntegerField(help_text="Its place in the trigger, from 0.")
    queued_ms = models.BigIntegerField(help_text="The job id's epoch milliseconds.")
    queued_as = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=80, null=True, editable=False, help_text="Its id, if its customer was merged into this one since."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    result = models.CharField(max_length=20, choices=Result.choices, blank=True)
    reason = models.TextField(blank=True)
    # What the reason rests on: texts that quote the customer's values; blanked when the customer is erased.
    details = models.JSONField(null=True)
    decided_at = models.DateTimeField(null=True)
    # Null for nearly all: the trigger's payload is theirs as it is.
    payload = models.JSONField(
        null=True, encoder=DjangoJSONEncoder, help_text="Its own, over the trigger's; forgotten with the customer."
    )
    entrance = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=128, null=True, help_text="What it is for, by the caller's id; forgotten with the customer."
    )
    # As the call said it, so perhaps past; null for nearly all: due at once.
    scheduled_for = models.DateTimeField(null=True, help_text="When it is due.")
    zone = models.CharField(  # noqa: DJ001
        max_length=100,
        null=True,
        help_text="By whose clocks, if by those of its own zone; `else …` if that stood in.",
    )
    # Of the jobs with one entrance at most one holds it: while it is queued, and from then on if it has enrolled. The
    # database sees to that (migrations/0052_own_payloads.py).
    holds_entrance = models.BooleanField(null=True, editable=False)

    table = Table(
        rights=Rights(viewer=VIEW, support="delete", author="delete"),
        keys=dict.fromkeys(TELL_OF_THE_WAY, VIEW) | {Scope.TRIGGER: "delete view"},
        personal=(),
        keeps=Keeps(
            what="jobs",
            days="RETAIN_JOBS_DAYS",
            key=("trigger_id", "ordinal"),
            may_go=_JOB_MAY_GO.format(job="old"),
        ),
        needs={
            Trigger: "EXISTS (SELECT FROM journeys_enrollmentjob job "
            f"WHERE job.trigger_id = old.id AND NOT ({_JOB_MAY_GO.format(job='job')}))",
            # What happens while a job is scheduled may end the journey for its customer as it is due.
            Event: """
            EXISTS (SELECT FROM journeys_chunk WHERE lane = 'scheduled')
            AND EXISTS (
                SELECT FROM journeys_enrollmentjob job
                WHERE job.customer_id = old.customer_id AND job.status = 'queued' AND job.scheduled_for IS NOT NULL
            )
            """,
        },
        # It outlives the customer, as a record of ids.
        export=Export(
            called="jobs",
            joined="JOIN journeys_trigger trigger ON trigger.id = kept.trigger_id",
            # What was sent for many says nothing of one of them, but in what was rendered from it; what for one does.
            more="'queued_at', trigger.queued_at, 'payload', CASE WHEN trigger.customers = 1 "
            "THEN trigger.payload || coalesce(kept.payload, '{}') ELSE kept.payload END",
            erased=False,
            moved=False,
        ),
    )

    class Meta:
        verbose_name = "job"
        constraints: ClassVar = [
            # The job id; also serves a customer's jobs.
            models.UniqueConstraint(fields=["customer", "journey", "queued_ms"], name="job_id"),
            # Serves a chunk's jobs, a trigger's counts, and the job ids of an answer, in order.
            models.UniqueConstraint(fields=["trigger", "ordinal"], name="job_in_trigger"),
            # The target of an enrollment's foreign key. Serves the admin's list of one workspace, newest first.
            unique_in_workspace("job_in_workspace"),
            # Who has an entrance. It names no column that a decision of another job writes.
            models.UniqueConstraint(
                fields=["customer", "journey", "entrance"],
                condition=Q(holds_entrance=True),
                name="job_entrance",
            ),
        ]
        indexes: ClassVar = [
            # Serves looking up the job of a customer who was merged.
            models.Index(fields=["queued_as"], condition=Q(queued_as__isnull=False), name="job_queued_as"),
            # Serves exiting an entrance: all jobs that have it.
            models.Index(fields=["journey", "entrance"], condition=Q(entrance__isnull=False), name="job_by_entrance"),
        ]

    def __str__(self) -> str:
        return self.job_id

    @property
    def job_id(self) -> str:
        return self.queued_as or job_id(
            journey_id=self.journey_id, customer_id=self.customer_id, queued_ms=self.queued_ms
        )

    @staticmethod
    def named(text: str) -> Q | None:
        """The condition on the jobs with this job id, whatever their workspace; None if the text is no job id."""
        parts = parse_job_id(text)
        return Q(**parts._asdict()) | Q(queued_as=text) if parts else None

    @staticmethod
    def id_was_taken(error: IntegrityError) -> bool:
        """Whether a job was refused because another has the same customer, journey and millisecond."""
        return _refused_by(error) == "job_id"

    @staticmethod
    def entrance_was_taken(error: IntegrityError) -> bool:
        """Whether a job was refused because another has just come to hold its entrance."""
        return _refused_by(error) == "job_entrance"


def _refused_by(error: IntegrityError) -> str | None:
    cause = error.__cause__
    return cause.diag.constraint_name if isinstance(cause, UniqueViolation) else None


CHUNK_SIZE = 500  # jobs that are decided together: the most that a chunk has


class Chunk(models.Model):
    """Waiting work: the jobs of one trigger from ordinal `start` up to, not including, `stop`. Settling it deletes it.

    A worker locks the row while it works. `attempts` and `due_at` are written before the work begins, so that even a
    worker that dies leaves a trace; they delay the next attempt for a while.
    """

    class Lane(models.TextChoices):
        SINGLE = "single"
        BULK = "bulk"

    # In place of a lane: it waits for its `due_at` (entering/scheduled.py). No worker serves it, not even an older one.
    SCHEDULED = "scheduled"

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    trigger = models.ForeignKey(Trigger, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    start = models.PositiveIntegerField()
    stop = models.PositiveIntegerField()
    lane = models.CharField(max_length=10, choices=Lane.choices)
    # When its turn would come if one chunk of its workspace were served every 100 ms: a call for a million customers
    # takes turns with the calls that arrive while it is being served.
    turn_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, help_text="Why the last attempt failed.")

    table = Table(
        rights=STRUCTURE,
        personal=(),
        needs={
            Trigger: "EXISTS (SELECT FROM journeys_chunk chunk WHERE chunk.trigger_id = old.id)",
            # The conditions of a journey that an event is to start may refer to it.
            Event: """
            EXISTS (
                SELECT FROM journeys_trigger sent JOIN journeys_chunk chunk ON chunk.trigger_id = sent.id
                WHERE sent.event_id = old.id
            )
            """,
        },
    )

    class Meta:
        verbose_name = "waiting batch"
        verbose_name_plural = "waiting batches"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trigger", "start"], name="chunk_in_trigger"),
            WorkspaceForeignKey(name="chunk_trigger", field="trigger", table="journeys_trigger", on_delete="CASCADE"),
        ]
        # Serves a worker's claim, workspace by workspace, and the sweeper's search for what has waited too long.
        indexes: ClassVar = [
            models.Index(fields=["lane", "workspace", "turn_at"], name="chunk_in_turn"),
            # Serves the search for those that have come due.
            models.Index(fields=["due_at"], condition=Q(lane="scheduled"), name="chunk_scheduled"),
        ]

    def __str__(self) -> str:
        return f"{self.trigger_id} [{self.start}, {self.stop})"

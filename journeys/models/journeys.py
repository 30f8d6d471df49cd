"""A journey as staff design it."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from customers.contact.policy import LONGEST_TOPIC
from customers.event_rules import MAX_EVENT_NAME_LENGTH
from engage.audit.acting import LONGEST_ACTOR
from engage.database.keys import KeyField
from engage.database.object_ids import ObjectIdField
from engage.database.table import STRUCTURE, VIEW, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.database.written_order import InWrittenOrder
from engage.json.key_order import in_key_order
from engage.models import Workspace
from engage.scopes import Scope
from journeys.models.credentials import StepsField


class Journey(InWrittenOrder):
    """A path that customers walk, and the rules by which they enter it.

    Its steps are in revisions: an edit creates a new one, and customers inside go on with the one they entered with,
    unless they are moved along.
    """

    class TriggerType(models.TextChoices):
        API = "api", "API"
        EVENT = "event", "Event"

    class State(models.TextChoices):
        """active: takes in and steps; closed: steps; held: takes in as before; aborted: neither, and is empty."""

        ACTIVE = "active"
        CLOSED = "closed"
        HELD = "held"
        ABORTED = "aborted"

    class OnOptOut(models.TextChoices):
        """What becomes of those inside who leave its topic, in all its channels."""

        EXIT = "exit", "they leave the journey"
        SKIP = "skip", "its messages are skipped"

    WRITTEN: ClassVar = ("entry_conditions", "event_where", "guards", "payload_schema", "goals", "hold_out")

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = KeyField()
    name = models.CharField(max_length=200)
    trigger_type = models.CharField(max_length=10, choices=TriggerType.choices, default=TriggerType.API)
    event_name = models.CharField(
        max_length=MAX_EVENT_NAME_LENGTH, blank=True, help_text="The event that enters its customer."
    )
    active = models.BooleanField(default=True)
    max_entries_per_customer = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Unset behaves like 1."
    )
    allow_reenrollment = models.BooleanField(
        default=False, help_text="With one entry per customer: may one who completed the journey enter again?"
    )
    concurrent_entrances = models.BooleanField(
        default=False,
        db_default=False,
        help_text="May a customer be inside once for each entrance? The two rules before then count for each apart.",
    )
    entry_conditions = models.JSONField(null=True, blank=True)
    event_where = models.JSONField(
        null=True, blank=True, help_text="Of the events of that name, those that meet this condition; empty: all."
    )
    event_from_bridge = models.BooleanField(
        "from in-app messages, too",
        default=True,
        db_default=True,
        help_text="Do events that in-app messages report count? Anybody can send those.",
    )
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="An archived journey is hidden, and cannot be switched on."
    )
    guards = models.JSONField(null=True, blank=True, help_text="When it holds itself.")
    payload_schema = models.JSONField(null=True, blank=True, help_text="What its payloads must be; unset: anything.")
    goals = models.JSONField(null=True, blank=True, help_text="What it is for, as events; unset: none.")
    hold_out = models.JSONField(null=True, blank=True, help_text="The share that it holds out; unset: none.")
    topic = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=LONGEST_TOPIC, null=True, blank=True, help_text="What its messages are about, by its key."
    )
    on_opt_out = models.CharField(
        max_length=4, choices=OnOptOut, default=OnOptOut.EXIT, db_default=OnOptOut.EXIT,
        help_text="What becomes of those inside who leave its topic.",
    )  # fmt: skip
    managed_by = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=200,
        null=True,
        blank=True,
        editable=False,
        help_text="Where it comes from, such as git:acme/journeys; staff are asked before they save over it.",
    )
    # What is done about it as a whole: journeys/steering. While it is held nobody steps; after a resumption, those who
    # became due meanwhile are released, so many per minute if that was asked for.
    held_at = models.DateTimeField(null=True, editable=False)
    held_by = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)
    held_because = models.TextField(blank=True, default="", db_default="", editable=False)
    resumed_at = models.DateTimeField(null=True, editable=False, help_text="Set until all of them are released.")
    per_minute = models.PositiveIntegerField(null=True, editable=False)
    next_release_at = models.DateTimeField(null=True, editable=False)
    aborted_at = models.DateTimeField(null=True, editable=False)
    # Of the last abort, also once it is open again: what was queued before has a lower one, and enters nobody.
    aborted_serial = models.BigIntegerField(null=True, editable=False)
    moves_to = models.PositiveIntegerField(
        null=True, editable=False, help_text="Until all who can have moved: the revision in which those inside go on."
    )
    revision = models.PositiveIntegerField(default=1, editable=False, help_text="The number of the current revision.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=Rights(viewer=VIEW, author="add change", held=True),
        keys={Scope.STATS: VIEW, Scope.FEED: VIEW, Scope.DEFINITIONS: "add change view"},
        personal=(),
        limits_keys=True,
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("journey_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "key"], name="journey_key"),
            models.CheckConstraint(condition=~Q(max_entries_per_customer=0), name="journey_max_entries"),
            models.CheckConstraint(
                condition=Q(trigger_type="api", event_name="") | Q(trigger_type="event") & ~Q(event_name=""),
                name="journey_event_name",
            ),
            models.CheckConstraint(
                condition=Q(event_where__isnull=True) | Q(trigger_type="event"), name="journey_event_where"
            ),
            models.CheckConstraint(
                condition=Q(event_from_bridge=True) | Q(trigger_type="event"), name="journey_event_from_bridge"
            ),
            models.CheckConstraint(
                condition=Q(archived_at__isnull=True) | Q(active=False), name="journey_archived_inactive"
            ),
            models.CheckConstraint(
                condition=Q(aborted_at__isnull=True) | Q(active=False), name="journey_aborted_inactive"
            ),
        ]
        indexes: ClassVar = [
            # Serves the journeys that an event starts.
            models.Index(
                fields=["workspace", "event_name"],
                condition=Q(trigger_type="event", active=True),
                name="journey_by_event",
            ),
            # Serves senders, who ask whether any is held, and whoever goes on with what a resumption or an abort began.
            models.Index(
                fields=["id"],
                condition=Q(held_at__isnull=False) | Q(resumed_at__isnull=False),
                name="journey_steered",
            ),
            # Serves whoever goes on with moving those inside to a later revision.
            models.Index(fields=["id"], condition=Q(moves_to__isnull=False), name="journey_moving"),
            # Serves senders, who ask whether any is guarded.
            models.Index(fields=["id"], condition=Q(guards__isnull=False), name="journey_guarded"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_being_resumed(self) -> bool:
        """Whether some of those who became due while it was held have yet to be released."""
        return self.resumed_at is not None and self.held_at is None

    @property
    def state(self) -> State:
        """What may happen in it at the moment."""
        if self.aborted_at is not None:
            return Journey.State.ABORTED
        if self.held_at is not None:
            return Journey.State.HELD
        return Journey.State.ACTIVE if self.active else Journey.State.CLOSED


class JourneyRevision(models.Model):
    """The steps of a journey and what ends it early, as they were at one time; never changed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.ForeignKey(
        Journey, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="revisions"
    )
    number = models.PositiveIntegerField()
    steps = StepsField(default=list)
    exit_on = models.JSONField(
        default=list, db_default=[], help_text="The events and conditions that end an enrollment early."
    )
    exit_events = ArrayField(
        models.CharField(max_length=MAX_EVENT_NAME_LENGTH),
        default=list,
        db_default=[],
        help_text="The names of the events among them.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    made_by = models.CharField(
        max_length=LONGEST_ACTOR,
        blank=True,
        db_default="",
        help_text="Empty: by an earlier version, which did not note it.",
    )
    # How the names in [steps, exit_on] were written (engage/json/key_order.py); empty: by an earlier version.
    key_order = models.JSONField(default=list, db_default=[], editable=False)

    table = Table(rights=STRUCTURE, personal=())

    class Meta:
        constraints: ClassVar = [
            # The target of an enrollment's foreign key: a revision of its own journey.
            models.UniqueConstraint(fields=["workspace", "journey", "id"], name="revision_in_journey"),
            models.UniqueConstraint(fields=["journey", "number"], name="revision_number"),
            WorkspaceForeignKey(
                name="revision_journey", field="journey", table="journeys_journey", on_delete="CASCADE"
            ),
        ]

    def __str__(self) -> str:
        return f"Revision {self.number}"

    @property
    def written(self) -> dict[str, Any]:
        """`steps` and `exit_on` with their names in the order in which they were written, as far as it is known."""
        return _written(self)


class JourneyDraft(models.Model):
    """What is being edited of a journey until it is published: steps, exits, entry conditions, right or wrong."""

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey = models.OneToOneField(Journey, on_delete=models.DO_NOTHING, db_constraint=False, related_name="draft")
    revision = models.PositiveIntegerField(help_text="The revision that it began from.")
    began_from = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=64, null=True, help_text="What the journey was then (mark_of); unset: as the revision says."
    )
    version = models.PositiveIntegerField(default=1, help_text="Another each time it is written, by chance.")
    steps = StepsField(default=list)
    exit_on = models.JSONField(default=list)
    entry_conditions = models.JSONField(null=True)
    key_order = models.JSONField(default=list)
    written_by = models.CharField(max_length=200)
    updated_at = models.DateTimeField()

    table = Table(personal=())

    class Meta:
        default_permissions = ()  # those of its journey count
        constraints: ClassVar = [
            WorkspaceForeignKey(name="draft_journey", field="journey", table="journeys_journey", on_delete="CASCADE"),
        ]

    def __str__(self) -> str:
        return f"Draft of {self.journey_id}"

    @property
    def written(self) -> dict[str, Any]:
        """As of a revision, with the entry conditions."""
        return {**_written(self), "entry_conditions": self.entry_conditions}


def _written(content: JourneyRevision | JourneyDraft) -> dict[str, Any]:
    steps, exit_on = in_key_order([content.steps, content.exit_on], content.key_order)
    return {"steps": steps, "exit_on": exit_on}

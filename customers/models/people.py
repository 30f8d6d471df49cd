"""Customers, the segments that they belong to, and the events recorded for them."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.functions import Now

from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_MESSAGE_ID_LENGTH
from customers.identifier_rules import LONGEST
from engage.database.keys import KeyField
from engage.database.object_ids import ObjectIdField
from engage.database.table import ADMINS, ALL, PEOPLE, VIEW, Export, Keeps, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.database.written_order import InWrittenOrder
from engage.models import Workspace
from engage.scopes import TELL_OF_PEOPLE, Scope

# What is recorded takes its number from this sequence, so that what came first has the lower one.
NEXT_SERIAL = Func(Value("customers_serial"), function="nextval", output_field=models.BigIntegerField())


class Customer(models.Model):
    """A person, known by one or more identifiers, with free-form attributes.

    An identifier belongs to at most one customer of a workspace. The partial unique indexes also serve look-ups, and
    lists of those that begin alike: their order is that of bytes, whatever the database's is.

    Anybody can send an app's id, so what in-app messages say about a person is kept apart: which identifiers only they
    have claimed (roster.py tells what becomes of those), and which attributes they wrote last, which have a budget of
    their own.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    external_id = models.CharField(max_length=LONGEST["external_id"], null=True, blank=True)  # noqa: DJ001 (absent is not "")
    email = models.CharField(max_length=LONGEST["email"], null=True, blank=True)  # noqa: DJ001
    phone = models.CharField(max_length=LONGEST["phone"], null=True, blank=True)  # noqa: DJ001
    user_id = models.CharField(max_length=LONGEST["user_id"], null=True, blank=True)  # noqa: DJ001
    # Written by a trigger of the database (migrations/0001_version_1_0_0.sql, which also has its indexes).
    name = models.CharField(  # noqa: DJ001
        max_length=200, null=True, editable=False, help_text="As servers wrote it into the attributes."
    )
    attributes = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    claimed_identifiers = ArrayField(
        models.CharField(max_length=20),
        default=list,
        db_default=[],
        editable=False,
        help_text="The identifiers that only in-app messages have named so far.",
    )
    claimed_attributes = ArrayField(
        models.TextField(),
        default=list,
        db_default=[],
        editable=False,
        help_text="The names of the attributes that in-app messages wrote last.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    watched = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether somebody may wait for a change.",
    )

    table = Table(
        rights=PEOPLE,
        keys=dict.fromkeys([*TELL_OF_PEOPLE, Scope.TRIGGER, Scope.MESSAGES, Scope.CONNECTIONS, Scope.CONTACT], VIEW)
        | {
            Scope.EVENTS: "add",
            Scope.CUSTOMERS_WRITE: "add change view",
            Scope.CUSTOMERS_MERGE: "change delete",
            Scope.CUSTOMERS_ERASE: "delete",
        },
        personal=(),  # to none of those who may view it at all
        persons=True,
        export=Export(
            called="customer",
            where="kept.workspace_id = {workspace_id} AND kept.id = {customer_id}",
            hidden=("watched",),
            moved=False,
        ),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("customer_in_workspace"),
            *(
                models.UniqueConstraint(
                    fields=["workspace", field],
                    condition=Q(**{f"{field}__isnull": False}),
                    opclasses=["text_ops", "varchar_pattern_ops"],
                    name=f"customer_{field}_once",
                )
                for field in LONGEST
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email or self.external_id or self.phone or self.user_id or self.id


class Alias(models.Model):
    """Identifiers that lead to another customer, into whom whoever had them was merged (merging.py).

    Its id is that of the customer who was merged, so that this id leads on as well; a new one if there was none. If a
    customer has such an identifier as their own, that comes first.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    user_id = models.CharField(max_length=LONGEST["user_id"], null=True, blank=True)  # noqa: DJ001 (absent is not "")
    external_id = models.CharField(max_length=LONGEST["external_id"], null=True, blank=True)  # noqa: DJ001
    email = models.CharField(max_length=LONGEST["email"], null=True, blank=True)  # noqa: DJ001
    phone = models.CharField(max_length=LONGEST["phone"], null=True, blank=True)  # noqa: DJ001
    claimed = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Only a page has said so: it gives way to what a server says of the user id.",
    )
    customer = models.ForeignKey(
        Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="aliases"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=ADMINS, export=Export(called="aliases"))

    class Meta:
        verbose_name_plural = "aliases"
        constraints: ClassVar = [
            # Serves looking up a user id.
            models.UniqueConstraint(fields=["workspace", "user_id"], name="alias_once"),
            WorkspaceForeignKey(
                name="alias_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves a customer's aliases, and erasing a customer.
            models.Index(fields=["workspace", "customer"], name="alias_by_customer"),
            # Serve looking up the others.
            *(
                models.Index(
                    fields=["workspace", field], condition=Q(**{f"{field}__isnull": False}), name=f"alias_by_{field}"
                )
                for field in ("external_id", "email", "phone")
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Tombstone(models.Model):
    """A digest of an identifier of somebody who was erased (tombstones.py)."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64)
    erased_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=ADMINS,
        keeps=Keeps(
            what="tombstones of erased customers", days="RETAIN_TOMBSTONES_DAYS", may_go="old.erased_at < %(before)s"
        ),
    )

    class Meta:
        constraints: ClassVar = [
            # Serves asking for an identifier.
            models.UniqueConstraint(fields=["workspace", "digest"], name="tombstone_once"),
        ]

    def __str__(self) -> str:
        return self.id


class Import(models.Model):
    """How far a file has been imported (files/importing.py)."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64, help_text="Of the file, and of what its columns were said to be.")
    rows = models.PositiveBigIntegerField(default=0, help_text="As far as they are done, with blank ones.")
    counts = models.JSONField(default=dict, help_text="Of the rows: created, found, failed, skipped and blank.")
    refused = models.JSONField(
        default=dict, db_default={}, help_text="The first and last numbers of rows without a gap: failed, skipped."
    )
    error_bytes = models.PositiveBigIntegerField(default=0, help_text="The length of the error file.")
    finished_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=ADMINS, personal=())

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "digest"], name="import_once")]

    def __str__(self) -> str:
        return self.digest


class Segment(InWrittenOrder):
    """A set of customers: the union of those put into it and those who meet its conditions, if it has any."""

    WRITTEN: ClassVar = ("conditions",)

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = KeyField()
    name = models.CharField(max_length=200)
    conditions = models.JSONField(null=True, blank=True)
    managed_by = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=200,
        null=True,
        blank=True,
        editable=False,
        help_text="Where it comes from, such as git:acme/journeys; staff are asked before they save over it.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=Rights(viewer=VIEW, author=ALL),
        keys={Scope.SEGMENTS: "change", Scope.DEFINITIONS: ALL},
        personal=(),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("segment_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "key"], name="segment_key"),
        ]

    def __str__(self) -> str:
        return self.name


class SegmentMembership(models.Model):
    """One customer put into one segment."""

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    segment = models.ForeignKey(Segment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    added_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=PEOPLE,
        keys=dict.fromkeys(TELL_OF_PEOPLE, VIEW),
        personal=(),
        export=Export(
            called="segments",
            joined="JOIN customers_segment segment ON segment.id = kept.segment_id",
            more="'segment_key', segment.key, 'segment_name', segment.name",
            moved=False,
        ),
    )

    class Meta:
        verbose_name = "segment member"
        constraints: ClassVar = [
            # Serves listing a segment's members.
            models.UniqueConstraint(fields=["segment", "customer"], name="membership_once"),
            WorkspaceForeignKey(
                name="membership_segment", field="segment", table="customers_segment", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(
                name="membership_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves listing a customer's segments, and erasing a customer.
            models.Index(fields=["workspace", "customer"], name="membership_by_customer"),
        ]

    def __str__(self) -> str:
        return f"{self.customer_id} in {self.segment_id}"


class Event(models.Model):
    """Something a customer did, or a journey recorded for them, with its properties."""

    class Source(models.TextChoices):
        BRIDGE_ACTION = "bridge_action"
        BRIDGE_CAPTURE = "bridge_capture"
        API = "api", "API"
        JOURNEY = "journey"

        @property
        def is_bridge(self) -> bool:
            """Whether anybody could have sent it: the bridge has no secret."""
            return self.value in BRIDGE_SOURCES

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    name = models.CharField(max_length=MAX_EVENT_NAME_LENGTH)
    properties = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    source = models.CharField(max_length=20, choices=Source.choices)
    chain = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="How many events in a row led to it by way of journeys; 0: none did."
    )
    message_id = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=MAX_MESSAGE_ID_LENGTH, null=True, editable=False, help_text="The in-app message that it came from."
    )
    verified = models.BooleanField(
        null=True, editable=False, help_text="Whether the customer was proven; unknown where nobody asks for a proof."
    )
    occurred_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # Drawn while the customer is locked, so a customer's events are numbered in the order in which they were recorded,
    # also within one call, whatever their times say. Unset for events from before there were numbers.
    serial = models.BigIntegerField(null=True, editable=False, db_default=NEXT_SERIAL)

    table = Table(
        rights=PEOPLE,
        keys=dict.fromkeys(TELL_OF_PEOPLE, VIEW) | {Scope.EVENTS: "add"},
        personal=("properties",),
        keeps=Keeps(what="events", days="RETAIN_EVENTS_DAYS", may_go="old.created_at < %(before)s"),
        export=Export(called="events", order="kept.occurred_at, kept.id"),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("event_in_workspace"),
            WorkspaceForeignKey(
                name="event_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves listing a customer's events, newest first, and erasing a customer.
            models.Index(fields=["workspace", "customer", "-occurred_at"], name="event_by_customer"),
            # Serves looking up a customer's events since one of them, or since a trigger.
            models.Index(fields=["customer", "serial"], condition=Q(serial__isnull=False), name="event_by_serial"),
        ]

    def __str__(self) -> str:
        return self.name


BRIDGE_SOURCES = [Event.Source.BRIDGE_ACTION.value, Event.Source.BRIDGE_CAPTURE.value]

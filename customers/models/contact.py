"""What workspaces write to people about, what these want of it, and which addresses are not written to."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Now

from customers.models.people import Customer
from engage.database.encrypted_fields import EncryptedTextField
from engage.database.keys import KeyField
from engage.database.object_ids import ObjectIdField
from engage.database.table import ADMINS, ALL, PEOPLE, VIEW, Export, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.database.written_order import InWrittenOrder
from engage.models import Workspace
from engage.scopes import TELL_OF_PEOPLE, Scope

LONGEST_TOPIC = 50


class Channel(models.TextChoices):
    EMAIL = "email", "e-mail"
    SMS = "sms", "SMS"
    PUSH = "push"
    CHAT = "chat"
    IN_APP = "in_app", "in-app messages"


class Topic(InWrittenOrder):
    """What a workspace writes about, such as offers: people want it or not, by each of its channels."""

    class Default(models.TextChoices):
        """What holds of those of whom nothing is known."""

        OPTED_IN = "opted_in", "they have a relation, and get it"
        OPTED_OUT = "opted_out", "they get nothing without their consent"

    WRITTEN: ClassVar = ("texts",)

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = KeyField()
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, blank=True, default="")
    texts = models.JSONField(default=dict, blank=True, help_text="Name and description by language.")
    channels = ArrayField(models.CharField(max_length=10, choices=Channel))
    default = models.CharField(max_length=10, choices=Default)
    confirm = models.BooleanField(default=False, help_text="Whether a wish counts once it was confirmed.")
    valid_for = models.CharField(  # noqa: DJ001 (absent is not "")
        max_length=20, null=True, blank=True, help_text="How long a consent holds, such as P2Y; always if it is empty."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=Rights(viewer=VIEW),
        keys={Scope.CONTACT: ALL, **dict.fromkeys(TELL_OF_PEOPLE, VIEW)},
        personal=(),
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("topic_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "key"], name="topic_key"),
        ]

    def __str__(self) -> str:
        return self.name


class ContactRules(InWrittenOrder):
    """The contact policy of a workspace (customers/contact/policy.py), and the key of its digests of addresses.

    Another key would make all that is suppressed reachable again, so no rotation changes it.
    """

    WRITTEN: ClassVar = ("policy",)

    id = ObjectIdField(primary_key=True)
    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE)
    policy = models.JSONField(default=dict, blank=True)
    digest_key = EncryptedTextField(editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=Rights(viewer=VIEW), keys={Scope.CONTACT: ALL}, personal=("digest_key",))

    class Meta:
        verbose_name = "contact policy"
        verbose_name_plural = "contact policies"

    def __str__(self) -> str:
        return "Contact policy"


class _Will(models.Model):
    """What somebody wants of a topic by a channel. The topic is its key: a ledger outlives what it is about."""

    class State(models.TextChoices):
        REQUESTED = "requested"
        SUBSCRIBED = "subscribed"
        UNSUBSCRIBED = "unsubscribed"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    topic = models.CharField(max_length=LONGEST_TOPIC)
    channel = models.CharField(max_length=10, choices=Channel)
    state = models.CharField(max_length=12, choices=State)
    until = models.DateTimeField(null=True, help_text="When an opt-out for a time ends.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.state} {self.topic} by {self.channel}"


class ConsentAct(_Will):
    """An act in the ledger of consent, which is only added to."""

    class Source(models.TextChoices):
        API = "api", "API"
        PAGE = "page", "preference page"
        LINK = "link", "link in a message"
        FORM = "form", "form of an in-app message"
        IMPORT = "import", "import of a file"
        STAFF = "staff"
        PROVIDER = "provider"

    occurred_at = models.DateTimeField(null=True, help_text="Unknown counts as before all others.")
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)
    source = models.CharField(max_length=10, choices=Source)
    source_id = models.CharField(max_length=100, blank=True, default="", help_text="The delivery, message or import.")
    actor = models.CharField(max_length=200, blank=True, default="", help_text="Whose key, or which member.")
    text = models.CharField(max_length=255, blank=True, default="", help_text="The version that was agreed to.")
    evidence = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)

    table = Table(
        rights=PEOPLE,
        keys=dict.fromkeys(TELL_OF_PEOPLE, VIEW) | {Scope.CUSTOMERS_WRITE: "add", Scope.CONTACT: "add"},
        personal=("evidence",),
        export=Export(called="consentActs"),
    )

    class Meta:
        constraints: ClassVar = [
            WorkspaceForeignKey(
                name="consent_act_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves a person's ledger, newest first, and erasing them.
            models.Index(fields=["workspace", "customer", "-id"], name="consent_act_by_customer"),
        ]


class Consent(_Will):
    """What follows from a person's acts about one topic and channel (customers/contact/consent.py)."""

    since = models.DateTimeField(null=True)

    table = Table(
        rights=PEOPLE,
        keys=dict.fromkeys(TELL_OF_PEOPLE, VIEW) | {Scope.CUSTOMERS_WRITE: "add", Scope.CONTACT: "add"},
        personal=(),
        export=Export(called="consents", moved=False),
    )

    class Meta:
        constraints: ClassVar = [
            # Serves whoever asks whether somebody may be written to.
            models.UniqueConstraint(fields=["customer", "topic", "channel"], name="consent_once"),
            WorkspaceForeignKey(
                name="consent_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves erasing a customer.
            models.Index(fields=["workspace", "customer"], name="consent_by_customer"),
        ]


class Suppression(models.Model):
    """An address that is not written to, by whoever has it: a keyed digest, so that it outlives an erasure."""

    class Reason(models.TextChoices):
        HARD_BOUNCE = "hard_bounce"
        SOFT_BOUNCE = "soft_bounce", "five soft bounces in a row"
        COMPLAINT = "complaint"
        INVALID = "invalid"
        MANUAL = "manual"
        ERASED = "erased", "opted out, and erased since"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    channel = models.CharField(max_length=10, choices=Channel)
    digest = models.CharField(max_length=64)
    masked = models.CharField(max_length=100, help_text="Such as a…@example.com.")
    reason = models.CharField(max_length=12, choices=Reason)
    soft_bounces = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="In a row, up to five.")
    note = models.CharField(max_length=255, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=Rights(viewer="", support="view add delete", author=VIEW),
        keys={Scope.CUSTOMERS_READ: VIEW, Scope.CONTACT: "view add delete"},
        personal=("masked", "note"),
    )

    class Meta:
        constraints: ClassVar = [
            # Serves asking for an address.
            models.UniqueConstraint(fields=["workspace", "channel", "digest"], name="suppression_once"),
        ]
        indexes: ClassVar = [
            # Serves the list, newest first.
            models.Index(fields=["workspace", "-id"], name="suppression_by_age"),
        ]

    def __str__(self) -> str:
        return self.masked


class ContactRing(models.Model):
    """The last times at which somebody was written to, as many as a cap allows (customers/contact/caps.py)."""

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    cap = models.CharField(max_length=LONGEST_TOPIC)
    times = ArrayField(models.DateTimeField())

    table = Table(rights=ADMINS, personal=(), export=Export(called="contactRings", moved=False))

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["customer", "cap"], name="contact_ring_once"),
            WorkspaceForeignKey(
                name="contact_ring_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves erasing a customer.
            models.Index(fields=["workspace", "customer"], name="contact_ring_by_customer"),
        ]

    def __str__(self) -> str:
        return self.cap

"""Records of what happened in in-app messages."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from customers.event_rules import MAX_MESSAGE_ID_LENGTH
from customers.models import Customer, Event
from engage.database.object_ids import ObjectIdField
from engage.database.table import ALL, PEOPLE, VIEW, Export, Keeps, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.database.written_order import InWrittenOrder
from engage.models import App, Workspace
from engage.scopes import Scope

MAX_ID_LENGTH = 100  # of a button or a form


class Message(InWrittenOrder):
    """An in-app message that the server knows: what its buttons and forms may write. `key` is its messageId."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        ACTIVE = "active"
        ARCHIVED = "archived"

    WRITTEN: ClassVar = ("actions", "forms", "content")

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=MAX_MESSAGE_ID_LENGTH, help_text="The messageId in the page's calls.")
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    revision = models.PositiveIntegerField(default=1, editable=False)
    actions = models.JSONField(default=list, blank=True)
    forms = models.JSONField(default=list, blank=True)
    content = models.JSONField(null=True, blank=True, help_text="What is shown where the message is delivered.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=Rights(viewer=VIEW, author=ALL),
        keys={Scope.FEED: VIEW, Scope.MESSAGES: ALL, Scope.DEFINITIONS: VIEW},
        personal=(),
    )

    class Meta:
        verbose_name = "in-app message"
        constraints: ClassVar = [
            # Serves the lookup for each call, and listing a workspace's messages.
            models.UniqueConstraint(fields=["workspace", "key"], name="message_key"),
        ]

    def __str__(self) -> str:
        return self.key


class Interaction(models.Model):
    """One bridge call: what a customer did in a message, through which app, and the result."""

    class Kind(models.TextChoices):
        CLOSE = "close"
        TRACK_EVENT = "track_event"
        UPDATE_PROFILE = "update_profile"
        LINK = "link"
        CAPTURE = "capture"
        IDENTIFY = "identify"  # in no message

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    app = models.ForeignKey(App, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    event = models.ForeignKey(Event, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message_id = models.CharField(max_length=MAX_MESSAGE_ID_LENGTH)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    form_data = models.JSONField(default=dict, help_text="Empty if the event holds what was sent.")
    attributes_written = models.JSONField(default=list, help_text="The names of the attributes written.")
    created_customer = models.BooleanField(default=False)
    # What the checks of its app found. Where none is on, all of these stay as they are.
    action_id = models.CharField(
        max_length=MAX_ID_LENGTH, default="", db_default="", help_text="The button or form of the message's definition."
    )
    message_problems = models.JSONField(null=True, help_text="What the message's definition would have refused.")
    verified = models.BooleanField(null=True, help_text="Whether a token proved who the person is.")
    identity_problem = models.CharField(
        max_length=20, default="", db_default="", help_text="Why the call would have been refused."
    )
    origin = models.CharField(max_length=255, default="", db_default="", help_text="The page, if there was a problem.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(
        rights=PEOPLE,
        keys={Scope.CUSTOMERS_EXPORT: VIEW},
        personal=("attributes_written", "form_data", "message_problems"),
        keeps=Keeps(what="interactions", days="RETAIN_INTERACTIONS_DAYS", may_go="old.created_at < %(before)s"),
        export=Export(called="interactions"),
    )

    class Meta:
        verbose_name = "in-app interaction"
        constraints: ClassVar = [
            WorkspaceForeignKey(
                name="interaction_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(name="interaction_app", field="app", table="engage_app", on_delete="CASCADE"),
            WorkspaceForeignKey(name="interaction_event", field="event", table="customers_event", on_delete="SET NULL"),
        ]
        indexes: ClassVar = [
            # Serves a customer's interactions, newest first, and erasing a customer.
            models.Index(fields=["workspace", "customer", "-id"], name="interaction_by_customer"),
            # Serves a message's page, and learning a message's definition.
            models.Index(fields=["message_id", "workspace", "-id"], name="interaction_by_message"),
            # Serves what a message's definition would have refused, newest first.
            models.Index(
                fields=["message_id", "workspace", "-id"],
                condition=Q(message_problems__isnull=False),
                name="interaction_with_problems",
            ),
            # Serves the app's page: how many calls would have been refused, and why.
            models.Index(
                fields=["app", "-id"],
                include=["verified", "identity_problem"],
                condition=Q(verified__isnull=False),
                name="interaction_by_identity",
            ),
            # Serves deleting an event.
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="interaction_by_event"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.message_id}" if self.message_id else self.kind

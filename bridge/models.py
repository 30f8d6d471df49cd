"""Records of what happened in in-app messages."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from customers.models import Customer, Event
from engage.database.object_ids import ObjectIdField
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import App, Workspace


class Interaction(models.Model):
    """One bridge call: what a customer did in a message, through which app, and the result."""

    class Kind(models.TextChoices):
        CLOSE = "close"
        TRACK_EVENT = "track_event"
        UPDATE_PROFILE = "update_profile"
        LINK = "link"
        CAPTURE = "capture"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    app = models.ForeignKey(App, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    event = models.ForeignKey(Event, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message_id = models.CharField(max_length=255)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    form_data = models.JSONField(default=dict, help_text="Empty if the event holds what was sent.")
    attributes_written = models.JSONField(default=list, help_text="The names of the attributes written.")
    created_customer = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

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
            # Serves deleting an event.
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="interaction_by_event"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.message_id}"

"""In-app messages that journeys deliver, and what became of each."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from customers.event_rules import MAX_MESSAGE_ID_LENGTH
from customers.models import Customer
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import VIEW, Export, Keeps, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.models import Workspace
from engage.scopes import TELL_OF_THE_WAY


class InAppDelivery(models.Model):
    """A message for a customer, from a step `in_app`. Once it is over (`ended_at`) it never changes.

    Only the customer is a foreign key: it outlives its enrollment and its journey, and goes with the customer.
    """

    class State(models.TextChoices):
        DUE = "due"
        SHOWN = "shown"
        ACTED = "acted"
        CLOSED = "closed"
        EXPIRED = "expired"
        WITHDRAWN = "withdrawn"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    journey_id = models.CharField(max_length=OBJECT_ID_LENGTH)
    revision_id = models.BigIntegerField()
    enrollment_id = models.CharField(max_length=OBJECT_ID_LENGTH)
    ordinal = models.PositiveIntegerField(help_text="The place of its step in the enrollment's history.")
    step_id = models.CharField(max_length=100)
    message_id = models.CharField("message", max_length=MAX_MESSAGE_ID_LENGTH, help_text="The message's key.")
    values = models.JSONField(default=dict)
    priority = models.SmallIntegerField(default=0)
    withdraw_on_exit = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DUE)
    action_id = models.CharField(max_length=100, default="", blank=True, help_text="What ended it, if a button did.")
    because = models.TextField(default="", blank=True, help_text="Why it was withdrawn.")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    shown_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    table = Table(
        rights=Rights(support="view change", author=VIEW),
        keys=dict.fromkeys(TELL_OF_THE_WAY, VIEW),
        personal=(),
        keeps=Keeps(what="in-app deliveries", days="RETAIN_IN_APP_DAYS", may_go="old.ended_at < %(before)s"),
        export=Export(called="inAppDeliveries", moved=False),
    )

    class Meta:
        verbose_name = "in-app delivery"
        verbose_name_plural = "in-app deliveries"
        constraints: ClassVar = [
            # Serves an enrollment's history, what its steps know, and withdrawing on its exit.
            models.UniqueConstraint(fields=["enrollment_id", "ordinal"], name="in_app_of_step"),
            WorkspaceForeignKey(
                name="in_app_customer", field="customer", table="customers_customer", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves what pages fetch.
            models.Index(fields=["customer"], condition=Q(ended_at__isnull=True), name="in_app_due"),
            # Serves a customer's deliveries, newest first, and merging and erasing a customer.
            models.Index(fields=["customer", "-id"], name="in_app_by_customer"),
            # Serves the sweeper, which ends what has expired.
            models.Index(fields=["expires_at"], condition=Q(ended_at__isnull=True), name="in_app_expiring"),
            # Serves aborting a journey.
            models.Index(fields=["journey_id"], condition=Q(ended_at__isnull=True), name="in_app_of_journey"),
            # Serves a message's page.
            models.Index(fields=["message_id", "workspace", "-id"], name="in_app_by_message"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} ({self.state})"

"""What definitions name that is not in them: the variables of a workspace, and its connections to providers."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from engage.database.keys import KeyField
from engage.database.object_ids import ObjectIdField
from engage.database.table import ALL, STRUCTURE, VIEW, Rights, Table
from engage.database.written_order import InWrittenOrder
from engage.models import Workspace
from engage.scopes import Scope
from journeys.models.credentials import RequestField
from journeys.models.steering import LEAST_PER_SECOND, MOST_PER_SECOND


class Variable(models.Model):
    """A value that templates read as `vars.<name>`; no secret."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    name = models.CharField(
        max_length=100,
        validators=[RegexValidator(r"\A[A-Za-z_][A-Za-z0-9_]*\Z", "Use letters, digits and _; begin with no digit.")],
    )
    value = models.JSONField(help_text='A text such as "Garden", or other JSON. No secret: everybody reads it.')
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=Rights(viewer=VIEW, author=ALL), keys={Scope.DEFINITIONS: ALL}, personal=())

    class Meta:
        # Serves walkers, who read all of a workspace.
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "name"], name="variable_name")]

    def __str__(self) -> str:
        return self.name


class Connection(InWrittenOrder):
    """A provider that journeys call: a request that is written once, with its secrets. Steps name it by its key.

    It holds at once: also for those inside, and at the next attempt of what was sent before.
    """

    class Channel(models.TextChoices):
        EMAIL = "email", "E-mail"
        SMS = "sms", "SMS"
        PUSH = "push"
        CHAT = "chat"
        OTHER = "other"

    WRITTEN: ClassVar = ("definition",)

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    key = KeyField()
    name = models.CharField(max_length=200)
    channel = models.CharField(max_length=10, choices=Channel.choices, default=Channel.OTHER)
    definition = RequestField(help_text="What is sent, and what it wants to be given.")
    host = models.CharField(max_length=260, blank=True, editable=False, help_text="Where it goes to, with the port.")
    per_second = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(LEAST_PER_SECOND), MaxValueValidator(MOST_PER_SECOND)],
        help_text="How many requests begin in a second; empty: as many as there is room for.",
    )
    next_at = models.DateTimeField(null=True, editable=False, help_text="When the next one may begin.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=STRUCTURE, keys={Scope.CONNECTIONS: ALL}, personal=())

    class Meta:
        # Serves walkers, and whoever saves what names it.
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "key"], name="connection_key")]
        # Serves senders, who ask which have a rate.
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=Q(per_second__isnull=False), name="connection_with_a_rate")
        ]

    def __str__(self) -> str:
        return self.name

"""Webhooks: requests, their attempts, the hosts that they go to, and the secrets that sign them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now

from engage.credentials.sealed import UnknownEncryptionKey
from engage.database.encrypted_fields import EncryptedTextField
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import ADMINS, VIEW, Export, Keeps, KeepsFew, Rights, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.models import Workspace
from engage.scopes import TELL_OF_THE_WAY
from journeys.models.credentials import SECRET_URL, EncryptedHeadersField
from journeys.models.walking import ENROLLMENT_OVER, Enrollment
from journeys.steps.secrets import url_without_secrets

LONGEST_SOURCE = 150


def webhook_id_of(enrollment_id: str, ordinal: int) -> str:
    """What the receiver sees as `webhook-id`, the same on every attempt."""
    return f"msg_{enrollment_id}_{ordinal}"


class WebhookDelivery(models.Model):
    """The request of one webhook step. All its attempts have the same id.

    While it waits, its enrollment stays at the step, and its end (delivered, failed) makes the enrollment due; neither
    applies once staff have had it sent again. It ends as dropped if the enrollment ends first.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        HELD = "held"  # as its journey is; it waits again once it is released
        DELIVERED = "delivered"
        FAILED = "failed"
        DROPPED = "dropped"

    UNDECIDED = (State.WAITING, State.HELD)

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    enrollment = models.ForeignKey(
        Enrollment, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="deliveries"
    )
    ordinal = models.PositiveIntegerField(help_text="The place of its step in the enrollment's history.")
    host = models.CharField(max_length=260, help_text="Where it goes to, with the port: what a circuit is kept for.")
    source = models.CharField(
        max_length=LONGEST_SOURCE,
        default="",
        db_default="",
        help_text="What sends there, which has a circuit of its own; empty: not known.",
    )
    method = models.CharField(max_length=10)
    url = models.TextField()
    headers = EncryptedHeadersField(default=dict)
    body = models.TextField(null=True)  # noqa: DJ001 (no body is not an empty one)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    result = models.TextField(blank=True, default="", help_text="What it came to, in words.")
    attempts = models.PositiveIntegerField(default=0, help_text="Attempts made and recorded.")
    due_at = models.DateTimeField(help_text="When the next attempt is due; of one that has ended, when it did.")
    again = models.BooleanField(default=False, help_text="Staff asked to send it again; that moves nobody.")
    held_for = models.CharField(max_length=OBJECT_ID_LENGTH, null=True, help_text="Its journey, while it is held.")  # noqa: DJ001
    give_up_at = models.DateTimeField(null=True, help_text="No attempt begins later; unset: the ladder's end decides.")
    answer_rules = models.JSONField(null=True, help_text="When an answer is ok, and what to keep of it.")
    kept_answer = models.JSONField(null=True, help_text="What was kept of the last answer, for later steps.")
    contact = models.JSONField(null=True, help_text="By which its attempts ask whether it may be sent; unset: none do.")

    # Its attempts go with it. It may wait although its enrollment has ended: staff may have asked to send it again.
    table = Table(
        rights=Rights(support="view change", author=VIEW),
        keys=dict.fromkeys(TELL_OF_THE_WAY, VIEW),
        personal=("answer", "kept_answer"),
        keeps=Keeps(
            what="webhook deliveries",
            days="RETAIN_HISTORY_DAYS",
            key=("enrollment_id", "ordinal"),
            may_go=f"old.state NOT IN ('waiting', 'held') AND {ENROLLMENT_OVER}",
        ),
        needs={
            Enrollment: "EXISTS (SELECT FROM journeys_webhookdelivery delivery "
            "WHERE delivery.enrollment_id = old.id AND delivery.state IN ('waiting', 'held'))"
        },
        export=Export(
            called="webhooks",
            joined="JOIN journeys_enrollment enrollment ON enrollment.id = kept.enrollment_id",
            of="enrollment",
            order="kept.enrollment_id, kept.ordinal",
            hidden=("headers",),  # the receiver's credentials
            tidy=lambda row: row | {"url": url_without_secrets(row["url"])},
            moved=False,
        ),
    )

    class Meta:
        verbose_name_plural = "failures"  # the admin lists no others
        constraints: ClassVar = [
            unique_in_workspace("delivery_in_workspace"),
            # Serves an enrollment's history.
            models.UniqueConstraint(fields=["enrollment", "ordinal"], name="delivery_of_step"),
            WorkspaceForeignKey(
                name="delivery_enrollment", field="enrollment", table="journeys_enrollment", on_delete="CASCADE"
            ),
        ]
        indexes: ClassVar = [
            # Serves the sender's claim, host by host.
            models.Index(
                fields=["workspace", "host", "due_at"], condition=Q(state="waiting"), name="delivery_due_by_host"
            ),
            # Serves the same where a source that sends to the host is left alone, source by source.
            models.Index(
                fields=["workspace", "host", "source", "due_at"],
                condition=Q(state="waiting"),
                name="delivery_due_by_source",
            ),
            # Serves suppressing an address.
            models.Index(
                "workspace",
                KeyTextTransform("address", "contact"),
                condition=Q(contact__isnull=False, state__in=["waiting", "held"]),
                name="delivery_waiting_by_address",
            ),
            # Serves the admin's list of failures, newest first. What succeeds at once is never in it.
            models.Index(
                fields=["due_at", "id"],
                condition=Q(state="failed") | Q(state="waiting", attempts__gt=0),
                name="delivery_failing",
            ),
            # Serves giving up what waits for too long.
            models.Index(
                fields=["give_up_at"], condition=Q(state="waiting", give_up_at__isnull=False), name="delivery_give_up"
            ),
            # Serves the release of those that were held with their journey.
            models.Index(fields=["held_for", "due_at"], condition=Q(state="held"), name="delivery_held"),
        ]

    def __str__(self) -> str:
        return self.webhook_id

    @property
    def webhook_id(self) -> str:
        return webhook_id_of(self.enrollment_id, self.ordinal)

    @property
    def waits(self) -> bool:
        """Whether its next attempt is due, or will be."""
        return self.state == self.State.WAITING

    @property
    def readable_headers(self) -> Mapping[str, str]:
        """Its headers; none if they cannot be decrypted."""
        try:
            headers: Mapping[str, str] = self.headers
        except UnknownEncryptionKey:
            return {}
        return {name: value for name, value in headers.items() if name != SECRET_URL}


class HostDue(models.Model):
    """A note that something waits to be sent to a host from then on: what a claim looks at instead of all hosts.

    Of each delivery that waits there is a note that is no later than it is due. The database's triggers write one for
    whatever begins to wait or becomes due earlier; those of hosts at which nothing is due give way to one that says
    when something will be (webhooks/due_hosts.py).
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    host = models.CharField(max_length=260)
    due_at = models.DateTimeField()

    table = Table(rights=ADMINS, personal=())

    class Meta:
        # Serves the sender's claim.
        indexes: ClassVar = [models.Index(fields=["due_at"], name="host_due")]

    def __str__(self) -> str:
        return self.host


class WebhookAttempt(models.Model):
    """One attempt at a delivery: when, what came back, how long it took; never the secret."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    delivery = models.ForeignKey(
        WebhookDelivery, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="made"
    )
    number = models.PositiveIntegerField(help_text="From 1.")
    at = models.DateTimeField()
    milliseconds = models.PositiveIntegerField()
    status = models.PositiveIntegerField(null=True, help_text="Unset where no answer came.")
    answer = models.TextField(blank=True, help_text="The first 4 KiB of the answer.")
    error = models.TextField(blank=True)

    table = Table(
        rights=ADMINS,
        export=Export(
            called="webhookAttempts",
            joined="JOIN journeys_webhookdelivery sent ON sent.id = kept.delivery_id "
            "JOIN journeys_enrollment enrollment ON enrollment.id = sent.enrollment_id",
            of="enrollment",
            moved=False,
        ),
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="attempt_of_delivery"),
            WorkspaceForeignKey(
                name="attempt_delivery", field="delivery", table="journeys_webhookdelivery", on_delete="CASCADE"
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at {self.delivery_id}"


class Resending(models.Model):
    """Staff had the failed webhooks of a workspace sent again that meet these conditions: how far that has come.

    It goes through them in the order of their ends, from `place_at` and `place_id` on, and takes none that failed after
    it was asked for.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    host = models.CharField(max_length=260, blank=True)
    status = models.PositiveIntegerField(null=True, help_text="Of the last answer; 0: none came.")
    # No foreign key: it would be the only reason to look here when a journey is deleted.
    journey_id = models.CharField(max_length=OBJECT_ID_LENGTH, blank=True)
    since = models.DateTimeField(null=True)
    before = models.DateTimeField()
    total = models.PositiveIntegerField(help_text="How many there were when it was asked for.")
    looked_at = models.PositiveIntegerField(default=0)
    sent = models.PositiveIntegerField(default=0)
    place_at = models.DateTimeField(null=True)
    place_id = models.BigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    table = Table(
        rights=ADMINS,
        personal=(),
        keeps=Keeps(
            what="requests to send webhooks again", days="RETAIN_AUDIT_DAYS", may_go="old.ended_at < %(before)s"
        ),
    )

    class Meta:
        # Serves whoever looks for work, and how far it has come.
        indexes: ClassVar = [models.Index(fields=["id"], condition=Q(ended_at__isnull=True), name="resending_open")]

    def __str__(self) -> str:
        return self.id


def _idle(now: datetime) -> Q:
    """Those that kept failing and that nothing is sent to any more: else they are called again within a day."""
    long_ago = now - timedelta(days=2)
    return (Q(open_until__isnull=True) | Q(open_until__lt=long_ago)) & Q(failing_since__lt=long_ago)


_IDLE = KeepsFew(what="idle webhook circuits", old=_idle)


class WebhookHost(models.Model):
    """The circuit of one host: failures in a row, and until when nothing is sent to it.

    Each workspace has its own, so what fails for one tenant does not hold up another. `failing_sources` are those that
    have failed since, up to some; `unconnected` are the latest failures in a row for which no connection was made; and
    `probed_source` is that whose turn it was last to show whether the host is well again.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    host = models.CharField(max_length=260)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    open_until = models.DateTimeField(null=True)
    last_failure = models.TextField(default="", db_default="", help_text="What the latest one was, in words.")
    unconnected = models.PositiveIntegerField(default=0, db_default=0)
    failing_sources = ArrayField(models.CharField(max_length=LONGEST_SOURCE), default=list, db_default=[])
    probed_source = models.CharField(max_length=LONGEST_SOURCE, default="", db_default="")

    table = Table(rights=ADMINS, personal=(), keeps=_IDLE)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "host"], name="webhook_host")]

    def __str__(self) -> str:
        return self.host


class WebhookCircuit(models.Model):
    """The circuit of one source, such as a step of a journey, at one host."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, db_index=False)
    host = models.CharField(max_length=260)
    source = models.CharField(max_length=LONGEST_SOURCE)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    open_until = models.DateTimeField(null=True)
    last_failure = models.TextField(default="", help_text="What the latest one was, in words.")

    table = Table(rights=ADMINS, personal=(), keeps=_IDLE)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "host", "source"], name="webhook_circuit")
        ]

    def __str__(self) -> str:
        return f"{self.source} at {self.host}"


class WebhookSecret(models.Model):
    """A secret that signs a workspace's webhooks. After a rotation the previous one also signs, until it retires."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="webhook_secrets")
    secret = EncryptedTextField(help_text="whsec_ and 32 bytes in base64.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    retires_at = models.DateTimeField(null=True)

    table = Table(
        rights=ADMINS,
        personal=(),
        keeps=KeepsFew(what="retired webhook secrets", old=lambda now: Q(retires_at__lte=now)),
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace"], condition=Q(retires_at=None), name="webhook_secret_current"),
        ]

    def __str__(self) -> str:
        return f"secret of {self.workspace_id}"

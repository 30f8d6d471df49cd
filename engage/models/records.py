"""What is kept of what happened: the audit, the feed, answers to repeated calls, and alerts."""

from datetime import timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import ADMINS, VIEW, Keeps, KeepsFew, Table
from engage.database.tenancy import WorkspaceForeignKey
from engage.feed import FeedType
from engage.models.credentials import ApiKey, App
from engage.models.workspaces import Workspace
from engage.scopes import Scope


class ActorKind(models.TextChoices):
    STAFF = "staff"
    KEY = "key", "API key"
    COMMAND = "command"
    SERVICE = "service", "the service itself"
    STRANGER = "stranger"


class AuditEntry(models.Model):
    """Who did what to what. Names no customer, and holds no secret.

    The database refuses to change or delete an entry before `kept_until` (migrations/0001_version_1_0_0.sql).
    """

    class Action(models.TextChoices):
        CREATED = "created"
        CHANGED = "changed"
        DELETED = "deleted"
        REVOKED = "revoked"
        STEERED = "steered"
        ERASED = "erased"
        MERGED = "merged"
        EXPORTED = "exported"
        ENDED = "ended"
        SENT_AGAIN = "sent_again", "sent again"
        LOOKED_AT = "looked_at", "looked at"
        LOGGED_IN = "logged_in", "logged in"
        LOGIN_FAILED = "login_failed", "login failed"
        REFUSED = "refused"

    id = ObjectIdField(primary_key=True)
    # No foreign key: an entry outlives what it tells of.
    workspace = models.ForeignKey(
        Workspace, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    # Its place among those that are read by calls; unset until the first call after it (audit/reading.py).
    position = models.BigIntegerField(null=True, editable=False)
    at = models.DateTimeField()
    kept_until = models.DateTimeField(null=True, help_text="Empty: for ever.")
    actor_kind = models.CharField("who", max_length=10, choices=ActorKind)
    actor_id = models.CharField(max_length=150, blank=True)
    actor_name = models.CharField(max_length=150, blank=True)
    action = models.CharField(max_length=20, choices=Action)
    object_kind = models.CharField("kind", max_length=50)
    object_id = models.CharField(max_length=255, blank=True)
    object_name = models.CharField(max_length=300, blank=True)
    changes = models.JSONField(null=True, help_text="By field: the value before, and the one after.")
    note = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True)

    table = Table(
        rights=ADMINS,
        keys={Scope.AUDIT: VIEW},
        personal=(),
        # The database lets no others go.
        keeps=Keeps(
            what="entries of the audit",
            days="RETAIN_AUDIT_DAYS",
            may_go="old.at < %(before)s AND old.kept_until <= statement_timestamp()",
        ),
    )

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        indexes: ClassVar = [
            # Serves the calls, page by page.
            models.Index(fields=["workspace", "position"], name="audit_by_position"),
            # Serves giving new entries their place.
            models.Index(fields=["at", "id"], condition=Q(position__isnull=True), name="audit_without_position"),
            # Serve the list of all, of one workspace, and of one actor.
            models.Index(fields=["-at", "-id"], name="audit_by_time"),
            models.Index(fields=["workspace", "-at", "-id"], name="audit_by_workspace"),
            models.Index(fields=["actor_id", "-at", "-id"], name="audit_by_actor"),
            # Serves the history of one object.
            models.Index(fields=["object_id", "object_kind", "at"], name="audit_by_object"),
            # Serves looking for a request.
            models.Index(fields=["request_id"], name="audit_by_request"),
            # Serves counting what was refused lately.
            models.Index(
                fields=["action", "at"], condition=Q(action__in=["refused", "login_failed"]), name="audit_refused"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()} {self.object_kind} {self.object_name or self.object_id}"


_NEW_ID = RawSQL(
    "lpad(to_hex(extract(epoch FROM statement_timestamp())::bigint), 8, '0') "
    "|| left(replace(gen_random_uuid()::text, '-', ''), 16)",
    (),
)
_NEXT_IN_FEED = Func(Value("engage_feed_serial"), function="nextval", output_field=models.BigIntegerField())


class FeedBatch(models.Model):
    """Events of one type and journey that one statement told (engage/feed.py): the first of each array, and so on.

    No array is there that no event has anything in. The database makes the ids. Jobs are told by the time that is in
    their id; `job_ids` has those that go by another. The arrays are stored as they are: to compress them took half of
    what telling costs.
    """

    id = ObjectIdField(primary_key=True, db_default=_NEW_ID)
    # No foreign key: each insert would lock the workspace's row.
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    serial = models.BigIntegerField(db_default=_NEXT_IN_FEED, editable=False)
    # Its place among those that are read; unset until the first reader after it.
    position = models.BigIntegerField(null=True, editable=False)
    type = models.CharField(max_length=30, choices=FeedType)
    journey_id = models.CharField(max_length=OBJECT_ID_LENGTH, null=True)  # noqa: DJ001 (absent is not "")
    at = models.DateTimeField(db_default=RawSQL("statement_timestamp()", ()))
    size = models.PositiveIntegerField(help_text="The number of events.")
    customer_ids = ArrayField(models.TextField(), null=True)
    external_ids = ArrayField(models.TextField(), null=True)
    trigger_ids = ArrayField(models.TextField(), null=True)
    queued_ms = ArrayField(models.BigIntegerField(), null=True)
    job_ids = ArrayField(models.TextField(), null=True)
    enrollment_ids = ArrayField(models.TextField(), null=True)
    results = ArrayField(models.TextField(), null=True)
    reasons = ArrayField(models.TextField(), null=True)

    table = Table(
        rights=ADMINS, keeps=Keeps(what="parts of the feed", days="RETAIN_FEED_DAYS", may_go="old.at < %(before)s")
    )

    class Meta:
        constraints: ClassVar = [
            # Serves reading, page by page.
            models.UniqueConstraint(
                fields=["workspace", "position"], condition=Q(position__isnull=False), name="feed_by_position"
            ),
        ]
        indexes: ClassVar = [
            # Serves giving new ones their place.
            models.Index(
                fields=["workspace", "serial"], condition=Q(position__isnull=True), name="feed_without_position"
            )
        ]

    def __str__(self) -> str:
        return f"{self.size} {self.type}"


class IdempotencyRecord(models.Model):
    """The answer to a call with an `Idempotency-Key`, kept for replay and written in the transaction of the work.

    The caller is an API key or an app. Of the request only digests are kept.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    app = models.ForeignKey(App, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    call_digest = models.BinaryField(max_length=32, help_text="SHA-256 of the path and the key.")
    body_digest = models.BinaryField(max_length=32, help_text="SHA-256 of the body's value.")
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField(default=dict)
    body = models.TextField(null=True, help_text="JSON as it was answered; null where it is streamed again.")  # noqa: DJ001
    facts = models.JSONField(null=True, help_text="What it takes to stream the answer again.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    KEPT_FOR = timedelta(hours=24)
    table = Table(
        rights=ADMINS,
        keeps=KeepsFew(
            what="idempotency records",
            old=lambda now: Q(created_at__lte=now - IdempotencyRecord.KEPT_FOR),
            order="created_at",
        ),
    )

    class Meta:
        constraints: ClassVar = [
            # These serve the lookup of the answer to a repeated call.
            models.UniqueConstraint(
                fields=["api_key", "call_digest"], condition=Q(api_key__isnull=False), name="idempotency_by_api_key"
            ),
            models.UniqueConstraint(
                fields=["app", "call_digest"], condition=Q(app__isnull=False), name="idempotency_by_app"
            ),
            models.CheckConstraint(
                condition=Q(api_key__isnull=True) ^ Q(app__isnull=True), name="idempotency_one_caller"
            ),
            models.CheckConstraint(
                condition=Q(body__isnull=True) ^ Q(facts__isnull=True), name="idempotency_one_answer"
            ),
            WorkspaceForeignKey(
                name="idempotency_api_key", field="api_key", table="engage_apikey", on_delete="CASCADE"
            ),
            WorkspaceForeignKey(name="idempotency_app", field="app", table="engage_app", on_delete="CASCADE"),
        ]
        indexes: ClassVar = [
            # Serves pruning old records.
            models.Index(fields=["created_at"], name="idempotency_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.status} for {self.api_key_id or self.app_id}"


class Alert(models.Model):
    """Something that people are told of: when it has begun, and when it is over (engage/alerts.py).

    It is to be told at `due_at`, if that is set; `attempts` have been made at that.
    """

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(  # null: the whole service
        Workspace, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    rule = models.CharField(max_length=60, help_text="Which alert it is.")
    about = models.CharField(max_length=300, blank=True, help_text="What it is about: a journey's id, or a host.")
    says = models.TextField()
    began_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now(), help_text="When its cause was found last.")
    ended_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    told_at = models.DateTimeField(null=True)
    over_told_at = models.DateTimeField("told that it is over at", null=True)

    table = Table(
        rights=ADMINS,
        personal=(),
        keeps=Keeps(what="alerts", days="RETAIN_AUDIT_DAYS", may_go="old.ended_at < %(before)s"),
    )

    class Meta:
        indexes: ClassVar = [
            # Those that hold, and those to be told: few, whatever has been.
            models.Index(fields=["rule"], condition=Q(ended_at__isnull=True), name="alert_standing"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="alert_due"),
        ]

    def __str__(self) -> str:
        return self.says

"""Workspaces and their credentials: API keys for servers, apps for SDKs."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django_otp.plugins.otp_totp.models import TOTPDevice

from engage.credentials import new_key
from engage.database.encrypted_fields import EncryptedTextField
from engage.database.keys import KeyField
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.encryption import decrypted
from engage.feed import FeedType
from engage.networks import LONGEST_NETWORK
from engage.rates import parse_rate, validate_rate
from engage.recipients import validate_addresses

DEFAULT_RATE_LIMIT = "100/m"
_TIMES_AS_MANY = 10  # as triggers, unless a key says otherwise


class Workspace(models.Model):
    """A tenant. Each customer, segment and journey belongs to exactly one."""

    id = ObjectIdField(primary_key=True)
    key = KeyField(unique=True, help_text="A short name for files.")
    name = models.CharField(max_length=200)
    feed = models.BooleanField(
        default=False, db_default=False, help_text="Keep for some days what happens, for servers to read it."
    )
    support_may_hold = models.BooleanField(
        default=False, db_default=False, help_text="The role support may hold journeys, and have them go on."
    )
    subscribed = models.BooleanField(default=False, db_default=False, editable=False)  # whether it has subscriptions
    alert_emails = models.TextField(
        "alerts by e-mail",
        blank=True,
        default="",
        db_default="",
        validators=[validate_addresses],
        help_text="Who is told when something is wrong in it (docs/alerts.md): addresses, separated by commas.",
    )
    alert_connection = models.CharField(
        "alerts by connection",
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The key of a connection of this workspace that takes a text, such as Slack's.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A member of staff in a workspace. Members see their workspaces only; see engage/admin/rights/reach.py."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        SUPPORT = "support"
        AUTHOR = "author"
        ADMIN = "admin"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "workspace"], name="one_role_in_a_workspace")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.workspace_id}"


class MemberAccount(models.Model):
    """An account that is or was a member of a workspace: it never again sees those of which it is none.

    PostgreSQL writes it with the first membership, whichever way that is made.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.user_id)


class Phone(TOTPDevice):  # type: ignore[misc] # it has no types
    """The authenticator app of a member of staff. Its `key` is encrypted: see engage/second_factor.py."""

    class Meta:
        proxy = True
        default_permissions = ()

    @property
    def bin_key(self) -> bytes:
        """The secret. Raises UnknownEncryptionKey."""
        return bytes.fromhex(decrypted(self.key))


class ApiKey(models.Model):
    """A server's API key. Only its SHA-256 is stored; the key itself is shown once, when it is created."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(
        max_length=20, editable=False, help_text="The key's first characters, to recognise it by."
    )
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    rate_limit = models.CharField(
        max_length=20, default=DEFAULT_RATE_LIMIT, validators=[validate_rate], help_text="Triggers, such as 100/m."
    )
    customers_rate_limit = models.CharField(  # noqa: DJ001 (no limit of its own is not an empty one)
        max_length=20, null=True, blank=True, validators=[validate_rate],
        help_text="Calls about customers. Empty: ten times as many as triggers.",
    )  # fmt: skip
    events_rate_limit = models.CharField(  # noqa: DJ001
        max_length=20, null=True, blank=True, validators=[validate_rate],
        help_text="Reports of events. Empty: ten times as many as triggers.",
    )  # fmt: skip
    # What the key may do; null: everything.
    scopes = ArrayField(models.CharField(max_length=20), null=True, blank=True)
    journeys = ArrayField(models.CharField(max_length=OBJECT_ID_LENGTH), null=True, blank=True)
    networks = ArrayField(models.CharField(max_length=LONGEST_NETWORK), null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="Within a minute.")
    last_used_from = models.GenericIPAddressField(null=True, editable=False, help_text="At that time.")
    workspace_key = ""  # of one that a caller has (engage/http/authentication.py)

    class Meta:
        verbose_name = "API key"
        constraints: ClassVar = [
            unique_in_workspace("api_key_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "name"], name="api_key_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def take_new_secret(self) -> str:
        """Replaces the key's secret and returns the new one, which is stored nowhere. Does not save the key."""
        fresh = new_key()
        self.prefix, self.digest = fresh.prefix, fresh.digest
        return fresh.secret

    def rate_for(self, policy: str, *, reads: bool) -> tuple[int, int]:
        """How many calls of the policy the key may make in how many seconds; `reads` and other calls count apart.

        `customers` and `events` have limits of their own. All else has that of triggers, and ten times that if it
        reads, because who waits for a result asks again and again.
        """
        limits = {"customers": self.customers_rate_limit, "events": self.events_rate_limit}
        if own := limits.get(policy):
            return parse_rate(own)
        limit, seconds = parse_rate(self.rate_limit)
        return (limit * _TIMES_AS_MANY if reads or policy in limits else limit), seconds

    def is_valid_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


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


class App(models.Model):
    """An application whose SDK calls the bridge. Its id is not secret: every page contains it."""

    class MessagePolicy(models.TextChoices):
        OPEN = "open", "open: pages may write what they like"
        REPORT = "report", "report: count what messages do not list"
        ENFORCE = "enforce", "enforce: refuse what messages do not list"

    class Identity(models.TextChoices):
        OFF = "off", "off: people are who the page says"
        REPORT = "report", "report: count who is not proven"
        ENFORCE = "enforce", "enforce: refuse who is not proven"

    class Anonymous(models.TextChoices):
        ALLOW = "allow", "allow: a person with a userId alone needs no token"
        DENY = "deny", "deny: everybody needs a token"

    class InApp(models.TextChoices):
        VERIFIED = "verified", "verified: with a token, or anonymous"
        OPEN = "open", "open: people are who the page says, and anybody who knows an identifier reads"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="apps")
    name = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    allowed_origins = ArrayField(
        models.CharField(max_length=255),
        default=list,
        blank=True,
        help_text="Origins such as https://shop.example that may call; empty allows every origin.",
    )
    message_policy = models.CharField(
        max_length=10, choices=MessagePolicy, default=MessagePolicy.OPEN, db_default=MessagePolicy.OPEN,
        help_text="Whether in-app messages may do only what their definition lists.",
    )  # fmt: skip
    identity = models.CharField(
        max_length=10, choices=Identity, default=Identity.OFF, db_default=Identity.OFF,
        help_text="Whether calls must prove with a token who the person is.",
    )  # fmt: skip
    anonymous = models.CharField(
        max_length=10, choices=Anonymous, default=Anonymous.ALLOW, db_default=Anonymous.ALLOW,
        help_text="Whether a person who has only a userId needs a token, too.",
    )  # fmt: skip
    in_app = models.CharField(
        "in-app messages", max_length=10, choices=InApp, default=InApp.VERIFIED, db_default=InApp.VERIFIED,
        help_text="Who may fetch the messages that journeys deliver to a person.",
    )  # fmt: skip
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    workspace_tells = False  # of one that a caller has: whether the workspace's feed is on

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("app_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "name"], name="app_name"),
        ]

    def __str__(self) -> str:
        return self.name


class IdentityKey(models.Model):
    """A key that verifies an app's identity tokens: a shared secret (HS256), or a public key in PEM."""

    class Algorithm(models.TextChoices):
        HS256 = "HS256", "HS256: a secret that your server shares"
        RS256 = "RS256", "RS256: the public key of an RSA key"
        ES256 = "ES256", "ES256: the public key of a P-256 key"
        EDDSA = "EdDSA", "EdDSA: the public key of an Ed25519 key"

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    app = models.ForeignKey(App, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    kid = models.CharField("key id", max_length=100, help_text="The kid in the tokens' headers.")
    alg = models.CharField("algorithm", max_length=10, choices=Algorithm)
    secret = EncryptedTextField(help_text="The secret (at least 32 bytes), or the public key in PEM.")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="In UTC; empty: it does not expire.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            # Serves the lookup of an app's keys.
            models.UniqueConstraint(fields=["app", "kid"], name="identity_key_once"),
            WorkspaceForeignKey(name="identity_key_app", field="app", table="engage_app", on_delete="CASCADE"),
        ]

    def __str__(self) -> str:
        return self.kid


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
    rule = models.CharField(max_length=60, help_text="The alert in docs/alerts.md.")
    about = models.CharField(max_length=300, blank=True, help_text="What it is about: a journey's id, or a host.")
    says = models.TextField()
    began_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now(), help_text="When its cause was found last.")
    ended_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    told_at = models.DateTimeField(null=True)
    over_told_at = models.DateTimeField("told that it is over at", null=True)

    class Meta:
        indexes: ClassVar = [
            # Those that hold, and those to be told: few, whatever has been.
            models.Index(fields=["rule"], condition=Q(ended_at__isnull=True), name="alert_standing"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="alert_due"),
        ]

    def __str__(self) -> str:
        return self.says

"""What callers prove themselves by: API keys of servers, apps of SDKs and their keys for identity tokens."""

from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from engage.credentials.api_keys import new_key
from engage.database.encrypted_fields import EncryptedTextField
from engage.database.object_ids import OBJECT_ID_LENGTH, ObjectIdField
from engage.database.table import ADMINS, STRUCTURE, Table
from engage.database.tenancy import WorkspaceForeignKey, unique_in_workspace
from engage.models.workspaces import Workspace
from engage.notations.networks import LONGEST_NETWORK
from engage.notations.rates import parse_rate, validate_rate

DEFAULT_RATE_LIMIT = "100/m"
_TIMES_AS_MANY = 10  # as triggers, unless a key says otherwise


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
    workspace_key = default_country = ""  # of one that a caller has (engage/http/authentication.py)

    table = Table(rights=ADMINS, personal=())

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
    default_country = ""  # of one that a caller has

    table = Table(rights=STRUCTURE, personal=())

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

    table = Table(rights=ADMINS, personal=())

    class Meta:
        constraints: ClassVar = [
            # Serves the lookup of an app's keys.
            models.UniqueConstraint(fields=["app", "kid"], name="identity_key_once"),
            WorkspaceForeignKey(name="identity_key_app", field="app", table="engage_app", on_delete="CASCADE"),
        ]

    def __str__(self) -> str:
        return self.kid

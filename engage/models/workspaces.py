"""A tenant, and who of the staff belongs to it."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django_otp.plugins.otp_totp.models import TOTPDevice

from engage.credentials.encryption import decrypted
from engage.database.keys import KeyField
from engage.database.object_ids import ObjectIdField
from engage.database.table import VIEW, Rights, Table
from engage.notations.countries import validate_country
from engage.notations.recipients import validate_addresses


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
        help_text="Who is told when something is wrong in it: addresses, separated by commas.",
    )
    alert_connection = models.CharField(
        "alerts by connection",
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The key of a connection of this workspace that takes a text, such as Slack's.",
    )
    default_country = models.CharField(
        max_length=2,
        blank=True,
        default="",
        db_default="",
        validators=[validate_country],
        help_text="Of phone numbers that are written without one, such as DE. Empty: these stay as they are.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    table = Table(rights=Rights(viewer=VIEW, admin="view change"), personal=())

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

    table = Table(personal=())

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "workspace"], name="one_role_in_a_workspace")]

    def __str__(self) -> str:
        return f"{self.user.get_username()} as {self.role}"  # not where: who sees a member may not see the workspace


class MemberAccount(models.Model):
    """An account that is or was a member of a workspace: it never again sees those of which it is none.

    PostgreSQL writes it with the first membership, whichever way that is made.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)

    table = Table(personal=())

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.user_id)


class Phone(TOTPDevice):  # type: ignore[misc] # it has no types
    """The authenticator app of a member of staff. Its `key` is encrypted (engage/admin/login/second_factor/)."""

    class Meta:
        proxy = True
        default_permissions = ()

    @property
    def bin_key(self) -> bytes:
        """The secret. Raises UnknownEncryptionKey."""
        return bytes.fromhex(decrypted(self.key))

"""Workspaces, and who may speak for them: servers with a key, apps with an id."""

from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now

from engage.object_ids import ObjectIdField
from engage.tenancy import unique_in_workspace

DEFAULT_RATE_LIMIT = "100/m"
rate_validator = RegexValidator(r"^[1-9]\d{0,8}/[1-9]?\d{0,3}[smhd]$", "Write a rate as 100/m, 5/s or 1000/h.")
key_validator = RegexValidator(r"^[a-z0-9][a-z0-9_-]*$", "Use lower-case letters, digits, - and _.")


class Workspace(models.Model):
    """One tenant: customers, segments and journeys belong to exactly one."""

    id = ObjectIdField(primary_key=True)
    key = models.CharField(max_length=100, unique=True, validators=[key_validator], help_text="A short name for files.")
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A server's key. Only its SHA-256 is kept; the key itself is shown once, when it is made."""

    id = ObjectIdField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(
        max_length=20, editable=False, help_text="The key's first characters, to recognise it by."
    )
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    rate_limit = models.CharField(max_length=20, default=DEFAULT_RATE_LIMIT, validators=[rate_validator])
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="Within a minute.")

    class Meta:
        verbose_name = "API key"
        constraints: ClassVar = [models.UniqueConstraint(fields=["workspace", "name"], name="api_key_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_valid_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class App(models.Model):
    """An application whose SDK calls the bridge. Its id is no secret: it stands in every page."""

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
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            unique_in_workspace("app_in_workspace"),
            models.UniqueConstraint(fields=["workspace", "name"], name="app_name"),
        ]

    def __str__(self) -> str:
        return self.name

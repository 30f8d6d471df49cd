"""`manage.py rotate_webhook_secret`: a new secret for a workspace's webhooks."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from engage.audit.acting import acting, command
from engage.audit.recording import change, record
from engage.models import AuditEntry
from journeys.engine.webhooks.signing_secrets import GRACE, rotate_webhook_secret
from journeys.management.arguments import workspace_named
from journeys.models import WebhookSecret

_MOST_HOURS = 24 * 365


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = (
        "Give a workspace's webhooks a new secret and print it; for a while they are signed with the former one, too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", metavar="WORKSPACE_KEY")
        hours = GRACE // timedelta(hours=1)
        parser.add_argument(
            "--grace", type=int, default=hours, metavar="HOURS",
            help=f"How long the former secret signs as well ({hours}); 0 ends it at once.",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_named(options["workspace"])
        if not 0 <= options["grace"] <= _MOST_HOURS:
            raise CommandError(f"--grace must be from 0 to {_MOST_HOURS} hours.")
        grace = timedelta(hours=options["grace"])
        with acting(command("rotate_webhook_secret")), transaction.atomic():
            secret = rotate_webhook_secret(workspace_id=workspace.id, now=timezone.now(), grace=grace)
            record(change(AuditEntry.Action.CREATED, WebhookSecret.objects.get(workspace=workspace, retires_at=None)))
        self.stdout.write(secret)

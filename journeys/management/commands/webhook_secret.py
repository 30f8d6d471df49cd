"""`manage.py webhook_secret`: what a workspace's webhooks are signed with."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from engage.audit.acting import acting, command
from engage.audit.recording import change, record
from engage.models import AuditEntry
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.management.arguments import workspace_named
from journeys.models import WebhookSecret


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Print the secret that a workspace's webhooks are signed with; it is made where there is none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", metavar="WORKSPACE_KEY")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_named(options["workspace"])
        secret = current_secrets([workspace.id])[workspace.id]
        with acting(command("webhook_secret")):
            record(change(AuditEntry.Action.LOOKED_AT, WebhookSecret.objects.get(workspace=workspace, retires_at=None)))
        self.stdout.write(secret)

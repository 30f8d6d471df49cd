"""`manage.py webhook_secret`: what a workspace's webhooks are signed with."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from journeys.management.arguments import workspace_named
from journeys.webhooks.signing_secrets import current_secrets


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Print the secret that a workspace's webhooks are signed with; it is made where there is none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", metavar="WORKSPACE_KEY")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_named(options["workspace"])
        self.stdout.write(current_secrets([workspace.id])[workspace.id])

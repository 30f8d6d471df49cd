"""`manage.py export_workspace`: what is defined in a workspace, as a seed file."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand

from journeys.management.arguments import workspace_named
from journeys.seeding.export import exported


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = """\
Print what is defined in a workspace as a seed file: keys and apps, segments, variables, connections, journeys and
messages. It is the same each time, so it can be kept in a repository; seeding it changes nothing.

There are no customers and no members in it, and no secrets: in the place of each stands {"env": "ENGAGE_NAME"}, which
seed_workspace reads from its environment. Keys and apps are without theirs. Archived journeys and revoked keys are left
out, and so is a key that may do nothing.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("workspace", metavar="KEY", help="The workspace's key.")

    def handle(self, *args: Any, **options: Any) -> None:
        file = exported(workspace_named(options["workspace"]))
        self.stdout.write(json.dumps(file, indent=2, ensure_ascii=False))

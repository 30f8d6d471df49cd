"""`manage.py doctor`: what is amiss with a set-up, a line for each look."""

import argparse
import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from config.monitoring.doctor import findings


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Look at versions, rights, limits, clocks and the like. The exit code is 1 if the service cannot work so."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print a list of objects with check, state and says.")

    def handle(self, **options: Any) -> None:
        found = list(findings())
        if options["json"]:
            self.stdout.write(json.dumps([asdict(one) for one in found], indent=2))
        else:
            for one in found:
                self.stdout.write(f"{one.state:8} {one.check:13} {one.says}")
        if any(one.state == "failed" for one in found):
            raise SystemExit(1)

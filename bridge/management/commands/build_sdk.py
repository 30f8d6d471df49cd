"""`manage.py build_sdk`: makes the SDK's files as they are served, the package, and their manifest."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bridge.browser.building import BUDGETS, DOCUMENTED, Released, build, with_package, write
from bridge.browser.files import MANIFEST


class Command(BaseCommand):
    help = (
        "Makes the SDK's files as they are served, the package for npm, and the manifest with their sizes and hashes, "
        "from bridge/browser/source. It needs Node and `.ci/install-node bridge/browser/tools`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--release", action="store_true", help="keep these files for good, as those of pyproject.toml's version"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = build(release=options["release"])
        except Released as refusal:
            raise CommandError(str(refusal)) from None
        write(made)
        DOCUMENTED.write_text(with_package(DOCUMENTED.read_text()))
        self.stdout.write(made[MANIFEST].decode())
        self.stdout.write(f"Budgets, compressed: {BUDGETS}")

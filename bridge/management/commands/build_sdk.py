"""`manage.py build_sdk`: makes the SDK's script-tag form and its manifest."""

from typing import Any

from django.core.management.base import BaseCommand

from bridge.browser.files import BUDGETS, FOLDER, MANIFEST, build


class Command(BaseCommand):
    help = "Makes the script-tag form of engage.js, and the manifest of the SDK's files with their sizes and hashes."

    def handle(self, *args: Any, **options: Any) -> None:
        for name, text in build().items():
            (FOLDER / name).write_text(text)
        self.stdout.write((FOLDER / MANIFEST).read_text())
        self.stdout.write(f"Budgets, compressed: {BUDGETS}")

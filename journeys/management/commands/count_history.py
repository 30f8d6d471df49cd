"""`manage.py count_history`: counts what happened before there were counts."""

from typing import Any

from django.core.management.base import BaseCommand

from journeys.engine.counts.recounting import count_what_is_missing


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = (
        "Count the history that was never counted, for the journeys' statistics: once after an upgrade from a version "
        "that did not count, when the last process of that version has ended. It may run under traffic and be repeated."
    )

    def handle(self, **_: Any) -> None:
        self.stdout.write(f"Steps, entries and ends counted: {count_what_is_missing():,}.")

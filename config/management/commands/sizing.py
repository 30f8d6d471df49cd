"""`manage.py sizing --customers N --per-day N`: the disk and the processors that such volumes need."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.sizing.figures import FiguresUnusable, read_figures
from config.sizing.needs import Volumes, told

_MOST = 10**12


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Tell what disk, log and processors so many customers and calls need (see docs/sizing.md). Asks no database."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        kept = settings.RETAIN_HISTORY_DAYS or 365
        self._number(parser, "--customers", "How many are known.")
        self._number(parser, "--per-day", "How many customers enter a journey a day.")
        self._number(parser, "--steps", "Steps of an enrollment besides webhooks.", otherwise=3)
        self._number(parser, "--webhooks", "Webhooks of an enrollment.", otherwise=1)
        self._number(parser, "--events", "Events that the bridge records a day.", otherwise=0)
        self._number(parser, "--days-kept", "Days until all that is pruned.", otherwise=kept)

    def _number(self, parser: argparse.ArgumentParser, name: str, about: str, *, otherwise: int | None = None) -> None:
        about += "" if otherwise is None else f" Without it, {otherwise}."
        parser.add_argument(name, type=_number, metavar="N", required=otherwise is None, default=otherwise, help=about)

    def handle(
        self, *, customers: int, per_day: int, steps: int, webhooks: int, events: int, days_kept: int, **_: Any
    ) -> None:
        volumes = Volumes(
            customers=customers, triggers=per_day, steps=steps, webhooks=webhooks, events=events, days_kept=days_kept
        )
        try:
            figures = read_figures()
        except FiguresUnusable as error:
            raise CommandError(str(error)) from None
        for line in told(volumes, figures):
            self.stdout.write(line)


def _number(text: str) -> int:
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number.") from None
    if not 0 <= number <= _MOST:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {_MOST:,}.")
    return number

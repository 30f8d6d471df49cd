"""`manage.py prune`: deletes what is older than its retention setting. Safe under traffic, as often as you like."""

import argparse
import time
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Model, Q
from django.utils import timezone

from engage.database.alone import alone
from engage.database.pruning import prune, prune_few
from engage.database.table import Keeps, KeepsFew, tables
from engage.notations.plurals import counted

_Tables = list[tuple[type[Model], Keeps | KeepsFew]]
_SESSIONS = KeepsFew(what="expired sessions of staff", old=lambda now: Q(expire_date__lt=now))


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Delete what is older than its setting (see docs/operations.md). Nothing active or waiting is touched."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Count what would go, and delete nothing.")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        now = timezone.now()
        kept = prunable()
        left = list(kept)
        for what, of in kept.items():
            with alone("prune", what=what):
                self._prune(what, of, now=now, dry_run=dry_run)
                left.remove(what)
        if left:
            raise CommandError(f"Not pruned: {', '.join(left)}. The log says why; all else is done.")

    def _prune(self, what: str, of: _Tables, *, now: datetime, dry_run: bool) -> None:
        rows, remark = 0, ""
        for model, keeps in of:
            days: int | None = getattr(settings, keeps.days) if keeps.days else None
            if days == 0:
                remark = f"kept for ever: {keeps.days} is 0"
                continue
            at = now - timedelta(days=days or 0)
            if isinstance(keeps, KeepsFew):
                rows += prune_few(model, keeps, at=at, dry_run=dry_run)
                continue
            started = time.perf_counter()
            pruned = prune(model, before=at, dry_run=dry_run)
            rows += pruned.rows
            remark = f"older than {counted(days or 0, 'day')}, {time.perf_counter() - started:.1f} s"
            if pruned.pages_left:
                remark += f"; {counted(pruned.pages_left, 'page was', 'pages were')} in use and left for the next run"
        self.stdout.write(f"{rows:>12,} {what}" + (f" ({remark})" if remark else ""))


def prunable() -> dict[str, _Tables]:
    """What is pruned, by its name. A model refers to those before it, so rows go before those they refer to."""
    found: dict[str, _Tables] = {}
    own: _Tables = [(model, table.keeps) for model, table in tables() if table.keeps]
    sessions: _Tables = [(Session, _SESSIONS)]
    for model, keeps in [*reversed(own), *sessions]:
        found.setdefault(keeps.what, []).append((model, keeps))
    return found

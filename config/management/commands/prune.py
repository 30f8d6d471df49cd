"""`manage.py prune`: deletes what is older than its retention setting. Safe under traffic, as often as you like."""

import argparse
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from bridge.retention import INTERACTIONS
from customers.tombstones import TOMBSTONES
from engage.alerts import ALERTS
from engage.alone import alone
from engage.audit.retention import AUDIT
from engage.database.pruning import Prunable, prune
from engage.http.idempotency import prune_idempotency_records
from engage.plurals import counted
from journeys.operations.retention import (
    DELIVERIES,
    EVENTS,
    EXITED_ENROLLMENTS,
    FEED,
    GOAL_WATCHES,
    IN_APP_DELIVERIES,
    JOBS,
    RESENDINGS,
    STEP_RUNS,
    TRIGGERS,
    prune_idle_circuits,
    prune_pushes,
    prune_retired_secrets,
)

# In this order: rows are deleted before those they refer to.
_RETENTION: list[tuple[Prunable, str]] = [
    (STEP_RUNS, "RETAIN_HISTORY_DAYS"),
    (DELIVERIES, "RETAIN_HISTORY_DAYS"),
    (EXITED_ENROLLMENTS, "RETAIN_HISTORY_DAYS"),
    (GOAL_WATCHES, "RETAIN_HISTORY_DAYS"),
    (JOBS, "RETAIN_JOBS_DAYS"),
    (TRIGGERS, "RETAIN_JOBS_DAYS"),
    (INTERACTIONS, "RETAIN_INTERACTIONS_DAYS"),
    (IN_APP_DELIVERIES, "RETAIN_IN_APP_DAYS"),
    (EVENTS, "RETAIN_EVENTS_DAYS"),
    (FEED, "RETAIN_FEED_DAYS"),
    (RESENDINGS, "RETAIN_AUDIT_DAYS"),
    (ALERTS, "RETAIN_AUDIT_DAYS"),
    (TOMBSTONES, "RETAIN_TOMBSTONES_DAYS"),
    (AUDIT, "RETAIN_AUDIT_DAYS"),
]


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Delete what is older than its setting (see docs/operations.md). Nothing active or waiting is touched."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Count what would go, and delete nothing.")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        now = timezone.now()
        left = [prunable.what for prunable, _ in _RETENTION] + list(_BESIDES)
        for prunable, setting in _RETENTION:
            with alone("prune", what=prunable.what):
                self._prune(prunable, setting, now=now, dry_run=dry_run)
                left.remove(prunable.what)
        for what, prune_old in _BESIDES.items():
            with alone("prune", what=what):
                self._tell(what, prune_old(now=now, dry_run=dry_run))
                left.remove(what)
        if left:
            raise CommandError(f"Not pruned: {', '.join(left)}. The log says why; all else is done.")

    def _prune(self, prunable: Prunable, setting: str, *, now: datetime, dry_run: bool) -> None:
        days = getattr(settings, setting)
        if not days:
            self._tell(prunable.what, 0, f"kept for ever: {setting} is 0")
            return
        started = time.perf_counter()
        pruned = prune(prunable, before=now - timedelta(days=days), dry_run=dry_run)
        remark = f"older than {counted(days, 'day')}, {time.perf_counter() - started:.1f} s"
        if pruned.pages_left:
            remark += f"; {counted(pruned.pages_left, 'page was', 'pages were')} in use and left for the next run"
        self._tell(prunable.what, pruned.rows, remark)

    def _tell(self, what: str, rows: int, remark: str = "") -> None:
        self.stdout.write(f"{rows:>12,} {what}" + (f" ({remark})" if remark else ""))


def _prune_pushes(*, now: datetime, dry_run: bool) -> int:
    before = now - timedelta(days=settings.RETAIN_FEED_DAYS)
    return prune_pushes(before=before, dry_run=dry_run) if settings.RETAIN_FEED_DAYS else 0


def _prune_sessions(*, now: datetime, dry_run: bool) -> int:
    expired = Session.objects.filter(expire_date__lt=now)
    return expired.count() if dry_run else expired.delete()[0]


_BESIDES: dict[str, Callable[..., int]] = {
    "pushes to subscriptions": _prune_pushes,
    "retired webhook secrets": prune_retired_secrets,
    "idle webhook circuits": prune_idle_circuits,
    "idempotency records": prune_idempotency_records,
    "expired sessions of staff": _prune_sessions,
}

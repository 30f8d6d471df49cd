"""Liveness and readiness probes."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from threading import Event
from typing import Any

from django.apps import apps
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from config import ROOT
from config.monitoring.release import commit, version
from engage.redis.availability import redis_takes_writes


def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all, and which release it is of."""
    return JsonResponse({"status": "alive", "version": version(), "commit": commit()})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if PostgreSQL answers and holds the tables of this version, else 503. Redis is reported but not required."""
    postgresql, redis_writes = _postgresql_answers(), redis_takes_writes()
    migrated = postgresql and _is_migrated()
    return JsonResponse(
        {
            "status": "ready" if migrated else "unavailable",
            "postgresql": "up" if postgresql else "down",
            "migrations": "applied" if migrated else "missing" if postgresql else "unknown",
            "redis": "up" if redis_writes else "down",
        },
        status=200 if migrated else 503,
    )


def _postgresql_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()
        return False
    return True


_APPLIED = "SELECT app, name FROM django_migrations WHERE (app, name) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"


def missing_migrations(cursor: Any) -> list[str]:
    """Those of the newest of each app that are not applied, such as `journeys.0042_due_by_source`."""
    newest = _newest_migrations()
    cursor.execute(_APPLIED, [list(newest), list(newest.values())])
    return [f"{app}.{name}" for app, name in sorted(newest.items() - set(cursor.fetchall()))]


_seen_migrated = Event()  # all migrations of this version were applied; later ones may be, too


def _is_migrated() -> bool:
    if not _seen_migrated.is_set():
        try:
            with connection.cursor() as cursor:
                if not missing_migrations(cursor):
                    _seen_migrated.set()
        except DatabaseError:  # not even the migrations' table exists
            connection.close()
    return _seen_migrated.is_set()


@cache
def _newest_migrations() -> dict[str, str]:
    """The latest migration of each of our apps, by file name: loading them all would take memory for good."""
    return {label: max(names) for label, folder in _folders() if (names := _numbered(folder))}


def _folders() -> Iterator[tuple[str, Path]]:
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if folder.parent.parent == ROOT:
            yield app.label, folder


def _numbered(folder: Path) -> list[str]:
    return [module.name for module in iter_modules([str(folder)]) if module.name[0].isdecimal()]

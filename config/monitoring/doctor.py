"""What is amiss with a set-up: looked at by `manage.py doctor`, and what concerns the database also at each start.

It connects by itself, without the settings that the service's own sessions set, and leaves nothing behind.
"""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from threading import Thread
from typing import Any, Literal

import django
import psycopg
import redis
import structlog
from django.apps import apps
from django.conf import settings
from django.db import connections

from config.monitoring.health import missing_migrations
from engage.database.backend.base import DatabaseFeatures
from engage.database.backend.sessions import missing_settings, settings_missing
from engage.notations.plurals import counted
from engage.redis.availability import REDIS_FAILURES
from journeys.engine.operations.delays import WITH_UNSAID_DELAYS

log = structlog.get_logger(__name__)
_CLOCK_SECONDS = 5.0
_OLD_SECONDS = 60.0
_MANY_DEAD, _DEAD_SHARE = 100_000, 0.2
_FULL = 0.9  # of the connections that the server takes
_TIMEOUT = 3
_NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE")
_SHOWN = 3
_LACKING = """
SELECT relname, wanted FROM pg_class CROSS JOIN unnest(%s::text[]) AS wanted
WHERE relname = ANY(%s) AND relkind = 'r' AND relnamespace = 'public'::regnamespace
  AND NOT has_table_privilege(pg_class.oid, wanted)
ORDER BY relname, wanted
"""

State = Literal["ok", "warning", "failed"]
Cursor = psycopg.Cursor[Any]
Look = Callable[[Cursor], tuple[State, str]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one look came to, in one line; `failed` if the service cannot work so."""

    check: str
    state: State
    says: str


def findings() -> Iterator[Finding]:
    """Everything, one look after the other; each is made however the others went."""
    yield Finding(check="versions", state="ok", says=f"Python {platform.python_version()}, Django {django.__version__}")
    yield from of_database(_ESSENTIAL | _BESIDES)
    yield from _of_redis()
    yield _static_files()
    yield _sending()


def of_database(looks: Mapping[str, Look]) -> Iterator[Finding]:
    """These looks, over one connection."""
    params = {**connections["default"].get_connection_params(), "options": "", "connect_timeout": _TIMEOUT}
    try:
        with closing(psycopg.connect(**params, autocommit=True)) as there:
            for check, look in looks.items():
                try:
                    state, says = look(there.cursor())
                except psycopg.Error as error:
                    state, says = "warning", f"cannot be told: {_first_line(error)}"
                yield Finding(check=check, state=state, says=says)
    except psycopg.Error as error:
        yield Finding(check="postgresql", state="failed", says=_first_line(error))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _value(cursor: Cursor, query: str, *values: object) -> Any:
    row = cursor.execute(query, values).fetchone()
    return row[0] if row else None


def _version(cursor: Cursor) -> tuple[State, str]:
    [needed] = DatabaseFeatures.minimum_database_version
    version = cursor.connection.info.server_version
    found = f"{version // 10_000}.{version % 10_000}"
    if version // 10_000 < needed:
        return "failed", f"PostgreSQL {needed} or later is required (found {found})."
    return "ok", f"PostgreSQL {found}"


def _migrations(cursor: Cursor) -> tuple[State, str]:
    try:
        missing = missing_migrations(cursor)
    except psycopg.errors.UndefinedTable:
        missing = ["all of them"]
    if missing:
        return "failed", f"not applied: {', '.join(missing)}. Run manage.py migrate."
    return "ok", "all applied"


def _rights(cursor: Cursor) -> tuple[State, str]:
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
    rows = cursor.execute(_LACKING, [list(_NEEDED), tables]).fetchall()
    role = cursor.connection.info.user
    if not rows:
        return "ok", f"The role {role} has what the processes need."
    named = ", ".join(f"{right} on {table}" for table, right in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return "failed", f"The role {role} lacks {named}{more}."


def _sessions(cursor: Cursor) -> tuple[State, str]:
    if missing := missing_settings(cursor):
        return "warning", settings_missing(cursor.connection.info.dbname, missing)
    return "ok", "The database gives its sessions what they need."


def _pooler(cursor: Cursor) -> tuple[State, str]:
    if _value(cursor, "SELECT pg_backend_pid()") == cursor.connection.info.backend_pid:
        return "ok", "none"
    if settings.DATABASE_DIRECT is None:
        return "warning", "There is one, so migrate needs DATABASE_DIRECT_URL."
    return "ok", "There is one, and migrate goes past it."


def _clock(cursor: Cursor) -> tuple[State, str]:
    off = float(_value(cursor, "SELECT extract(epoch FROM clock_timestamp())")) - time.time()
    says = f"This machine's clock is {abs(off):.1f} s {'behind' if off > 0 else 'ahead of'} the database's."
    return ("warning" if abs(off) > _CLOCK_SECONDS else "ok"), says


# Of which standbys follow, everybody may see that they do.
_DURABILITY = """
SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names') <> '',
       EXISTS (SELECT FROM pg_stat_replication) OR %s
"""


def _durability(cursor: Cursor) -> tuple[State, str]:
    """Whether what was answered 2xx is there after a crash, and after a failover, where there is a standby."""
    several = "," in str(connections["default"].settings_dict["HOST"])
    return how_durable(*(cursor.execute(_DURABILITY, [several]).fetchone() or ("", False, False)))


def how_durable(commit: str, waits: bool, is_followed: bool) -> tuple[State, str]:  # noqa: FBT001
    """By `synchronous_commit`, whether `synchronous_standby_names` has any, and whether there is a standby."""
    if commit == "off":
        return "warning", "synchronous_commit is off: a crash of PostgreSQL loses what was acknowledged last."
    if not is_followed:
        return "ok", "What is acknowledged is on disk; no standby follows."
    if not waits:
        return "warning", (
            "No commit waits for the standby (synchronous_standby_names is empty): a failover loses what was "
            "acknowledged last."
        )
    if commit == "local":
        return "warning", "synchronous_commit is local: a failover loses what was acknowledged last."
    return "ok", "What is acknowledged is on a standby as well."


# Of other roles' sessions, the view tells little more than that they are there, unless one may read all statistics.
_HIDDEN = "backend_type IS NULL AND usesysid IS NOT NULL AND datid IS NOT NULL"
_CONNECTIONS = f"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' OR {_HIDDEN}"  # noqa: S608
_OPEN = """
SELECT 'process ' || pid, extract(epoch FROM now() - xact_start)::float8 FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
UNION ALL
SELECT 'prepared as ' || gid, extract(epoch FROM now() - prepared)::float8 FROM pg_prepared_xacts
WHERE database = current_database()
ORDER BY 2 DESC LIMIT 1
"""
# Each open transaction has a lock of this kind, which everybody may see.
_OPEN_AND_HIDDEN = f"""
SELECT pid FROM pg_stat_activity session
WHERE datname = current_database() AND {_HIDDEN}
  AND EXISTS (SELECT FROM pg_locks held WHERE held.pid = session.pid AND held.locktype = 'virtualxid' AND held.granted)
ORDER BY pid
"""  # noqa: S608


def _connections(cursor: Cursor) -> tuple[State, str]:
    used = int(_value(cursor, _CONNECTIONS))
    most = int(_value(cursor, "SELECT current_setting('max_connections')"))
    return ("warning" if used > _FULL * most else "ok"), f"{used} of {most}"


def _transactions(cursor: Cursor) -> tuple[State, str]:
    oldest = cursor.execute(_OPEN).fetchone()
    hidden = [str(pid) for (pid,) in cursor.execute(_OPEN_AND_HIDDEN)]
    told = f"The oldest is {oldest[1]:.0f} s old ({oldest[0]})." if oldest else "none is open"
    if hidden:
        shown = ", ".join(hidden[:_SHOWN]) + (" and others" if len(hidden) > _SHOWN else "")
        return "warning", (
            f"{told if oldest else 'This role has none open.'} How long other roles have had theirs open cannot be "
            f"seen (process {shown}): GRANT pg_read_all_stats TO {_value(cursor, 'SELECT quote_ident(current_user)')}"
        )
    return ("warning" if oldest and oldest[1] > _OLD_SECONDS else "ok"), told


def _dead_rows(cursor: Cursor) -> tuple[State, str]:
    rows = cursor.execute(
        "SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE n_dead_tup > %s AND n_dead_tup > %s * n_live_tup"
        " ORDER BY n_dead_tup DESC LIMIT 3",
        [_MANY_DEAD, _DEAD_SHARE],
    ).fetchall()
    if not rows:
        return "ok", "few"
    return "warning", "Vacuuming does not keep up: " + ", ".join(f"{dead:,} in {name}" for name, dead in rows)


# Nobody is found by these: a call's identifiers come in the one spelling in which they are stored since there is one.
_OLD_SPELLING = """
SELECT count(*), min(id) FROM customers_customer
WHERE octet_length(email) > char_length(email)
   OR octet_length(external_id) > char_length(external_id) AND external_id IS NOT NFC NORMALIZED
   OR octet_length(phone) > char_length(phone) AND phone IS NOT NFC NORMALIZED
   OR octet_length(user_id) > char_length(user_id) AND user_id IS NOT NFC NORMALIZED
"""


def _spellings(cursor: Cursor) -> tuple[State, str]:
    number, first = cursor.execute(_OLD_SPELLING).fetchone() or (0, None)
    if not number:
        return "ok", "Every identifier has its one spelling."
    return "warning", (
        f"{counted(number, 'customer has', 'customers have')} an identifier in another spelling, as somebody else has "
        f"the right one or it is too "
        f"long: {first} and on. Nobody is found by it: erase them, or send them another by customerId."
    )


_UNSAID_DELAYS = f"SELECT journey.key {WITH_UNSAID_DELAYS} ORDER BY journey.id LIMIT {_SHOWN + 1}"


def _delays(cursor: Cursor) -> tuple[State, str]:
    found = [str(key) for (key,) in cursor.execute(_UNSAID_DELAYS)]
    if not found:
        return "ok", "Every delay until a template's time says what follows where there is none."
    more = " and others" if len(found) > _SHOWN else ""
    return "warning", (
        f"{', '.join(found[:_SHOWN])}{more}: a delay has a template in at and no onMissing. Who has no time there "
        "leaves the journey; before, they went on at once. Say exit or continue."
    )


def _links(cursor: Cursor) -> tuple[State, str]:
    (has_topics,) = cursor.execute("SELECT EXISTS (SELECT FROM customers_topic)").fetchone() or (False,)
    if has_topics and not settings.PUBLIC_URL:
        return "warning", "There are topics and no PUBLIC_URL: messages have no links by which people leave."
    return "ok", "Messages about topics have links by which people leave."


# Without the first of these the service does not work.
_ESSENTIAL: dict[str, Look] = {
    "postgresql": _version,
    "migrations": _migrations,
    "rights": _rights,
    "sessions": _sessions,
}
_BESIDES: dict[str, Look] = {
    "durability": _durability,
    "pooler": _pooler,
    "clock": _clock,
    "connections": _connections,
    "transactions": _transactions,
    "dead rows": _dead_rows,
    "spellings": _spellings,
    "delays": _delays,
    "links": _links,
}


def _of_redis() -> Iterator[Finding]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=_TIMEOUT) as client:
            version = client.info("server").get("redis_version")
            yield Finding(check="redis", state="ok", says=f"answers as version {version}")
            policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "unknown")
            state: State = "ok" if policy == "noeviction" else "warning"
            yield Finding(check="redis policy", state=state, says=f"maxmemory-policy is {policy}; wanted is noeviction")
    except REDIS_FAILURES as error:
        yield Finding(check="redis", state="warning", says=_first_line(error))


def _static_files() -> Finding:
    if settings.PRODUCTION and not (settings.STATIC_ROOT / "staticfiles.json").exists():
        says = "missing: the admin and the documentation are not served. Run manage.py collectstatic --noinput."
        return Finding(check="static files", state="warning", says=says)
    return Finding(check="static files", state="ok", says="are there" if settings.PRODUCTION else "not needed")


def _sending() -> Finding:
    if settings.SENDING:
        return Finding(check="sending", state="ok", says="on")
    return Finding(check="sending", state="warning", says="SENDING is off: webhooks wait.")


def say_what_is_amiss() -> None:
    """For the start of a process: a line in the log for each look at the database that went wrong; never waits."""
    Thread(target=_say, name="doctor", daemon=True).start()


def _say() -> None:
    for found in of_database(_ESSENTIAL):
        if found.state != "ok":
            level = log.error if found.state == "failed" else log.warning
            level("set_up_incomplete", check=found.check, says=found.says)

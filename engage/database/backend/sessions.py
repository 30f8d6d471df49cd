"""What holds in every session of the service, whichever process it belongs to.

1. The settings belong to the database: `migrate` sets them there, once. So they also hold behind a pooler, which hands
   a server's session from one client to the next. What an operator has set otherwise, there or for a role, stays.
2. A session of our own, without a pooler, sets what it finds missing, as when somebody who does not own the database
   has migrated it. Behind a pooler nothing is set in a session, because the next client would find it there.
3. A session that is idle within a transaction ends after five seconds: the locks of a process that froze, or of a
   machine that lost its power, would be waited for by everybody. Nobody waits for a lock for more than two seconds.
   A peer that acknowledges nothing for five seconds is gone.
4. Planning: see base.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import sql


@dataclass(frozen=True, kw_only=True)
class SessionSetting:
    """A parameter of PostgreSQL, with what it usually is, and what the service needs instead."""

    name: LiteralString
    usual: str
    wanted: str


SESSION_SETTINGS = (
    SessionSetting(name="enable_seqscan", usual="on", wanted="off"),
    SessionSetting(name="jit", usual="on", wanted="off"),
    SessionSetting(name="idle_in_transaction_session_timeout", usual="0", wanted="5s"),
    SessionSetting(name="lock_timeout", usual="0", wanted="2s"),
    SessionSetting(name="tcp_user_timeout", usual="0", wanted="5s"),
    SessionSetting(name="tcp_keepalives_idle", usual="7200", wanted="60"),
    SessionSetting(name="tcp_keepalives_interval", usual="75", wanted="10"),
)

_VALUES = sql.SQL(", ").join(
    sql.SQL("({}, {}, {})").format(setting.name, setting.usual, setting.wanted) for setting in SESSION_SETTINGS
)
# One round trip. The client was told another number than the server's own where a pooler stands between them.
PREPARE_SESSION = (
    sql.SQL("""
SELECT pg_backend_pid(), (
    SELECT count(set_config(name, wanted, false)) FROM (VALUES {values}) AS setting(name, usual, wanted)
    WHERE pg_backend_pid() = %s AND current_setting(name) = usual
)
""")
    .format(values=_VALUES)
    .as_string()
)

# The names of those that neither the configuration, the database nor the role gives.
_MISSING = "SELECT name FROM pg_settings WHERE name = ANY(%s) AND source = 'default' ORDER BY name"


def missing_settings(cursor: Any) -> list[str]:
    """Which of them a session lacks that has set nothing itself."""
    cursor.execute(_MISSING, [[setting.name for setting in SESSION_SETTINGS]])
    return [name for (name,) in cursor.fetchall()]


def statements_for(database: str, names: Sequence[str]) -> list[str]:
    """What gives these settings to all sessions in the database; to be run by its owner."""
    return [
        sql.SQL("ALTER DATABASE {} SET {} = {}")
        .format(sql.Identifier(database), sql.SQL(setting.name), setting.wanted)
        .as_string()
        for setting in SESSION_SETTINGS
        if setting.name in names
    ]


def settings_missing(database: str, names: Sequence[str]) -> str:
    """One line for whoever can do something about it."""
    statements = "; ".join(statements_for(database, names))
    return (
        f"The database does not give its sessions {', '.join(names)}. Its owner runs manage.py migrate, or {statements}"
    )

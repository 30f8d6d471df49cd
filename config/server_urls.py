"""The URLs of PostgreSQL and Redis, validated at start, in the forms that Django, our client and the broker take.

They may hold a password, so no message repeats one.
"""

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
import redis
from django.core.exceptions import ImproperlyConfigured
from environ import Env
from psycopg.conninfo import make_conninfo

from config.environment import FLAGS

# What of Django's settings a database's URL may give. Its options could also set others, such as AUTOCOMMIT.
_DJANGO_SETTINGS = frozenset({"ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS"})
# Options allowed after the ? of a database's URL, besides those that libpq knows.
_DJANGO_OPTIONS = frozenset({"assume_role", "prepare_threshold", "server_side_binding"})
# Of a socket: a peer that acknowledges nothing for three seconds is gone. That is sooner than with PostgreSQL: a worker
# may wait for that as well, with what it was woken for. Where the system does not know them, Celery gives up later.
LEAVES_SILENT_PEERS = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 2), ("TCP_USER_TIMEOUT", 3000))
    if hasattr(socket, name)
}
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Options allowed after the ? of a Redis URL: those that our client and the broker's have in common.
_REDIS_OPTIONS = {
    "redis": frozenset[str](),
    "rediss": frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs"}),
    "unix": frozenset({"db"}),
}


_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail goes: with STARTTLS, or TLS from the start, or neither. Without a host it is printed."""

    host: str = ""
    port: int = 25
    user: str = ""
    password: str = field(default="", repr=False)
    starts_tls: bool = False
    is_tls: bool = False


def mail(url: str) -> MailServer:
    """The mail server of EMAIL_URL, which may be empty. Raises ImproperlyConfigured."""
    if not url:
        return MailServer()
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in _MAIL_PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ImproperlyConfigured(
            "EMAIL_URL must be the URL of a mail server: smtp://host, smtps://user:password@host (TLS from the start), "
            "or smtp+tls://user:password@host:587 (STARTTLS); what has a meaning in a URL is written as in %40 for @."
        )
    return MailServer(
        host=parts.hostname,
        port=port or _MAIL_PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starts_tls=parts.scheme == "smtp+tls",
        is_tls=parts.scheme == "smtps",
    )


def postgresql(url: str, *, named: str = "DATABASE_URL") -> dict[str, Any]:
    """Django's settings for the database. Raises ImproperlyConfigured, which names the variable."""
    try:
        database: dict[str, Any] = Env.db_url_config(url) if url.startswith(("postgres://", "postgresql://")) else {}
    except ValueError:
        database = {}
    if not database.get("NAME") and "service" not in database.get("OPTIONS", {}):
        raise ImproperlyConfigured(
            f"{named} must be the URL of a PostgreSQL database such as postgres://user:password@host:5432/name; "
            "what has a meaning in a URL is written as in %40 for @."
        )
    if not (database.keys() <= _DJANGO_SETTINGS and _are_options_of_postgresql(database.get("OPTIONS", {}))):
        raise ImproperlyConfigured(
            f"{named} may end with options that libpq knows, such as ?sslmode=require&connect_timeout=3; "
            f"sslmode is one of {', '.join(_SSL_MODES)}, and connect_timeout a whole number of seconds; "
            "prepare_threshold is a whole number, or none behind a pooler that knows no prepared statements."
        )
    options = database.get("OPTIONS", {})
    if (word := options.get("server_side_binding")) is not None:
        options = {**options, "server_side_binding": FLAGS[str(word).lower()]}  # Django takes only True for yes
    if _is_never(options):
        options = {**options, "prepare_threshold": None}
    # The host may be a socket's folder, written as %2Frun%2Fpostgresql; libpq expects it there, decoded.
    return {**database, "HOST": unquote(database.get("HOST", "")), "OPTIONS": options}


def _is_never(options: Mapping[str, Any]) -> bool:
    """Whether statements are never to be prepared."""
    return str(options.get("prepare_threshold", 0)).lower() == "none"


def _are_options_of_postgresql(options: Mapping[str, Any]) -> bool:
    """Whether they are known and mean something: most are checked only on connecting, or with the first statements."""
    try:
        make_conninfo(**{name: value for name, value in options.items() if name not in _DJANGO_OPTIONS})
        int(options.get("connect_timeout", 0))
        int(0 if _is_never(options) else options.get("prepare_threshold", 0))
    except (psycopg.ProgrammingError, ValueError):
        return False
    binding = str(options.get("server_side_binding", True)).lower()
    return binding in FLAGS and options.get("sslmode", "prefer") in _SSL_MODES


def redis_url(url: str) -> str:
    """The URL, if our client and the broker's read it alike. Raises ImproperlyConfigured."""
    try:
        redis.ConnectionPool.from_url(url).close()
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        parts, options = urlsplit(""), {}
    if (
        parts.scheme not in _REDIS_OPTIONS
        or (parts.scheme != "unix" and not re.fullmatch(r"(/[0-9]*)?", parts.path))
        or not options.keys() <= _REDIS_OPTIONS[parts.scheme]
        or parts.fragment
        or ";" in url  # separates servers for the broker
        or options.get("ssl_cert_reqs", "required") not in {"required", "optional", "none"}
    ):
        raise ImproperlyConfigured(
            "REDIS_URL must be the URL of a Redis database such as redis://:password@host:6379/0, rediss://host/0 or "
            "unix:///path/to/socket?db=0. With rediss, ssl_ca_certs, ssl_certfile, ssl_keyfile and ssl_cert_reqs may "
            "follow; there are no other options. What has a meaning in a URL, and ;, is written as in %40 for @."
        )
    return url


def broker_url(url: str) -> str:
    """The Redis URL in the broker's form; by default the broker would not check a `rediss` server's certificate."""
    if url.startswith("unix://"):
        return url.replace("unix://", "redis+socket://").replace("?db=", "?virtual_host=")
    if url.startswith("rediss://") and "ssl_cert_reqs=" not in urlsplit(url).query:
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    return url

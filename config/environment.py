"""The environment variables: each is parsed and validated, or refused by name at start.

An invalid value raises ImproperlyConfigured; the message does not repeat a value that may hold a password.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
import redis
from django.core.checks.security.base import (
    SECRET_KEY_INSECURE_PREFIX,
    SECRET_KEY_MIN_LENGTH,
    SECRET_KEY_MIN_UNIQUE_CHARACTERS,
)
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port
from environ import Env
from psycopg.conninfo import make_conninfo

from engage.origins import HOST_IN_ASCII, is_origin, tidy_origin
from engage.rates import parse_rate

_FLAGS = {
    **dict.fromkeys(("true", "on", "ok", "y", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "n", "no", "0"), False),
}
# What of Django's settings a database's URL may give. Its options could also set others, such as AUTOCOMMIT.
_DJANGO_SETTINGS = frozenset({"ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS"})
# Options allowed after the ? of a database's URL, besides those that libpq knows.
_DJANGO_OPTIONS = frozenset({"assume_role", "prepare_threshold", "server_side_binding"})
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Options allowed after the ? of a Redis URL: those that our client and the broker's have in common.
_REDIS_OPTIONS = {
    "redis": frozenset[str](),
    "rediss": frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs"}),
    "unix": frozenset({"db"}),
}


def text(name: str, *, default: str = "") -> str:
    """The variable as it stands: django-environ would take one that begins with $ for the name of another."""
    return os.environ.get(name, default)


def required(name: str) -> str:
    """The value of a variable that production needs. Raises ImproperlyConfigured, naming it, if it is empty."""
    value = text(name)
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set. In production every setting comes from the environment (see docs/operations.md); "
            "for a development set-up say ENVIRONMENT=development."
        )
    return value


def items_of(value: str) -> list[str]:
    """The comma-separated items, stripped, without empty ones."""
    return [item.strip() for item in value.split(",") if item.strip()]


def flag(name: str, *, default: bool) -> bool:
    value = text(name, default=str(default)).strip().lower()
    if value not in _FLAGS:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return _FLAGS[value]


def number(name: str, *, default: int, at_least: int = 0, at_most: int | None = None) -> int:
    value = text(name, default=str(default)).strip()
    bounds = f"at least {at_least}" if at_most is None else f"at least {at_least} and at most {at_most}"
    if (
        not re.fullmatch(r"\d{1,9}", value, re.ASCII)
        or int(value) < at_least
        or (at_most is not None and int(value) > at_most)
    ):
        raise ImproperlyConfigured(f"{name} must be a whole number, {bounds}, not {value[:40]!r}.")
    return int(value)


def days(name: str, *, default: int) -> int:
    """At most a hundred years: a moment too many days ago is out of the range of dates."""
    return number(name, default=default, at_most=36_500)


def seconds(name: str, *, default: float) -> float:
    value = text(name, default=str(default)).strip()
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", value, re.ASCII):
        raise ImproperlyConfigured(f"{name} must be a number of seconds such as 0.5, not {value[:40]!r}.")
    return float(value)


def token(name: str) -> str:
    """What callers must send in a header; empty if unset."""
    value = text(name)
    if not re.fullmatch(r"[!-~]*", value):
        raise ImproperlyConfigured(f"{name} must be of visible ASCII characters, without spaces.")
    return value


def one_of(choices: Sequence[str], name: str, *, default: str) -> str:
    """The choice that the variable names, ignoring case."""
    value = text(name, default=default).strip()
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")


def rate(name: str, *, default: str) -> str:
    value = text(name, default=default)
    try:
        parse_rate(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None
    return value


def secret_key() -> str:
    """Applies the rule of Django's check security.W009, which runs only on demand."""
    key = required("SECRET_KEY")
    if len(key) < SECRET_KEY_MIN_LENGTH or len(set(key)) < SECRET_KEY_MIN_UNIQUE_CHARACTERS:
        raise ImproperlyConfigured(
            f"SECRET_KEY must be at least {SECRET_KEY_MIN_LENGTH} characters long, with at least "
            f"{SECRET_KEY_MIN_UNIQUE_CHARACTERS} different ones: who guesses it can log in as anybody."
        )
    if key.startswith(SECRET_KEY_INSECURE_PREFIX):
        raise ImproperlyConfigured(f"SECRET_KEY must not begin with {SECRET_KEY_INSECURE_PREFIX}: make one of its own.")
    return key


def allowed_hosts() -> list[str]:
    """Each host as Django reads it from a Host header, without the port; anything else would never match."""
    hosts = items_of(required("ALLOWED_HOSTS"))
    if not hosts or any(split_domain_port(host) != (host.lower(), "") for host in hosts):
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must name the service's hosts, separated by commas and without *, scheme, port or path; "
            ".engage.example stands for a domain with all below it."
        )
    return hosts


def postgresql(url: str) -> dict[str, Any]:
    """Django's settings for the database. The URL holds a password, so no message repeats it."""
    try:
        database: dict[str, Any] = Env.db_url_config(url) if url.startswith(("postgres://", "postgresql://")) else {}
    except ValueError:
        database = {}
    if not database.get("NAME") and "service" not in database.get("OPTIONS", {}):
        raise ImproperlyConfigured(
            "DATABASE_URL must be the URL of a PostgreSQL database such as postgres://user:password@host:5432/name; "
            "what has a meaning in a URL is written as in %40 for @."
        )
    if not (database.keys() <= _DJANGO_SETTINGS and _are_options_of_postgresql(database.get("OPTIONS", {}))):
        raise ImproperlyConfigured(
            "DATABASE_URL may end with options that libpq knows, such as ?sslmode=require&connect_timeout=3; "
            f"sslmode is one of {', '.join(_SSL_MODES)}, and connect_timeout a whole number of seconds."
        )
    options = database.get("OPTIONS", {})
    if (word := options.get("server_side_binding")) is not None:
        options = {**options, "server_side_binding": _FLAGS[str(word).lower()]}  # Django takes only True for yes
    # The host may be a socket's folder, written as %2Frun%2Fpostgresql; libpq expects it there, decoded.
    return {**database, "HOST": unquote(database.get("HOST", "")), "OPTIONS": options}


def _are_options_of_postgresql(options: Mapping[str, Any]) -> bool:
    """Whether they are known and mean something: most are checked only on connecting, or with the first statements."""
    try:
        make_conninfo(**{name: value for name, value in options.items() if name not in _DJANGO_OPTIONS})
        int(options.get("connect_timeout", 0))
        int(options.get("prepare_threshold", 0))
    except (psycopg.ProgrammingError, ValueError):
        return False
    binding = str(options.get("server_side_binding", True)).lower()
    return binding in _FLAGS and options.get("sslmode", "prefer") in _SSL_MODES


def redis_url(url: str) -> str:
    """The URL, if our client and the broker's read it alike. It may hold a password, so no message repeats it."""
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


def origins(name: str) -> list[str]:
    origins = [tidy_origin(item) for item in items_of(text(name))]
    if not all(is_origin(origin) for origin in origins):
        raise ImproperlyConfigured(
            f"{name} must be origins such as https://engage.example, separated by commas. {HOST_IN_ASCII}"
        )
    return origins

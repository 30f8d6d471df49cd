"""The environment variables: each is parsed and validated, or refused by name at start.

An invalid value raises ImproperlyConfigured; the message does not repeat a secret.
"""

import importlib.util
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.core.checks.security.base import (
    SECRET_KEY_INSECURE_PREFIX,
    SECRET_KEY_MIN_LENGTH,
    SECRET_KEY_MIN_UNIQUE_CHARACTERS,
)
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http.request import split_domain_port

from engage.notations.origins import HOST_IN_ASCII, is_origin, tidy_origin
from engage.notations.rates import parse_rate
from engage.notations.recipients import addresses_in

# How yes and no may be written.
FLAGS = {
    **dict.fromkeys(("true", "on", "ok", "y", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "n", "no", "0"), False),
}
ENCRYPTION_KEY_MIN_LENGTH = 32
ROLES = ("viewer", "support", "author", "admin")  # of members of workspaces
_GREATEST_PORT = 65_535


def text(name: str, *, default: str = "") -> str:
    """The variable as it stands: django-environ would take one that begins with $ for the name of another."""
    return os.environ.get(name, default)


def require(*names: str) -> None:
    """Raises ImproperlyConfigured, naming all of these variables that production needs and that are empty."""
    missing = [name for name in names if not text(name)]
    if missing:
        listed = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        raise ImproperlyConfigured(
            f"{listed} {'is' if len(missing) == 1 else 'are'} not set. In production every setting comes from the "
            "environment (see docs/settings.md); for a development set-up say ENVIRONMENT=development."
        )


def items_of(value: str) -> list[str]:
    """The comma-separated items, stripped, without empty ones."""
    return [item.strip() for item in value.split(",") if item.strip()]


def emails(name: str) -> list[str]:
    """Addresses, separated by commas. Raises ImproperlyConfigured."""
    try:
        return addresses_in(text(name))
    except ValidationError as error:
        raise ImproperlyConfigured(f"{name}: {error.message}") from None


def flag(name: str, *, default: bool) -> bool:
    """true or false, also as on, yes or 1; in any case of letters. Raises ImproperlyConfigured."""
    value = text(name, default=str(default)).strip().lower()
    if value not in FLAGS:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return FLAGS[value]


def number(name: str, *, default: int, at_least: int = 0, at_most: int | None = None) -> int:
    """A whole number within the bounds, which are included. Raises ImproperlyConfigured."""
    value = text(name, default=str(default)).strip()
    bounds = f"at least {at_least}" if at_most is None else f"at least {at_least} and at most {at_most}"
    if (
        not re.fullmatch(r"\d{1,9}", value, re.ASCII)
        or int(value) < at_least
        or (at_most is not None and int(value) > at_most)
    ):
        raise ImproperlyConfigured(f"{name} must be a whole number, {bounds}, not {value[:40]!r}.")
    return int(value)


def ports(name: str, *, default: str) -> list[range]:
    """Ports and ranges of them: "443,8000-8999". Raises ImproperlyConfigured."""
    return [_ports(name, item) for item in items_of(text(name, default=default))]


def _ports(name: str, item: str) -> range:
    first, _, last = item.partition("-")
    ends = [int(port) for port in (first, last or first) if port.isdecimal()]
    if len(ends) != len((first, last)) or not 0 < ends[0] <= ends[1] <= _GREATEST_PORT:
        raise ImproperlyConfigured(f"{name} must be ports such as 443,8000-8999, not {item[:40]!r}.")
    return range(ends[0], ends[1] + 1)


def encryption_keys(name: str) -> list[str]:
    """Texts of at least 32 characters, separated by commas. Raises ImproperlyConfigured."""
    keys = items_of(text(name))
    if any(len(key) < ENCRYPTION_KEY_MIN_LENGTH for key in keys):
        raise ImproperlyConfigured(
            f"{name} must be keys of at least {ENCRYPTION_KEY_MIN_LENGTH} random characters, separated by commas."
        )
    return keys


def days(name: str, *, default: int) -> int:
    """At most a hundred years: a moment too many days ago is out of the range of dates."""
    return number(name, default=default, at_most=36_500)


def seconds(name: str, *, default: float) -> float:
    """Seconds with or without a fraction, from 0 on. Raises ImproperlyConfigured."""
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


def key_prefix(name: str) -> str:
    """What begins the names of keys in Redis; empty if unset. Raises ImproperlyConfigured."""
    value = text(name)
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{0,50}", value, re.ASCII):
        raise ImproperlyConfigured(f"{name} must be at most 50 letters, digits and _ . : -, such as staging:.")
    return value


def one_of(choices: Sequence[str], name: str, *, default: str) -> str:
    """The choice that the variable names, ignoring case."""
    value = text(name, default=default).strip()
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")


def some_of(choices: Sequence[str], name: str, *, default: str) -> list[str]:
    """The choices that the variable names, separated by commas."""
    items = items_of(text(name, default=default))
    if unknown := [item for item in items if item not in choices]:
        raise ImproperlyConfigured(f"{name} may name {', '.join(choices)}, not {', '.join(unknown)}.")
    return items


def rate(name: str, *, default: str) -> str:
    """A rate such as "100/m", as it stands. Raises ImproperlyConfigured."""
    value = text(name, default=default)
    try:
        parse_rate(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None
    return value


def secret_key() -> str:
    """Applies the rule of Django's check security.W009, which runs only on demand."""
    key = text("SECRET_KEY")
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
    hosts = items_of(text("ALLOWED_HOSTS"))
    if not hosts or any(split_domain_port(host) != (host.lower(), "") for host in hosts):
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must name the service's hosts, separated by commas and without *, scheme, port or path; "
            ".engage.example stands for a domain with all below it."
        )
    return hosts


def origins(name: str) -> list[str]:
    """The comma-separated origins, as browsers send them; none by default. Raises ImproperlyConfigured."""
    origins = [tidy_origin(item) for item in items_of(text(name))]
    if not all(is_origin(origin) for origin in origins):
        raise ImproperlyConfigured(
            f"{name} must be origins such as https://engage.example, separated by commas. {HOST_IN_ASCII}"
        )
    return origins


def public_url(name: str, *, https: bool) -> str:
    """The origin by which people reach the service; "" for none. Raises ImproperlyConfigured."""
    url = tidy_origin(text(name))
    if url and not (is_origin(url) and url.startswith("https://" if https else ("https://", "http://"))):
        raise ImproperlyConfigured(f"{name} must be an origin such as https://engage.example, without a path.")
    return url


def openid_issuer(name: str, *, https: bool) -> str:
    """The issuer of an OpenID Connect provider, as it spells itself; "" for none. Raises ImproperlyConfigured."""
    value = text(name).strip()
    if not value:
        return ""
    url = urlsplit(value)
    if url.scheme not in ({"https"} if https else {"https", "http"}) or not url.hostname or url.query or url.fragment:
        raise ImproperlyConfigured(f"{name} must be the provider's address, such as https://login.example.com.")
    _require_package(name, module="mozilla_django_oidc", package="mozilla-django-oidc")
    return value


def address(name: str, *, example: str, module: str, package: str, is_secret: bool = False) -> str:
    """An http(s) address for which a package is needed; "" for none. A secret one has a key before its host.

    Raises ImproperlyConfigured.
    """
    value = text(name).strip()
    if not value:
        return ""
    try:
        url = urlsplit(value)
        is_one = url.scheme in {"https", "http"} and bool(url.hostname) and not url.query and not url.fragment
    except ValueError:
        is_one = False
    if not is_one or (is_secret and not (url.username and url.path.strip("/"))):
        raise ImproperlyConfigured(f"{name} must be an address such as {example}.")
    _require_package(name, module=module, package=package)
    return value


def _require_package(name: str, *, module: str, package: str) -> None:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a package above it is missing
        found = None
    if found is None:
        raise ImproperlyConfigured(f"{name} needs the package {package} (see docs/operations.md).")


def openid_roles(name: str) -> dict[str, Any]:
    """What each group of a provider may do: "superuser", or roles by the keys of workspaces."""
    try:
        roles = json.loads(text(name) or "{}")
    except ValueError:
        roles = None
    if not isinstance(roles, dict) or not all(_is_role(role) for role in roles.values()):
        raise ImproperlyConfigured(
            f'{name} must be JSON that gives each group "superuser", or one of {", ".join(ROLES)} by the key of a '
            'workspace, such as {"ops": "superuser", "shop-team": {"shop": "author"}}.'
        )
    return roles


def _is_role(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(role in ROLES for role in value.values())
    return bool(value == "superuser")

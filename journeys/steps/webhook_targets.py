"""Where a webhook goes, parsed from its URL as strictly as possible."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Visible ASCII without the backslash, which some programs take for a slash; all else must be percent-encoded.
_PATH = re.compile(r"[\x21-\x5b\x5d-\x7e]*")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.(?!-)[a-z0-9_-]{1,63})*")
_LONGEST_NAME = 253


class RefusedRequest(Exception):
    """The request must not be sent; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """`host` is an ASCII name or an address without brackets; `path` begins with a slash and includes the query."""

    https: bool
    host: str
    port: int
    path: str

    @property
    def host_and_port(self) -> str:
        """What a circuit is kept for; at most 259 characters."""
        return f"{self.host}:{self.port}"

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS["https" if self.https else "http"] else f"{host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class TargetRules:
    """Which targets webhooks may have, beside the rules for addresses."""

    http: bool = True
    ports: Sequence[range] = field(default=(range(80, 81), range(443, 444), range(1024, 65536)))

    def check(self, target: Target) -> None:
        """Raises RefusedRequest."""
        if not (target.https or self.http):
            raise RefusedRequest("The URL must begin with https://; webhooks are not sent in the clear.")
        if not any(target.port in ports for ports in self.ports):
            raise RefusedRequest(f"Webhooks are not sent to port {target.port}.")


def parse_target(url: str) -> Target:
    """Raises RefusedRequest for anything that two programs might read differently."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RefusedRequest("The URL cannot be read.") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise RefusedRequest("The URL must begin with http:// or https://.")
    if "@" in parts.netloc or "\\" in parts.netloc:
        raise RefusedRequest("The URL must not have user information.")
    path = _path(parts, url)
    port = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if not port:
        raise RefusedRequest("The URL's port must be from 1 to 65535.")
    return Target(https=parts.scheme == "https", host=_host(parts), port=port, path=path)


def _path(parts: SplitResult, url: str) -> str:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # urlsplit() silently drops some control characters.
    if not path.startswith("/") or not _PATH.fullmatch(path) or re.search(r"[\x00-\x20\x7f]", url):
        raise RefusedRequest("The URL's path and query must be percent-encoded.")
    return path


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if "[" in parts.netloc:
        try:
            return str(IPv6Address("scoped" if "%" in host else host))
        except AddressValueError:
            raise RefusedRequest("The URL's host is no IPv6 address.") from None
    name = host.removesuffix(".")
    # Lowercasing turns some non-ASCII letters into ASCII ones.
    if not parts.netloc.isascii() or len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise RefusedRequest("The URL's host is no name and no address.")
    return name

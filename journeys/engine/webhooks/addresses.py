"""Decides which addresses a webhook may be sent to, and resolves those of a host.

A name is resolved once, all its addresses are checked, and only these are connected to: a name that resolves
differently the next time (DNS rebinding) gains nothing.
"""

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from queue import Empty, SimpleQueue
from threading import Thread

from journeys.steps.webhook_targets import RefusedRequest

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

# IANA's special-purpose registries, and what clouds put in public ranges.
_NOT_PUBLIC_IPV4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    )
]  # fmt: skip
# In IPv6 only the global unicast range is public at all: not loopback, link-local, unique local, multicast, nor what
# embeds an IPv4 address (mapped, compatible, NAT64). Teredo, ORCHID, documentation and 6to4 lie inside that range.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NOT_PUBLIC_IPV6 = [
    IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What a socket connects to."""

    family: socket.AddressFamily
    address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class Unresolved(Exception):
    """The name has no address at the moment."""


def is_public(address: Address) -> bool:
    """Whether the address is on the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_IPV4)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_PUBLIC_IPV6)


def allowed_endpoints(*, host: str, port: int, allowed: Sequence[Network], seconds: float) -> list[Endpoint]:
    """The host's endpoints in the system's order. `allowed` networks are permitted even if they are not public.

    Raises RefusedRequest if any of its addresses is not permitted, Unresolved, or TimeoutError after `seconds`.
    """
    endpoints = _resolve(host, port, seconds=seconds)
    _refuse_private(endpoints, allowed)
    return endpoints


def refuse_address(*, host: str, port: int, allowed: Sequence[Network]) -> None:
    """Raises RefusedRequest if the host is an address, in any spelling, that no webhook goes to; resolves no name."""
    with suppress(Unresolved):
        _refuse_private(_ask(host, port, socket.AI_NUMERICHOST), allowed)


def _refuse_private(endpoints: Sequence[Endpoint], allowed: Sequence[Network]) -> None:
    for endpoint in endpoints:
        address = ip_address(str(endpoint.address[0]).partition("%")[0])
        if not is_public(address) and not any(address in network for network in allowed):
            raise RefusedRequest("The host has an address that is not public; webhooks are not sent there.")


def _resolve(host: str, port: int, *, seconds: float) -> list[Endpoint]:
    try:  # includes forms that only the C library reads as addresses: 127.1, 0x7f000001
        return _ask(host, port, socket.AI_NUMERICHOST)
    except Unresolved:
        return _ask_in_time(host, port, seconds=seconds)


def _ask_in_time(host: str, port: int, *, seconds: float) -> list[Endpoint]:
    """The resolver has no timeout of its own, so it runs in a thread that is abandoned if it takes too long."""
    answers: SimpleQueue[list[Endpoint] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_ask(host, port, 0))
        except Exception as error:  # noqa: BLE001 - the waiting caller raises it
            answers.put(error)

    Thread(target=ask, name="resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ask(host: str, port: int, flags: int) -> list[Endpoint]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags | socket.AI_NUMERICSERV)
    except (socket.gaierror, UnicodeError):
        raise Unresolved from None
    return [Endpoint(family=family, address=address) for family, _, _, _, address in found]

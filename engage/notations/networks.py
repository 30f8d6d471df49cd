"""Networks in CIDR notation, from which an API key may be used."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

LONGEST_NETWORK = 43  # of IPv6, written in full
_PARSED = 1000
_BITS_BEFORE_IPV4 = 96


def tidy_network(text: str) -> str:
    """The network in its usual spelling; a single address is one, too. Raises ValueError, which says why it is none."""
    return str(_network(text.strip()))


def is_in_any(address: IPv4Address | IPv6Address, networks: Iterable[str]) -> bool:
    """Whether one of the networks has the address."""
    return any(address in _network(text) for text in networks)


@lru_cache(_PARSED)
def _network(text: str) -> IPv4Network | IPv6Network:
    """One of IPv4 also where it is written inside IPv6, as callers' addresses are read (http/client_address.py)."""
    network = ip_network(text)
    inside = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    return IPv4Network((inside, network.prefixlen - _BITS_BEFORE_IPV4)) if inside else network

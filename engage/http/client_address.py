"""The client's address, as far as it can be trusted."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

_ONE_CALLERS_BITS = 64
_ONE_SITES_BITS = 48


def client_address(request: HttpRequest) -> str:
    """The peer's address, or the one that the outermost of TRUSTED_PROXIES proxies saw.

    Entries further left in X-Forwarded-For come from the caller and are not trusted. For an IPv6 address this is its
    /64 network, which is what one caller commonly has.
    """
    peer: str = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES == 0:
        return _callers_network(peer)
    seen = [address.strip() for address in request.headers.get("X-Forwarded-For", "").split(",") if address.strip()]
    if len(seen) < settings.TRUSTED_PROXIES:
        return _callers_network(peer)
    return _callers_network(_without_port(seen[-settings.TRUSTED_PROXIES]), otherwise=peer)


def site_of(address: str) -> str | None:
    """The /48 network of an IPv6 caller: one site has as many callers' networks as it likes. None for IPv4."""
    if "/" not in address:
        return None
    return str(ip_network(address).supernet(new_prefix=_ONE_SITES_BITS))


def _without_port(text: str) -> str:
    """The address alone: some proxies append the connection's port."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _callers_network(text: str, *, otherwise: str = "") -> str:
    try:
        address = ip_address(text)
    except ValueError:
        return otherwise or text
    if not isinstance(address, IPv6Address):
        return text
    return str(address.ipv4_mapped or ip_network((address, _ONE_CALLERS_BITS), strict=False))

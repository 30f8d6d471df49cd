"""The client's address, as far as it can be trusted."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address
KNOWN_CALLER = "engage.caller"  # in WSGI's environ: the id of the key or app that a call has proved to come from
_ONE_CALLERS_BITS = 64
_ONE_SITES_BITS = 48


def client_address(request: HttpRequest) -> str:
    """The peer's address, or the one that the outermost of TRUSTED_PROXIES proxies saw.

    Entries further left in X-Forwarded-For come from the caller and are not trusted. For an IPv6 address this is its
    /64 network, which is what one caller commonly has.
    """
    return caller_at(*_told(request), proxies=settings.TRUSTED_PROXIES)


def caller_at(peer: str, forwarded: str, *, proxies: int) -> str:
    """The same, of a peer and an X-Forwarded-For."""
    seen = _seen(peer, forwarded, proxies)
    return str(ip_network((seen, _ONE_CALLERS_BITS), strict=False)) if isinstance(seen, IPv6Address) else str(seen)


def exact_address(request: HttpRequest) -> Address | None:
    """The same address in full, also in IPv6; None if the server knows none, as on a Unix socket."""
    seen = _seen(*_told(request), settings.TRUSTED_PROXIES)
    return None if isinstance(seen, str) else seen


def _told(request: HttpRequest) -> tuple[str, str]:
    return request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")


def _seen(peer: str, forwarded: str, proxies: int) -> Address | str:
    seen = [address.strip() for address in forwarded.split(",") if address.strip()] if proxies else []
    if not proxies or len(seen) < proxies:
        return _parsed(peer)
    outermost = _parsed(_without_port(seen[-proxies]))
    return _parsed(peer) if isinstance(outermost, str) else outermost


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


def _parsed(text: str) -> Address | str:
    """The address, or else the text; an IPv4 address also where it came inside IPv6.

    Without the zone of a link-local one (`fe80::1%eth0`): PostgreSQL has no type that holds it.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address

"""The address of who calls, as far as it can be trusted."""

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The peer's address, or the one that the outermost of TRUSTED_PROXIES proxies saw.

    Whatever stands further left in X-Forwarded-For was written by the caller and is not believed.
    """
    peer: str = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES == 0:
        return peer
    seen = [address.strip() for address in request.headers.get("X-Forwarded-For", "").split(",") if address.strip()]
    return seen[-settings.TRUSTED_PROXIES] if len(seen) >= settings.TRUSTED_PROXIES else peer

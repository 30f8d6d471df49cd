"""What the environment says of the web server."""

from dataclasses import dataclass
from ipaddress import ip_address

from django.core.exceptions import ImproperlyConfigured

from config import environment


@dataclass(frozen=True, kw_only=True)
class Options:
    """Validated. `receive_seconds` is for a whole request, `send_seconds` for each 64 KiB of an answer.

    So many `proxies` add to X-Forwarded-For.
    """

    host: str
    port: int
    workers: int
    threads: int
    backlog: int
    receive_seconds: float
    send_seconds: float
    proxies: int


def options() -> Options:
    """Raises ImproperlyConfigured, naming the variable."""
    host = environment.text("HOST") or "127.0.0.1"
    try:
        ip_address(host)
    except ValueError:
        raise ImproperlyConfigured(f"HOST must be an IP address of this machine, not {host!r}.") from None
    return Options(
        host=host,
        port=environment.number("PORT", default=8000, at_most=2**16 - 1),
        workers=environment.number("WEB_WORKERS", default=2, at_least=1, at_most=1000),
        threads=environment.number("WEB_THREADS", default=2, at_least=1, at_most=1000),
        backlog=environment.number("WEB_BACKLOG", default=1024, at_least=128),
        receive_seconds=environment.seconds("WEB_RECEIVE_SECONDS", default=30.0),
        send_seconds=environment.seconds("WEB_SEND_SECONDS", default=30.0),
        proxies=environment.number("TRUSTED_PROXIES", default=0),
    )

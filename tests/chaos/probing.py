"""Asks the web servers' probes all the while, as a load balancer and a collector of metrics would."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from tests.chaos.fleet import Member
from tests.chaos.load import exchange
from tests.chaos.service import METRICS_TOKEN, Service

_PATHS = ("/livez", "/metrics")
_SECONDS_BETWEEN = 0.5
_HEADERS = {"Authorization": f"Bearer {METRICS_TOKEN}"}


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One answer to one question; `status` as of a `Sending`."""

    path: str
    web: str  # its name
    began: float
    seconds: float
    status: int


@contextmanager
def probing(webs: Sequence[Member]) -> Iterator[list[Probe]]:
    """Asks every web server from a thread of its own until the end of the block; the list has all answers by then."""
    over, probes = Event(), list[Probe]()
    threads = [Thread(target=_ask, args=[web, path, probes, over]) for web in webs for path in _PATHS]
    for thread in threads:
        thread.start()
    try:
        yield probes
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _ask(web: Member, path: str, probes: list[Probe], over: Event) -> None:
    while not over.wait(_SECONDS_BETWEEN):
        began = time.monotonic()
        status, _ = exchange(web, "GET", path, _HEADERS)
        probes.append(Probe(path=path, web=web.name, began=began, seconds=time.monotonic() - began, status=status))


def metric(service: Service, name: str) -> float:
    """The value of a metric that has no labels."""
    _, said = exchange(service.load.webs[0], "GET", "/metrics", _HEADERS)
    lines = [line for line in said.decode().splitlines() if line.startswith(f"{name}{{}} ")]
    return float(lines[0].split()[1])

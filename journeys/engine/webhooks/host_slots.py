"""How many requests each host may have in flight at once, so that a slow one leaves room for the others.

What each workspace has in flight is counted as well: whoever has least comes first.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

_SLOW_SECONDS = 1.0


class HostSlots:
    """Counts the requests in flight. One host may use half of all threads; an eighth if its last request was slow."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.of_a_host = max(1, threads // 2)
        self._of_a_slow_host = max(1, threads // 8)
        self._requests: Counter[str] = Counter()
        self._of_workspaces: Counter[str] = Counter()
        self._slow: set[str] = set()
        self.paced = False  # whether more is due to a host that has a rate

    @property
    def in_flight(self) -> int:
        return self._requests.total()

    @property
    def free(self) -> int:
        return self.threads - self.in_flight

    @property
    def of_workspaces(self) -> Mapping[str, int]:
        """How many requests are in flight for each workspace that has any."""
        return self._of_workspaces

    def started(self, host: str, *, workspace_id: str) -> None:
        self._requests[host] += 1
        self._of_workspaces[workspace_id] += 1

    def finished(self, host: str, *, workspace_id: str, seconds: float) -> None:
        for counter, key in ((self._requests, host), (self._of_workspaces, workspace_id)):
            counter[key] -= 1
            if not counter[key]:
                del counter[key]
        if seconds > _SLOW_SECONDS:
            self._slow.add(host)
        else:
            self._slow.discard(host)

    def of_known_hosts(self) -> Iterator[tuple[str, int, int]]:
        """Each host that has requests in flight or is slow: how many it has, and how many more it may have."""
        for host in sorted(self._requests.keys() | self._slow):
            most = self._of_a_slow_host if host in self._slow else self.of_a_host
            yield host, self._requests[host], max(0, most - self._requests[host])

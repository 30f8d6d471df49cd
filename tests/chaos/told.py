"""The feed as a witness: what was committed was told once, and nothing else; who reads all the while sees all of it."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from tests.chaos.fleet import Member
from tests.chaos.load import exchange
from tests.chaos.tenants import Tenant

if TYPE_CHECKING:
    from tests.chaos.service import Service

_LIMITS = (1000, 30)  # of two readers of each feed: who reads much at a time, and who stops within batches
_SECONDS_BETWEEN = 0.1
_CATCH_UP_SECONDS = 40.0  # more than a reader waits for a server that does not answer

# By type, and what it tells of; with the result of a decision. Who was merged keeps the ids of then.
_DIFFERENCES = """
WITH told AS (
    SELECT type, CASE type WHEN 'job.decided' THEN coalesce(
        job_id, 'enroll-' || journey_id || '-' || customer_id || '-' || event.queued_ms
    ) || ' ' || result ELSE enrollment_id END AS of
    FROM engage_feedbatch CROSS JOIN LATERAL unnest(customer_ids, queued_ms, job_ids, enrollment_ids, results)
        AS event(customer_id, queued_ms, job_id, enrollment_id, result)
    WHERE type LIKE 'enrollment.%%' OR type = 'job.decided'
), happened AS (
    SELECT 'job.decided' AS type, coalesce(
        queued_as, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms
    ) || ' ' || result AS of
    FROM journeys_enrollmentjob WHERE status <> 'queued'
    UNION ALL SELECT 'enrollment.started', id FROM journeys_enrollment
    UNION ALL SELECT 'enrollment.' || state, id FROM journeys_enrollment WHERE state <> 'active'
)
SELECT type, of, sum(number) FROM (
    SELECT type, of, -1 AS number FROM happened UNION ALL SELECT type, of, 1 FROM told
) AS both_of
WHERE of IS NOT NULL GROUP BY type, of HAVING sum(number) <> 0
"""
_TOLD = """
SELECT 'evt_' || id || '_' || number FROM engage_feedbatch CROSS JOIN LATERAL generate_series(1, size) AS number
WHERE workspace_id = %s ORDER BY position, number
"""


class FeedReader(Thread):
    """Reads a workspace's feed from its beginning on, for as long as the service runs; it goes on only where it was
    answered.
    """

    def __init__(self, tenant: Tenant, *, webs: Sequence[Member], limit: int) -> None:
        super().__init__(name=f"feed of {tenant.name}, {limit} at a time")
        self.tenant, self.over, self.read = tenant, Event(), list[str]()
        self._webs, self._limit, self._after = webs, limit, ""

    def run(self) -> None:
        turn = 0
        while not self.over.is_set():
            if not self._read_page(self._webs[turn % len(self._webs)]):
                turn += 1  # only now: a server that is gone may take long to be given up
                self.over.wait(_SECONDS_BETWEEN)

    def _read_page(self, web: Member) -> bool:
        """Whether it had any event."""
        after = f"&after={self._after}" if self._after else ""
        path = f"/api/v1/feed/{self.tenant.workspace}?limit={self._limit}{after}"
        status, said = exchange(web, "GET", path, {"Authorization": f"Bearer {self.tenant.key}"})
        if status != 200:
            return False
        try:
            page = json.loads(said)["data"]
        except ValueError:
            return False
        self.read += [event["eventId"] for event in page["events"]]
        self._after = page["next"]
        return bool(page["events"])


@contextmanager
def reading_feeds(tenants: Mapping[str, Tenant], *, webs: Sequence[Member]) -> Iterator[list[FeedReader]]:
    """Readers of all feeds, until the end of the block."""
    readers = [FeedReader(tenant, webs=webs, limit=limit) for tenant in tenants.values() for limit in _LIMITS]
    for reader in readers:
        reader.start()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.over.set()
        for reader in readers:
            reader.join()


def the_feed_tells_what_happened(service: "Service") -> Iterator[str]:
    """Not where it is off: the version before has none, and who was inside by then was not told."""
    if not service.readers:
        return
    for kind, of, number in service.ask(_DIFFERENCES):
        yield f"{kind} of {of} was told {number:+} times more often than it happened"


def readers_of_the_feed_miss_nothing(service: "Service") -> Iterator[str]:
    """What they have read is how all that was told begins, though more was told meanwhile, and all was killed; and they
    come to its end. A crowd's events take who reads a few at a time longer than this waits: it only has to go on.
    """
    until, before = time.monotonic() + _CATCH_UP_SECONDS, [len(reader.read) for reader in service.readers]
    for reader, had in zip(service.readers, before, strict=True):
        while _told(service, reader) != reader.read and time.monotonic() < until:
            time.sleep(0.3)
        read = list(reader.read)
        told = _told(service, reader)
        if read != told[: len(read)]:
            missed, doubled = len({*told[: len(read)]} - {*read}), len(read) - len({*read})
            yield f"the {reader.name}: {missed} of {len(told)} events missed, {doubled} read twice, or out of order"
        elif len(read) < len(told) and len(read) == had:
            yield f"the {reader.name}: stands still before {len(told) - len(read)} of {len(told)} events"


def _told(service: "Service", reader: FeedReader) -> list[str]:
    return [event for (event,) in service.ask(_TOLD, reader.tenant.workspace)]

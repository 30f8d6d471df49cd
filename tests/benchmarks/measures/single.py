"""Single triggers per second from 16 connections, with the workers at work."""

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.load import Load, load
from tests.benchmarks.service import CUSTOMERS, Effort, Service

BODY = '{"external_id":"user-{n}","payload":{"a":1}}'

# How long each job waited. `decided_at` is the time at which the deciding transaction began.
_LATENESS = """
SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY late), max(late), count(*) FROM (
    SELECT extract(epoch FROM decided_at)::float8 - queued_ms / 1000.0::float8 AS late
    FROM journeys_enrollmentjob WHERE workspace_id = %(workspace)s AND queued_ms >= %(since)s
) AS job
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: the view that does nothing, then triggers; medians of the rounds."""
    floors, singles, lateness = [], [], []
    trigger(service, seconds=2)
    for _ in range(effort.rounds):
        floors.append(nothing(service, seconds=effort.seconds).per_second)
        since = service.one("SELECT (extract(epoch FROM now()) * 1000)::bigint")
        singles.append(trigger(service, seconds=effort.seconds))
        service.settle()
        row = service.connection.execute(_LATENESS, {"workspace": service.workspace, "since": since}).fetchone()
        lateness.append(row or (0.0, 0.0, 0))
    floor, single = middle(floors), middle([seen.per_second for seen in singles])
    latest = max(row[1] for row in lateness)
    notes = {"p50 ms": middle([seen.p50_ms for seen in singles]), "p99 ms": middle([seen.p99_ms for seen in singles])}
    return [
        Figure(
            measure="single triggers", value=single, unit="/s", notes=notes,
            beside="a view that does nothing", beside_value=floor, ratio=single / floor, at_least=0.12,
        ),
        Figure(
            measure="latest decision after its call", value=latest, unit="s", ratio=latest, at_most=2.0,
            notes={"p99 s": max(row[0] for row in lateness), "jobs": sum(row[2] for row in lateness)},
        ),
    ]  # fmt: skip


def trigger(service: Service, *, seconds: int) -> Load:
    url = service.base + service.trigger_path
    seen = load(url, headers=service.server_headers, body=BODY, customers=CUSTOMERS, seconds=seconds)
    return seen.all_accepted()


def nothing(service: Service, *, seconds: int) -> Load:
    """The floor: the same request to the view that does nothing."""
    url = f"{service.floor}/nothing"
    seen = load(url, headers=service.server_headers, body=BODY, customers=CUSTOMERS, seconds=seconds)
    return seen.all_accepted()

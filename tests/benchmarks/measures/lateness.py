"""How late delays end: many of them at once, and many over a minute."""

import time
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.service import Effort, Service, call
from tests.support.waiting import wait_until

_SHORT, _SECONDS = 10_000, 5
_LONG, _OVER = 100_000, 60
_SEED: dict[str, Any] = {
    "workspace": {"key": "late", "name": "Late"},
    "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
    "segments": [{"key": "all", "name": "All", "conditions": {"field": "customer.external_id", "op": "exists"}}],
    "journeys": [
        {"key": "short", "name": "Short", "trigger": "api",
         "steps": [{"id": "wait", "type": "delay", "for": f"PT{_SECONDS}S"}]},
        {"key": "long", "name": "Long", "trigger": "api", "steps": [{"id": "wait", "type": "delay", "for": "P1D"}]},
    ],
}  # fmt: skip

# A delay's run ends when the walk that ends it begins; `began_at` and the delay say when it should have.
_LATENESS = """
SELECT percentile_cont(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (
    ORDER BY extract(epoch FROM run.ended_at - run.began_at) - %(seconds)s
)
FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
WHERE enrollment.journey_id = %(journey)s
"""
# As if each had begun when it is to be due.
_SPREAD = """
WITH spread AS (
    UPDATE journeys_enrollment SET due_at = now() + interval '15 s' + random() * %(over)s * interval '1 s'
    WHERE journey_id = %(journey)s AND state = 'active' RETURNING id, due_at
)
UPDATE journeys_steprun run SET began_at = spread.due_at FROM spread WHERE run.enrollment_id = spread.id
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    """Once each."""
    seeded = service.seed(_SEED, customers=_LONG)
    return [
        _figure(f"lateness of {_SHORT:,} delays of {_SECONDS} s, p99", _short(service, seeded)),
        _figure(f"lateness of {_LONG:,} delays over {_OVER} s, p99", _long(service, seeded)),
    ]


def _figure(name: str, percentiles: list[float]) -> Figure:
    middle, late, latest = percentiles
    return Figure(
        measure=name, value=late, unit="s", ratio=late, at_most=2.0, notes={"median": middle, "latest": latest}
    )


def _short(service: Service, seeded: dict[str, Any]) -> list[float]:
    for first in range(0, _SHORT, 1000):
        _trigger(service, seeded, "short", {"external_ids": [f"user-{n}" for n in range(first, first + 1000)]})
        time.sleep(0.5)
    _arrive(service, seeded["journeys"]["short"])
    return _percentiles(service, seeded["journeys"]["short"], seconds=_SECONDS)


def _long(service: Service, seeded: dict[str, Any]) -> list[float]:
    journey = seeded["journeys"]["long"]
    _trigger(service, seeded, "long", {"segment_ids": [seeded["segments"]["all"]]})
    service.settle(seconds=600)
    begun = "SELECT NOT EXISTS (SELECT FROM journeys_enrollment WHERE state = 'active' AND due_at < now() + '1 hour')"
    wait_until(lambda: bool(service.one(begun)), what="everybody to wait", seconds=600)
    service.connection.execute(_SPREAD, {"journey": journey, "over": _OVER})
    _arrive(service, journey)
    return _percentiles(service, journey, seconds=0)


def _trigger(service: Service, seeded: dict[str, Any], journey: str, body: dict[str, Any]) -> None:
    path = f"/api/v1/journeys/{seeded['workspaceId']}/{seeded['journeys'][journey]}/trigger"
    call(service.base + path, body, key=seeded["apiKeys"]["server"])


def _arrive(service: Service, journey: str) -> None:
    service.settle(seconds=600)
    over = "SELECT NOT EXISTS (SELECT FROM journeys_enrollment WHERE journey_id = %(journey)s AND state = 'active')"
    wait_until(lambda: bool(service.one(over, {"journey": journey})), what="everybody to arrive", seconds=600)


def _percentiles(service: Service, journey: str, *, seconds: float) -> list[float]:
    return [float(value) for value in service.one(_LATENESS, {"journey": journey, "seconds": seconds})]

"""A call for everybody in a large segment: how long until all are decided, and what it does to the web's memory."""

import json
import time
import urllib.request

from tests.benchmarks.figures import Figure
from tests.benchmarks.measures.idle import memory_mib
from tests.benchmarks.service import Effort, Service

_SEED = {
    "workspace": {"key": "crowd", "name": "Crowd"},
    "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
    "segments": [{"key": "all", "name": "All", "conditions": {"field": "customer.external_id", "op": "exists"}}],
    "journeys": [{"key": "enter", "name": "Enter", "trigger": "api", "allowReenrollment": True, "steps": []}],
}
_SECONDS = 240.0  # at most, until a million are decided
_MIB = 100.0  # at most, by which the web processes grow


def measure(service: Service, effort: Effort) -> list[Figure]:
    """Once: it takes minutes."""
    seeded = service.seed(_SEED, customers=effort.crowd)
    path = f"/api/v1/journeys/{seeded['workspaceId']}/{seeded['journeys']['enter']}/trigger"
    headers = {"Authorization": f"Bearer {seeded['apiKeys']['server']}", "Content-Type": "application/json"}
    body = json.dumps({"segment_ids": [seeded["segments"]["all"]]}).encode()
    service.settle()
    before, started = memory_mib(service.pids["web"]), time.perf_counter()
    request = urllib.request.Request(service.base + path, body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        received = sum(len(piece) for piece in iter(lambda: answer.read(1 << 20), b""))
    answered = time.perf_counter() - started
    grown = memory_mib(service.pids["web"]) - before
    service.settle(seconds=10 * _SECONDS)
    took = time.perf_counter() - started
    bound = _SECONDS * effort.crowd / 1_000_000
    return [
        Figure(
            measure=f"a segment of {effort.crowd:,}, all decided", value=took, unit="s", ratio=took, at_most=bound,
            notes={"answered after s": answered, "MiB of answer": received / 2**20, "per second": effort.crowd / took},
        ),
        Figure(measure="web grows by", value=grown, unit="MiB", ratio=grown, at_most=_MIB),
    ]  # fmt: skip

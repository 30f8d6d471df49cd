"""How fast customers of twenty calls with `recipients` are decided, each with a payload of their own."""

import time

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.measures.thousand import ids_of_call
from tests.benchmarks.service import Effort, Service

_CALLS = 20


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: such calls, and as many with external ids and one payload for all."""
    seen: dict[str, list[float]] = {"own": [], "common": []}
    for _ in range(effort.rounds):
        for kind, rates in seen.items():
            service.settle()
            started = time.perf_counter()
            for number in range(_CALLS):
                service.trigger(_body(kind, ids_of_call(number)))
            service.settle()
            rates.append(_CALLS * 1000 / (time.perf_counter() - started))
    own, common = middle(seen["own"]), middle(seen["common"])
    return [
        Figure(
            measure="recipients with payloads of their own, until the last is decided", value=own, unit="/s",
            beside="external ids with one payload", beside_value=common, ratio=own / common, at_least=0.7,
        )
    ]  # fmt: skip


def _body(kind: str, ids: list[str]) -> dict[str, object]:
    if kind == "common":
        return {"external_ids": ids, "payload": {"order": 1}}
    return {"recipients": [{"external_id": one, "payload": {"order": place}} for place, one in enumerate(ids)]}

"""Webhooks per second to a local receiver, beside the same client in a bare loop of as many threads."""

import json

from tests.benchmarks.figures import Figure
from tests.benchmarks.service import Effort, Service

_NUMBER, _THREADS = 10_000, 32


def measure(service: Service, effort: Effort) -> list[Figure]:
    """By a program of its own, in a database of its own on the service's server."""
    command = ["-m", "tests.benchmarks.webhooks", str(_NUMBER), str(_THREADS)]
    printed = service.tree.run(*command, environment={**service.environment, "DATABASE_URL": service.database_url})
    seen = json.loads(printed.strip().splitlines()[-1])
    return [
        Figure(
            measure=f"webhooks to {hosts} local host(s), {_THREADS} threads", value=rate, unit="/s",
            beside="a bare loop of as many threads", beside_value=seen["bare"], ratio=rate / seen["bare"], at_least=0.5,
        )
        for hosts, rate in seen["sender"].items()
    ]  # fmt: skip

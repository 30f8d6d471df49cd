"""What the service takes while nobody calls: memory and processor, per line of the Procfile."""

import time
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.processor import family, seconds
from tests.benchmarks.service import Effort, Service

_SECONDS = 10.0


def measure(service: Service, effort: Effort) -> list[Figure]:
    """Proportional memory: what processes share is counted once, in parts."""
    service.settle()
    time.sleep(2)
    before = {name: seconds(pid) for name, pid in service.pids.items()}
    time.sleep(_SECONDS)
    return [
        Figure(
            measure=f"idle: {name}", value=memory_mib(pid), unit="MiB",
            notes={"% of a core": round((seconds(pid) - before[name]) / _SECONDS * 100, 1)},
        )
        for name, pid in service.pids.items()
    ]  # fmt: skip


def memory_mib(pid: int) -> float:
    """Of the process and all that come of it."""
    return sum(_pss_kib(member) for member in family(pid)) / 1024


def _pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))

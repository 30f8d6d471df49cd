"""What the service takes while nobody calls: memory and processor, per line of the Procfile."""

import os
import time
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.service import Effort, Service

_SECONDS = 10.0
_TICK = os.sysconf("SC_CLK_TCK")


def measure(service: Service, effort: Effort) -> list[Figure]:
    """Proportional memory: what processes share is counted once, in parts."""
    service.settle()
    time.sleep(2)
    before = {name: _ticks(pid) for name, pid in service.pids.items()}
    time.sleep(_SECONDS)
    return [
        Figure(
            measure=f"idle: {name}", value=memory_mib(pid), unit="MiB",
            notes={"% of a core": round((_ticks(pid) - before[name]) / _TICK / _SECONDS * 100, 1)},
        )
        for name, pid in service.pids.items()
    ]  # fmt: skip


def _family(pid: int) -> list[int]:
    """The process and all that come of it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(descendant for child in children for descendant in _family(int(child)))]


def memory_mib(pid: int) -> float:
    """Of the process and all that come of it."""
    return sum(_pss_kib(member) for member in _family(pid)) / 1024


def _pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _ticks(pid: int) -> int:
    """User and system time of the whole family."""
    fields = [Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split() for member in _family(pid)]
    return sum(int(member[11]) + int(member[12]) for member in fields)

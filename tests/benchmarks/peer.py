"""A peer that does the same on another stack, measured in turn with the service by a program of its own.

The program is given as a path. It starts the peer, measures both sides on one machine, and prints as its last line
`{"medians": {"ours": {...}, "peer": {...}}, "ratio": {...}}` with the measures `single`, `bulk` and `drain`.
"""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.figures import Figure
from tests.benchmarks.service import CUSTOMERS, Effort, Service

_REDIS_DATABASE = 9  # not the service's
_SHOWN = {
    "single": ("single triggers", "/s", 0.7),
    "bulk": ("a call of 1,000 external ids", "ms", 3.0),
    "drain": ("drain: customers from 20 such calls", "/s", 4.0),
}


def measure(service: Service, effort: Effort, program: Path) -> list[Figure]:
    """The ratio says how many times as fast as the peer the service is."""
    service.settle()
    command = [
        *(sys.executable, str(program), "--ours", service.base, "--key", service.key),
        *("--workspace", service.workspace, "--journey", service.journey),
        *("--database-url", service.database_url, "--peer-database-url", _with_host(service.database_url)),
        *("--redis-url", f"{service.redis_url.partition('?')[0]}?db={_REDIS_DATABASE}"),
        *("--customers", str(CUSTOMERS), "--rounds", str(effort.rounds), "--seconds", str(effort.seconds)),
    ]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    seen = json.loads(printed.strip().splitlines()[-1])
    return [
        Figure(
            measure=measure, value=seen["medians"]["ours"][name], unit=unit,
            beside="the peer", beside_value=seen["medians"]["peer"][name], ratio=seen["ratio"][name], at_least=bound,
        )
        for name, (measure, unit, bound) in _SHOWN.items()
    ]  # fmt: skip


def _with_host(database_url: str) -> str:
    """The same database for clients that want a host's name in the URL, also where `host` is a socket's folder."""
    parts = urlsplit(database_url)
    folder = parse_qs(parts.query)["host"][0]
    return f"postgres://{parts.username}@localhost{parts.path}?host={folder}"

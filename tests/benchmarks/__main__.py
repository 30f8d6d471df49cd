"""`make bench`: start the service in a scratch folder, measure it beside its floors, print a table and write JSON."""

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import peer
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.measures import bridge, growth, idle, lateness, segment, single, thousand, walking, webhooks
from tests.benchmarks.service import Effort, Service, running_service

MEASURES: dict[str, Callable[[Service, Effort], list[Figure]]] = {
    "single": single.measure,
    "thousand": thousand.measure,
    "bridge": bridge.measure,
    "idle": idle.measure,
    "segment": segment.measure,
    "growth": growth.measure,
    "walking": walking.measure,
    "lateness": lateness.measure,
    "webhooks": webhooks.measure,
}


def main() -> int:
    """The exit code: 1 where a figure does not hold."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the service down, as Ctrl-C does
    arguments = _arguments()
    effort = Effort(rounds=arguments.rounds, seconds=arguments.seconds, crowd=arguments.crowd)
    figures: list[Figure] = []
    with running_service() as service:
        for name in arguments.measures or MEASURES:
            figures += _said(MEASURES[name](service, effort))
        if arguments.peer:
            figures += _said(peer.measure(service, effort, arguments.peer))
    arguments.json.write_text(json.dumps(_report(figures, effort), indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(f"\n{table(figures)}\n")
    return int(any(figure.holds is False for figure in figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"of {', '.join(MEASURES)}; all by default")
    parser.add_argument("--peer", type=Path, help="a program that measures the service and a peer in turn")
    parser.add_argument("--rounds", type=int, default=3, help="of each measure, in turn with its floor (default 3)")
    parser.add_argument("--seconds", type=int, default=6, help="of load in a round (default 6)")
    parser.add_argument("--crowd", type=int, default=1_000_000, help="customers in the large segment (a million)")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write (default bench.json)")
    arguments = parser.parse_args()
    if unknown := set(arguments.measures) - set(MEASURES):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    return arguments


def _said(figures: list[Figure]) -> list[Figure]:
    """As soon as they are known: a whole run takes minutes."""
    for figure in figures:
        sys.stdout.write("  ".join(cell for cell in figure.as_row() if cell) + "\n")
    sys.stdout.flush()
    return figures


def _report(figures: list[Figure], effort: Effort) -> dict[str, object]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processors": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "rounds": effort.rounds,
        "seconds": effort.seconds,
        "crowd": effort.crowd,
        "figures": [figure.as_json() for figure in figures],
    }


if __name__ == "__main__":
    sys.exit(main())

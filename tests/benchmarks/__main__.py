"""`make bench`: start the service in a scratch folder, measure it beside its floors, print a table and write JSON."""

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.benchmarks import peer
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.measures import bridge, growth, idle, lateness, segment, single, thousand, walking, webhooks
from tests.benchmarks.service import Effort, Service, running_service

Measure = Callable[[Service, Effort], list[Figure]]
MEASURES: dict[str, Measure] = {
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
# These leave the service's tables with millions of rows, and the peer's tables are empty.
FILLING = ("segment", "growth")


def main() -> int:
    """The exit code: 1 where a figure does not hold."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the service down, as Ctrl-C does
    arguments = _arguments()
    effort = Effort(rounds=arguments.rounds, seconds=arguments.seconds, crowd=arguments.crowd)
    figures: list[Figure] = []
    with running_service() as service:
        for measure in _in_order(arguments.measures or list(MEASURES), program=arguments.peer):
            figures += _said(measure(service, effort))
    arguments.json.write_text(json.dumps(_report(figures, effort), indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(f"\n{table(figures)}\n")
    return int(any(figure.holds is False for figure in figures))


def _in_order(names: Sequence[str], *, program: Path | None) -> list[Measure]:
    """The named measures, and the one beside the peer, if there is a program for it, before tables are filled."""
    measures = [MEASURES[name] for name in names]
    if program:
        before = next((place for place, name in enumerate(names) if name in FILLING), len(names))
        measures.insert(before, partial(peer.measure, program=program))
    return measures


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

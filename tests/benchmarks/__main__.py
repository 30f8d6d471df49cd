"""`make bench`: start the service in a scratch folder, measure it beside its floors, print a table and write JSON.

With --base, another commit's service is measured in turn with this one, and what counts is the ratio of both.
"""

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks import pairs, peer
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.measures import (
    bridge,
    checks,
    growth,
    idle,
    in_app,
    lateness,
    processor_time,
    pruning,
    recipients,
    segment,
    single,
    thousand,
    walking,
    webhooks,
)
from tests.benchmarks.pairs import Measure
from tests.benchmarks.service import Effort, running_servers, running_service
from tests.support.trees import checked_out, commit_of, install, this_tree

MEASURES: dict[str, Measure] = {
    "single": single.measure,
    "processor_time": processor_time.measure,
    "thousand": thousand.measure,
    "bridge": bridge.measure,
    "checks": checks.measure,
    "idle": idle.measure,
    "segment": segment.measure,
    "growth": growth.measure,
    "walking": walking.measure,
    "lateness": lateness.measure,
    "webhooks": webhooks.measure,
    "in_app": in_app.measure,
    "recipients": recipients.measure,
    "pruning": pruning.measure,
}
# These leave the service's tables with millions of rows, and the peer's tables are empty.
FILLING = ("segment", "growth", "pruning")
LATER = ("in_app", "recipients")  # which 1.0.0 has not
ONCE = ("growth", "pruning")  # they fill the tables with rows of fixed ids


def main() -> int:
    """The exit code: 1 where a figure does not hold."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the service down, as Ctrl-C does
    arguments = _arguments()
    compared = arguments.base is not None
    rounds = arguments.rounds or (1 if compared else 3)
    effort = Effort(rounds=rounds, seconds=arguments.seconds, crowd=arguments.crowd, brief=compared)
    report, written, holds = _beside_base(arguments, effort) if compared else _beside_floors(arguments, effort)
    arguments.json.write_text(json.dumps(_about(effort) | report, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(f"\n{written}\n")
    return int(not holds)


def _beside_floors(arguments: argparse.Namespace, effort: Effort) -> tuple[dict[str, Any], str, bool]:
    """The report, the table, and whether all figures hold; so does `_beside_base`."""
    figures: list[Figure] = []
    with running_servers() as servers, running_service(servers) as service:
        for measure in _in_order(arguments.measures or list(MEASURES), program=arguments.peer):
            seen = measure(service, effort)
            _say(figure.as_row() for figure in seen)
            figures += seen
    report = {"figures": [figure.as_json() for figure in figures]}
    return report, table(figures), all(figure.holds is not False for figure in figures)


def _beside_base(arguments: argparse.Namespace, effort: Effort) -> tuple[dict[str, Any], str, bool]:
    this, compared = this_tree(), list[pairs.Pairs]()
    names = arguments.measures or [name for name in MEASURES if name not in {*FILLING, *LATER}]
    with checked_out(arguments.base) as base, running_servers() as servers:
        install(base)
        with running_service(servers, base) as before, running_service(servers, this) as after:
            for seen in pairs.measured_in_turn(
                _in_order(names, program=None), base=before, this=after, effort=effort, number=arguments.pairs
            ):
                _say(pair.as_row() for pair in seen)
                compared += seen
    report = {"base": base.name, "this": this.name, "pairs": [pair.as_json() for pair in compared]}
    heading = f"{this.name} beside {base.name}, {arguments.pairs} pairs"
    return report, f"{heading}\n\n{pairs.table(compared)}", all(pair.holds for pair in compared)


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
    parser.add_argument("--base", metavar="COMMIT", help="measures that commit and this one in turn")
    parser.add_argument("--pairs", type=int, default=5, help="of a measure's figures with --base (default 5)")
    parser.add_argument("--rounds", type=int, help="of each measure, in turn with its floor (default 3, 1 with --base)")
    parser.add_argument("--seconds", type=int, default=6, help="of load in a round (default 6)")
    parser.add_argument("--crowd", type=int, default=1_000_000, help="customers in the large segment (a million)")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where to write (default bench.json)")
    arguments = parser.parse_args()
    if unknown := set(arguments.measures) - set(MEASURES):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    if arguments.base is not None:
        if arguments.peer or set(ONCE) & set(arguments.measures):
            parser.error(f"with --base there is neither --peer nor {' or '.join(ONCE)}, measured only once.")
        try:
            arguments.base = commit_of(arguments.base)
        except ValueError as error:
            parser.error(str(error))
    return arguments


def _say(rows: Iterable[list[str]]) -> None:
    """As soon as they are known: a whole run takes minutes."""
    for row in rows:
        sys.stdout.write("  ".join(cell for cell in row if cell) + "\n")
    sys.stdout.flush()


def _about(effort: Effort) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processors": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "rounds": effort.rounds,
        "seconds": effort.seconds,
        "crowd": effort.crowd,
    }


if __name__ == "__main__":
    sys.exit(main())

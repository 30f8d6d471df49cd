"""`make chaos`: start the service for real, send it a mix of calls, break things, and see whether its promises hold.

The same seed sends the same calls and injects the same faults at the same moments.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.chaos.apart import APART
from tests.chaos.crowd import CROWD
from tests.chaos.fleet import TWO_OF_EACH
from tests.chaos.machine import Machine, other_machine, what_is_missing
from tests.chaos.merges import MERGED
from tests.chaos.mischief import MANNERS, POISON, targets
from tests.chaos.scenario import Scenario
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.service import Service, running_service
from tests.chaos.trial import Finding, hold_trial, plan_trial
from tests.support import pooler, receiver
from tests.support.trees import checked_out, commit_of, install


def main() -> int:
    """The exit code: 1 where something did not hold."""
    arguments = _arguments()
    seed = arguments.seed or str(random.randrange(1_000_000))
    names, with_machine = what_can_run(arguments.scenario or list(SCENARIOS))
    _say(f"SEED={seed}; {arguments.rounds} rounds of {', '.join(names)}")
    scratch = Path(tempfile.mkdtemp(prefix="engage-chaos-"))
    findings: list[Finding] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended."))
    began = time.monotonic()
    try:
        with ExitStack() as stack:
            machine = stack.enter_context(other_machine()) if with_machine else None
            shared = _shared_service(stack, scratch, machine) if any(map(_shares, names)) else None
            _say(f"started after {time.monotonic() - began:.0f} s; logs in {scratch}\n\n{_HEAD}")
            for number in range(1, arguments.rounds + 1):
                for name in names:
                    with _service_for(SCENARIOS[name], shared, scratch / f"{name}-{number}") as service:
                        finding = hold_trial(
                            service, SCENARIOS[name], plan_trial(SCENARIOS[name], seed=seed, number=number)
                        )
                    findings.append(finding)
                    _say(_told(name, number, finding))
    finally:
        broken = len(findings) < arguments.rounds * len(names) or any(finding.broken for finding in findings)
        if broken:
            _say(f"The logs are kept in {scratch}.")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    end = "BROKEN" if broken else "all hold"
    _say(f"\n{len(findings)} trials in {time.monotonic() - began:.0f} s, {end} (SEED={seed})")
    return int(broken)


def _shares(name: str) -> bool:
    return SCENARIOS[name].begins_with is None


def _shared_service(stack: ExitStack, scratch: Path, machine: Machine | None) -> Service:
    # Each alone at its address: what makes no connection has its host left alone.
    bad = {manner.name: stack.enter_context(receiver.running()).url("") for manner in MANNERS}
    beside = [*POISON, *targets(bad), *APART, CROWD, *MERGED]
    return stack.enter_context(running_service(scratch, beside=beside, machine=machine))


@contextmanager
def _service_for(scenario: Scenario, shared: Service | None, scratch: Path) -> Iterator[Service]:
    if scenario.begins_with is None:
        assert shared is not None
        yield shared
        return
    with checked_out(scenario.begins_with) as tree:
        install(tree)
        numbers = dict.fromkeys(TWO_OF_EACH, 1)
        with running_service(scratch, beside=scenario.courses, tree=tree, numbers=numbers) as service:
            yield service


def what_can_run(wanted: Sequence[str]) -> tuple[list[str], bool]:
    """The names of those scenarios, and whether they need another machine; says which ones are left out, and why."""
    names = list(wanted)
    if unpooled := [name for name in names if SCENARIOS[name].unpooled and pooler.is_wanted()]:
        _say(f"SKIPPED {', '.join(unpooled)}: a pooler stands between the service and PostgreSQL.")
        names = [name for name in names if name not in unpooled]
    if gone := [name for name in names if not _shares(name) and not _is_there(SCENARIOS[name].begins_with)]:
        _say(f"SKIPPED {', '.join(gone)}: the commit that it begins with is not in this repository.")
        names = [name for name in names if name not in gone]
    elsewhere = [name for name in names if SCENARIOS[name].elsewhere]
    if elsewhere and (missing := what_is_missing()):
        _say(f"SKIPPED {', '.join(elsewhere)}: there can be no other machine here, because {missing}.")
        return [name for name in names if name not in elsewhere], False
    return names, bool(elsewhere)


def _is_there(commit: str | None) -> bool:
    try:
        return bool(commit_of(commit or ""))
    except ValueError:
        return False


_HEAD = f"{'scenario':<22} {'#':>2} {'calls':>6} {'503':>5} {'lost':>5} {'slowest':>8} {'decided':>8} {'at rest':>8}"


def _told(name: str, number: int, finding: Finding) -> str:
    decided, rested = (
        f"{after:.1f} s" if after is not None else "never" for after in (finding.decided_after, finding.rested_after)
    )
    line = (
        f"{name:<22} {number:>2} {finding.calls:>6} {finding.unavailable:>5} {finding.lost:>5} "
        f"{finding.slowest:>6.2f} s {decided:>8} {rested:>8}  {'BROKEN' if finding.broken else 'holds'}"
    )
    if not finding.broken:
        return line
    return "\n".join([line, *(f"    {words}" for words in [*finding.plan.in_words(), *finding.broken])])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", help="of an earlier run, to do the same again")
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS), help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=1, help="of each scenario (default 1)")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

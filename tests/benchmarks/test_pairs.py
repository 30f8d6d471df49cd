"""What a comparison of two commits says, and the tree that the other commit is checked out into."""

import subprocess
from typing import cast

import pytest

from tests.benchmarks.figures import Figure
from tests.benchmarks.pairs import Measure, Pairs, measured_in_turn
from tests.benchmarks.service import Effort, Service
from tests.support.trees import ROOT, checked_out, commit_of

_EFFORT = Effort(rounds=1, seconds=1, crowd=1)


def test_a_rate_is_compared_as_it_is_and_a_time_the_other_way_round() -> None:
    assert Pairs(measure="calls", unit="/s", base=[100.0], this=[150.0]).ratio == pytest.approx(1.5)
    assert Pairs(measure="a call", unit="ms", base=[30.0], this=[20.0]).ratio == pytest.approx(1.5)
    assert Pairs(measure="lateness", unit="s", base=[0.0], this=[0.0]).ratio == 1


@pytest.mark.parametrize(
    ("this", "holds"),
    [
        ([97.0, 97.0, 97.0], True),  # the median is enough
        ([90.0, 96.0, 99.0], False),
        ([50.0, 60.0, 100.0], True),  # what differs so much among itself shows no loss
        ([101.0, 130.0, 160.0], True),
    ],
)
def test_a_median_of_97_percent_holds_and_so_does_a_range_that_includes_one(this: list[float], *, holds: bool) -> None:
    assert Pairs(measure="calls", unit="/s", base=[100.0] * 3, this=this).holds is holds


def test_each_pair_is_of_both_commits_and_the_other_one_comes_first_every_second_time() -> None:
    class Fake:
        def __init__(self, speed: float) -> None:
            self.speed = speed

        def settle(self) -> None:
            order.append(self.speed)

    def measure(service: Service, effort: Effort) -> list[Figure]:
        return [Figure(measure="calls", value=cast("Fake", service).speed, unit="/s")]

    order: list[float] = []
    measures: list[Measure] = [measure]
    base, this = cast("Service", Fake(1.0)), cast("Service", Fake(2.0))
    ((pairs,),) = measured_in_turn(measures, base=base, this=this, effort=_EFFORT, number=3)
    assert (pairs.base, pairs.this, order) == ([1.0] * 3, [2.0] * 3, [1.0, 2.0, 2.0, 1.0, 1.0, 2.0])


def test_the_other_commit_has_a_tree_of_its_own_which_is_removed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    commit = commit_of("HEAD")
    with checked_out(commit) as tree:
        assert tree.root != ROOT
        assert (tree.root / "Procfile").exists()
        assert str(tree.root) in _worktrees()
    assert not tree.root.exists()
    assert str(tree.root) not in _worktrees()


def test_what_is_no_commit_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'nowhere' is no commit of this repository"):
        commit_of("nowhere")


def _worktrees() -> str:
    return subprocess.run(["git", "worktree", "list"], cwd=ROOT, check=True, capture_output=True, text=True).stdout

"""What an expression may take: it is stopped in time, what is small is not, and nobody takes all."""

from collections import deque
from contextlib import suppress
from itertools import repeat

import pytest

from engage.process.budget import CALL, ITEM, LONGEST, TURN, Budget, OverBudget, Thirds, current, for_many, third
from tests.support.slow_machine import SlowMachine, slow_machine

LOOK = 256


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> SlowMachine:
    return slow_machine(monkeypatch)


def work(budget: Budget, looks: int) -> None:
    budget.begin()
    for _ in range(looks):
        budget.spend(LOOK)


def small(budget: Budget) -> None:
    budget.begin().spend(20)


def use_up(budget: Budget) -> None:
    with pytest.raises(OverBudget):
        work(budget, 10_000)


def test_what_takes_too_long_is_stopped_with_the_figure(machine: SlowMachine) -> None:
    with pytest.raises(OverBudget) as over, Budget(TURN):
        work(current(), 10_000)
    assert machine.seconds < 1.5 * TURN
    assert str(over.value.of("steps[2].if")) == "steps[2].if takes more than 100 ms of processor time."
    assert over.value.place == "steps[2].if"


def test_what_is_small_costs_no_look_and_never_fails(machine: SlowMachine) -> None:
    with Budget(TURN) as budget:
        for _ in range(1000):
            small(budget)
        use_up(budget)
        looked = machine.seconds
        for _ in range(100):
            small(budget)
    assert looked == machine.seconds
    with pytest.raises(OverBudget):  # but together they are not endless
        deque(map(small, repeat(budget, 1_000_000)), maxlen=0)


def test_what_goes_by_between_expressions_is_nobodys(machine: SlowMachine) -> None:
    with Budget(TURN) as budget:
        for _ in range(50):
            machine.seconds += 60
            work(budget, 1)
    assert budget.spent < TURN


def test_nobody_takes_more_than_a_third_and_all_draw_from_the_same() -> None:
    with Budget(CALL) as call:
        for number, left in ((1, 0.2), (2, 0.1), (3, 0.0)):
            with third() as share:
                use_up(share)
            assert call.left == pytest.approx(left, abs=0.03), number
        with third() as share:
            use_up(share)
        assert share.spent < 0.03


def test_where_workspaces_share_a_batch_none_takes_all_from_the_others() -> None:
    with for_many(1) as batch:
        thirds = Thirds(["acme", "rival"])
        for journey in ("a", "b", "c", "d"):
            with thirds.of("acme", journey), suppress(OverBudget):
                work(current(), 10_000)
        assert batch.left > CALL / 2
        with thirds.of("rival", "x") as theirs:
            work(theirs, 3)


def test_a_call_for_many_has_time_for_each_but_not_endlessly() -> None:
    with Budget(CALL) as call:
        with for_many(100):
            assert call.left == pytest.approx(CALL + 100 * ITEM)
        with for_many(100_000):
            assert call.left == LONGEST
    with for_many(10) as alone:
        assert alone.limit == CALL + 10 * ITEM
    assert current().limit == TURN

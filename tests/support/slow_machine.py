"""A machine on which a tenant's expression is slow: each look at the clock finds a hundredth of a second gone."""

import pytest

from engage.process import budget

SECONDS = 0.01


class SlowMachine:
    """The processor time of what spends from budgets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += SECONDS
        return self.seconds


def slow_machine(monkeypatch: pytest.MonkeyPatch) -> SlowMachine:
    clock = SlowMachine()
    monkeypatch.setattr(budget, "thread_time", clock)
    return clock

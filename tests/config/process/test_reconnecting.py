"""A worker whose connections to Redis are lost at once connects ever more rarely."""

import time
from types import SimpleNamespace

import pytest
from celery import bootsteps

from config.process.reconnecting import PauseBeforeConnecting


def test_the_pause_grows_until_a_connection_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    running = SimpleNamespace(blueprint=SimpleNamespace(state=bootsteps.RUN))  # type: ignore[attr-defined]
    step = PauseBeforeConnecting(running)
    for lasts in (60.0, 0.1, 0.1, 0.1, 0.1, 0.1, 60.0, 0.1):
        now += lasts
        step.stop(running)
    assert pauses == [0, 1, 2, 4, 8, 10, 0, 1]
    step.stop(SimpleNamespace(blueprint=SimpleNamespace(state=bootsteps.CLOSE)))  # type: ignore[attr-defined]
    assert len(pauses) == 8  # a worker that ends does so at once

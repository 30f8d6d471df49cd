"""Background calls run soon, in a thread of their own, and one run serves all who asked before it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
import structlog

from engage.redis.background import BackgroundCall
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

_LONG = 60.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Whoever runs waits here; opened at the end at the latest."""
    opened = threading.Event()
    yield opened
    opened.set()


def test_a_background_call_runs_at_once_and_not_in_the_thread_that_asks() -> None:
    ran: list[tuple[str, int]] = []
    call = BackgroundCall[str](lambda order: ran.append((order, threading.get_ident())), rest_seconds=_LONG)
    call.ask("first")
    wait_until(lambda: bool(ran))
    [(order, thread)] = ran
    assert order == "first"
    assert thread != threading.get_ident()


def test_where_no_thread_can_be_made_the_next_who_asks_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ran: list[int] = []
    call = BackgroundCall[int](ran.append, rest_seconds=0)
    with monkeypatch.context() as patched, structlog.testing.capture_logs() as lines:
        patched.setattr(threading.Thread, "start", refuse)
        call.ask(1)
    assert [line["event"] for line in lines] == ["background_call_without_thread"]
    call.ask(2)
    wait_until(lambda: ran == [2])


def test_who_asks_while_it_runs_is_served_by_the_next_run_and_all_of_them_by_the_same(gate: threading.Event) -> None:
    ran: list[int] = []

    def run(order: int) -> None:
        ran.append(order)
        gate.wait()

    call = BackgroundCall[int](run, rest_seconds=0)
    call.ask(0)
    wait_until(lambda: ran == [0])
    for order in range(1, 5):
        call.ask(order)
    gate.set()
    wait_until(lambda: len(ran) == 2)
    call.run_now()
    assert ran == [0, 1]


def test_what_was_asked_for_is_done_before_the_process_ends() -> None:
    code = """
from engage.redis.background import BackgroundCall
ran = []
call = BackgroundCall(lambda order: (ran.append(order), print(order, flush=True)), rest_seconds=60)
call.ask("first")
while not ran:
    pass
call.ask("last")
"""
    ended = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.split() == ["first", "last"]


def test_it_rests_between_two_runs() -> None:
    ran: list[float] = []
    call = BackgroundCall[int](lambda _: ran.append(time.monotonic()), rest_seconds=0.2)
    call.ask(1)
    wait_until(lambda: len(ran) == 1)
    call.ask(2)
    wait_until(lambda: len(ran) == 2)
    assert ran[1] - ran[0] >= 0.2


def test_what_was_asked_for_can_be_run_now_and_is_then_not_run_again() -> None:
    ran: list[str] = []
    call = BackgroundCall[str](ran.append, rest_seconds=_LONG)
    call.ask("first")
    wait_until(lambda: ran == ["first"])
    call.ask("second")
    call.run_now()
    call.run_now()
    assert ran == ["first", "second"]


def test_one_that_fails_is_told_and_keeps_nobody_from_the_next() -> None:
    ran: list[str] = []

    def run(order: str) -> None:
        if order == "bad":
            raise ValueError(order)
        ran.append(order)

    call = BackgroundCall[str](run, rest_seconds=0)
    with structlog.testing.capture_logs() as lines:
        call.ask("bad")
        wait_until(lambda: bool(lines))
    call.ask("good")
    wait_until(lambda: ran == ["good"])
    assert [line["event"] for line in lines] == ["background_call_failed"]


def test_a_forked_process_leaves_to_its_parent_what_was_asked_of_it(gate: threading.Event) -> None:
    ran: list[str] = []

    def run(order: str) -> None:
        ran.append(order)
        if order == "first":
            gate.wait()

    call = BackgroundCall[str](run, rest_seconds=0)
    call.ask("first")
    wait_until(lambda: ran == ["first"])
    call.ask("second")
    child = os.fork()
    if child == 0:
        try:
            call.run_now()
            call.ask("own")
            wait_until(lambda: ran == ["first", "own"])
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.set()
    wait_until(lambda: ran == ["first", "second"])

"""The Procfile's processes, with small programs in their place."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import ROOT
from config.local.processes import ProcessEnded, Processes
from tests.support.processes import environment
from tests.support.waiting import wait_until

LAUNCHER = """
import os, pathlib, sys, time
from config.local.processes import Processes
Processes().start(procfile=pathlib.Path(sys.argv[1]), environment=os.environ)
time.sleep(60)
"""

TESTS = """
import os, pathlib, signal, sys, time
import django
django.setup()
from tests.support.processes import SCHEDULER, celery
folder = pathlib.Path(sys.argv[1])
with celery(*SCHEDULER, log=folder / "beat.log") as scheduler:
    os.killpg(scheduler.pid, signal.SIGSTOP)
    (folder / "pid").write_text(str(scheduler.pid))
    time.sleep(60)
"""


@pytest.fixture
def processes() -> Iterator[Processes]:
    started = Processes()
    yield started
    started.stop(within=0)


def start(processes: Processes, folder: Path, *lines: str) -> None:
    procfile = folder / "Procfile"
    procfile.write_text("# how it runs\n\n" + "\n".join(lines) + "\n")
    processes.start(procfile=procfile, environment={**os.environ, "GREETING": "hello"})


def appeared(path: Path) -> str:
    wait_until(lambda: path.exists() and path.read_text() != "", what=path.name)
    return path.read_text()


def test_each_line_shows_whose_it_is_and_commands_no_terminal(
    processes: Processes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is said as an error, too, and what is no text."""
    (tmp_path / "line").write_text("a\x1b[2J\x9bb\u202e\n")
    web, walk = "web: sh -c 'echo $GREETING; exec sleep 60'", "walk: sh -c 'cat line; exec sleep 60'"
    start(processes, tmp_path, web, "worker: sh -c 'printf \"ready \\377\\n\" >&2; exec sleep 60'", walk)
    seen = ""
    deadline = time.monotonic() + 10
    while seen.count("\n") < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
        seen += capfd.readouterr().out
    assert sorted(seen.split("\n")[:3]) == [
        r"walk   | a\x1b[2J\x9bb\u202e", "web    | hello", "worker | ready \ufffd",
    ]  # fmt: skip
    processes.check()


def test_one_that_ends_is_named(processes: Processes, tmp_path: Path) -> None:
    start(processes, tmp_path, "web: sleep 60", "worker: sh -c 'exit 3'")
    time.sleep(0.2)
    with pytest.raises(ProcessEnded, match=r"worker ended \(exit code 3\)"):
        processes.check()


def test_only_the_first_process_is_asked_to_stop_and_it_may_take_its_time(processes: Processes, tmp_path: Path) -> None:
    child = "trap 'echo torn >> said' TERM; sleep 0.5; echo done >> said"
    parent = f"trap 'echo asked > said; wait' TERM; sh -c \"{child}\" & echo $! > started; wait"
    (tmp_path / "parent").write_text(parent)
    start(processes, tmp_path, "worker: sh parent")
    appeared(tmp_path / "started")
    processes.stop(within=10)
    assert (tmp_path / "said").read_text() == "asked\ndone\n"


def test_what_does_not_stop_is_killed_with_its_children(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "stubborn").write_text("trap '' TERM; sleep 60 & echo $! > child; wait; sleep 60")
    start(processes, tmp_path, "worker: sh stubborn")
    child = int(appeared(tmp_path / "child"))
    assert os.getsid(child) != os.getsid(0)  # a Ctrl-C in our terminal does not reach it
    began = time.monotonic()
    processes.stop(within=0.2)
    assert time.monotonic() - began < 10
    time.sleep(0.1)
    assert not alive(child)


def test_all_together_have_no_more_than_the_time_to_stop(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "stubborn").write_text("trap '' TERM; echo ready > $1; while :; do sleep 0.1; done")
    names = ["one", "two", "three"]
    start(processes, tmp_path, *(f"{name}: sh stubborn {name}" for name in names))
    for name in names:
        appeared(tmp_path / name)
    began = time.monotonic()
    processes.stop(within=0.5)
    assert 0.5 <= time.monotonic() - began < 1.4  # and not half a second for each


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="a tool of Linux")
def test_none_outlives_a_launcher_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "Procfile").write_text("web: sh -c 'echo $$ > pid; exec sleep 60'\n")
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, tmp_path / "Procfile"], cwd=ROOT)
    web = int(appeared(tmp_path / "pid"))
    assert alive(web)
    launcher.kill()
    launcher.wait()
    deadline = time.monotonic() + 10
    while alive(web) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(web)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="a tool of Linux")
def test_a_scheduler_that_stands_still_does_not_outlive_tests_that_are_killed(tmp_path: Path) -> None:
    tests = subprocess.Popen([sys.executable, "-c", TESTS, tmp_path], cwd=ROOT, env=environment())
    scheduler = int(appeared(tmp_path / "pid"))
    assert alive(scheduler)
    tests.kill()
    tests.wait()
    wait_until(lambda: not alive(scheduler), what="the scheduler's end")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

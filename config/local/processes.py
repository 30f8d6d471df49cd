"""The Procfile's processes as one unit: started, shown and stopped together.

Each gets its own session, so a Ctrl-C in the terminal does not reach it. To stop one, only its first process is
signalled: it knows how to end its own children, whereas a signal to all of them would abort tasks in flight.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TextIO

import redis

from engage.notations.terminal import printable

_LINE = re.compile(r"^([\w-]+):\s*(\S.*)$", re.MULTILINE)


def commands(procfile: Path) -> dict[str, str]:
    """The Procfile's commands by name."""
    return dict(_LINE.findall(procfile.read_text()))


def workers(procfile: Path) -> int:
    """How many of the Procfile's processes are workers."""
    return sum(" worker " in command for command in commands(procfile).values())


def listening_workers(client: redis.Redis) -> int:
    """How many workers wait for messages in the client's database, each with Redis's command BRPOP."""
    database = str(client.get_connection_kwargs().get("db", 0))
    return sum(peer["cmd"] == "brpop" and peer["db"] == database for peer in client.client_list())


class ProcessEnded(Exception):
    """A process ended before it was told to stop."""


class Processes:
    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[Thread] = []

    def start(self, *, procfile: Path, environment: Mapping[str, str], extra: Mapping[str, str] | None = None) -> None:
        """Starts the Procfile's commands and the extra ones."""
        started = {**commands(procfile), **(extra or {})}
        width = max(map(len, started))
        for name, command in started.items():
            process = subprocess.Popen(
                [*with_us(), "/bin/sh", "-c", f"exec {command}"],  # a signal reaches the program, not a shell
                cwd=procfile.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running[name] = process
            reader = Thread(target=_show, args=(process.stdout, name.ljust(width)), daemon=True)
            reader.start()
            self._readers.append(reader)

    def check(self) -> None:
        """Raises ProcessEnded if a process has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessEnded(f"{name} ended (exit code {process.returncode}); what it said stands above.")

    def at_work(self) -> bool:
        """Whether one of them, or of what they have started, uses the processor or the disk now, or waits for them.

        True where nobody can tell: elsewhere than on Linux.
        """
        states = [_state(one) for one in Path("/proc").glob("[0-9]*/stat")]
        own = {process.pid for process in self._running.values()}
        return not states or any(session in own and state in "RD" for session, state in states)

    def stop(self, *, within: float) -> None:
        """Terminates all, waits `within` seconds at most, then kills what is left."""
        deadline = time.monotonic() + within
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(deadline - time.monotonic())
        for process in self._running.values():
            with suppress(ProcessLookupError):  # the usual case: its whole session has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for reader in self._readers:
            reader.join(timeout=1)


def with_us(number: signal.Signals = signal.SIGTERM) -> list[str]:
    """A command prefix that stops it by that signal even if this process is killed; empty without Linux's setpriv."""
    return ["setpriv", "--pdeathsig", number.name.removeprefix("SIG"), "--"] if shutil.which("setpriv") else []


def _state(stat: Path) -> tuple[int, str]:
    """The session of a process, and whether it runs (R), waits for the disk (D) or for something else."""
    try:
        state, _, _, session, *_ = stat.read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return 0, "Z"
    return int(session), state


def _show(output: TextIO, prefix: str) -> None:
    with output:
        for line in output:
            sys.stdout.write(f"{prefix} | {printable(line.rstrip())}\n")
            sys.stdout.flush()

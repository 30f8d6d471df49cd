"""The Procfile's processes, several of each, in process groups of their own, so that one can be killed whole."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from config.local import processes
from tests.chaos.servers import children_of
from tests.support.receiver import free_port
from tests.support.trees import ROOT
from tests.support.waiting import wait_until

LANES = ("worker", "bulk", "walk", "webhooks")
TWO_OF_EACH = dict.fromkeys(("web", *LANES, "scheduler"), 2)
LOOPBACK = "127.0.0.1"
_STOP_SECONDS = 30.0


@dataclass
class Member:
    """One process of the fleet with its children: `worker-1`."""

    name: str
    command: str
    environment: dict[str, str]
    log: Path
    running: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    root: Path = ROOT  # the checkout whose code it runs
    odd: bool = False  # started otherwise than the Procfile says
    host: str = LOOPBACK  # where a web server listens

    @property
    def port(self) -> int:
        return int(self.environment["PORT"])

    @property
    def lives(self) -> bool:
        return self.running is not None and self.running.poll() is None

    def start(self, command: str | None = None, **changes: str) -> None:
        """As the Procfile says; or with another command, or these changes to its environment, this once."""
        self.odd = command is not None or bool(changes)
        self.host = changes.get("HOST", LOOPBACK)
        with self.log.open("ab") as output:
            self.running = subprocess.Popen(
                [*processes.with_us(), "/bin/sh", "-c", f"exec {command or self.command}"],
                cwd=self.root, env=self.environment | _path_of(self.root) | changes,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def stop(self) -> int:
        """Asks it to finish what it has in flight; its exit code, -9 where it did not end."""
        if self.running is None:
            return 0
        self.running.terminate()
        try:
            return self.running.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.running.pid, signal.SIGKILL)
            return self.running.wait()

    def kill(self) -> None:
        """`kill -9` of the whole group."""
        if self.running is not None and self.lives:
            os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()

    def children(self) -> list[int]:
        return [] if self.running is None else children_of(self.running.pid)

    def pids(self) -> list[int]:
        """Its own first."""
        return [] if self.running is None else [self.running.pid, *self.children()]

    def answers(self) -> bool:
        """Whether it serves: its socket is there some seconds before."""
        try:
            with urlopen(f"http://{self.host}:{self.port}/livez", timeout=5):
                return True
        except OSError:
            return False


class Fleet:
    """All members, by name."""

    def __init__(
        self, environment: Mapping[str, str], *, logs: Path, numbers: Mapping[str, int], root: Path = ROOT
    ) -> None:
        """`numbers`: how many of each kind; `root`: the checkout whose code they run."""
        self.members: dict[str, Member] = {}
        commands = processes.commands(root / "Procfile")
        for kind, command in commands.items():
            for place in range(1, numbers[kind] + 1):
                name = f"{kind}-{place}"
                own = {**environment, "PORT": str(free_port()), "TMPDIR": str(logs)}  # a killed one does not tidy up
                self.members[name] = Member(name, command, own, logs / f"{name}.log", root=root)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def workers(self) -> int:
        """How many should listen for messages."""
        return sum(name.partition("-")[0] in LANES for name in self.members)

    def of_kind(self, kind: str) -> list[Member]:
        """All members of a process of the Procfile."""
        return [member for member in self.members.values() if member.name.rpartition("-")[0] == kind]

    @property
    def webs(self) -> list[Member]:
        return [member for member in self.members.values() if member.name.startswith("web-")]

    def start(self) -> None:
        """Starts those that do not run as they should, and waits until the web servers answer."""
        for member in self.members.values():
            if member.odd:
                member.kill()
            if not member.lives:
                member.start()
        for member in self.webs:
            wait_until(member.answers, what=member.name)

    def kill(self) -> None:
        """`kill -9` of all."""
        for member in self.members.values():
            member.kill()

    def end(self) -> None:
        """Asks all to end, then kills what is left."""
        living = [member.running for member in self.members.values() if member.running and member.lives]
        for process in living:
            process.terminate()
        for process in living:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _path_of(root: Path) -> dict[str, str]:
    """With what the checkout depends on first; this one's may be elsewhere."""
    here = Path(sys.executable).parent if root == ROOT else root / ".venv" / "bin"
    return {"PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}"}

"""Processor time, from /proc: of a process with all that came of it, and of PostgreSQL's by whom it works for."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.benchmarks.service import Service

_Done = TypeVar("_Done")
_TICK = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """The process and all that come of it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended just now
        return []
    return [pid, *(descendant for child in children for descendant in family(int(child)))]


def seconds(pid: int) -> float:
    """User and system time of the whole family, with those that have ended: what these used is in their parents."""
    return sum(sum(_times(member)) for member in family(pid))


def _times(pid: int) -> tuple[float, float]:
    """Its own, and that of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0.0
    own, ended = (int(fields[11]) + int(fields[12])), (int(fields[13]) + int(fields[14]))
    return own / _TICK, ended / _TICK


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Seconds since the start: of the Procfile's processes, of all of PostgreSQL, and of its sessions."""

    processes: Mapping[str, float]
    postgresql: float
    sessions: Mapping[tuple[str, int], float]  # by whose they are, and their process

    def until(self, later: "Reading") -> "Spent":
        by_name: dict[str, float] = {}
        for (name, pid), spent in later.sessions.items():
            by_name[name] = by_name.get(name, 0.0) + spent - self.sessions.get((name, pid), 0.0)
        return Spent(
            processes={name: spent - self.processes[name] for name, spent in later.processes.items()},
            postgresql=later.postgresql - self.postgresql,
            sessions=by_name,
        )


@dataclass(frozen=True, kw_only=True)
class Spent:
    processes: Mapping[str, float]
    postgresql: float
    sessions: Mapping[str, float]  # by whose they are; "" is who measures

    def by(self, *names: str) -> dict[str, float]:
        """Of these processes, and what PostgreSQL spent for them.

        What nobody's session spent (log, checkpoints, vacuum) is divided as the sessions' time is.
        """
        served = sum(spent for name, spent in self.sessions.items() if name)
        share = sum(self.sessions.get(name, 0.0) for name in names) / served if served else 1.0
        whole = self.postgresql - self.sessions.get("", 0.0)
        return {name: self.processes[name] for name in names} | {"postgresql": whole * share}


def reading(service: Service) -> Reading:
    """Sessions are told apart by PGAPPNAME, with which the service's processes are started."""
    asked = "SELECT CASE WHEN datname = current_database() THEN application_name ELSE '' END, pid FROM pg_stat_activity"
    sessions = service.connection.execute(f"{asked} WHERE backend_type = 'client backend'").fetchall()
    own = int(service.one("SELECT pg_backend_pid()"))
    first = int(Path(f"/proc/{own}/stat").read_text().rpartition(")")[2].split()[1])
    return Reading(
        processes={name: seconds(pid) for name, pid in service.pids.items()},
        postgresql=seconds(first),
        sessions={(name, pid): _times(pid)[0] for name, pid in sessions},
    )


def spent_by(service: Service, work: Callable[[], _Done]) -> tuple[_Done, Spent]:
    """What the work returned, and the seconds that were spent meanwhile."""
    before = reading(service)
    done = work()
    return done, before.until(reading(service))

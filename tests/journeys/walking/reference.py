"""A small model of what journeys promise, for the state machine to hold the service to.

Two journeys, which the event `stop` ends: `first` is triggered by API and has three versions; `second` is started by
the event `won`, which `first` tracks, and may be entered twice. Time is in hours. Events and calls are numbered as they
come, and each job and each entry knows since which number events count for it. Of what in-app messages report, only
`go` counts.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

LASTS = {"pause": 2, "listen": 3, "sure": 2, "rest": 1}
AWAITS = {"listen": "go", "sure": "yes"}
FROM_BRIDGE = {"go"}
THEN = {"listen": "sure", "sure": "win"}
PAUSE = LASTS["pause"]


def _delay(step_id: str) -> dict[str, Any]:
    return {"id": step_id, "type": "delay", "for": f"PT{LASTS[step_id]}H"}


def _wait(step_id: str) -> dict[str, Any]:
    return {
        "id": step_id, "type": "wait_for_event", "event": AWAITS[step_id], "timeout": f"PT{LASTS[step_id]}H",
        "onEvent": THEN[step_id], "onTimeout": "lose", "fromBridge": AWAITS[step_id] in FROM_BRIDGE,
    }  # fmt: skip


_WIN = {"id": "win", "type": "track_event", "eventName": "won", "next": None}
_LOSE = {"id": "lose", "type": "exit", "reason": "Nobody said so."}
FIRST_VERSIONS: list[list[dict[str, Any]]] = [
    [_delay("pause"), _wait("listen"), _wait("sure"), _WIN, _LOSE],
    [_delay("pause"), _WIN],
    [_wait("listen"), _wait("sure"), _WIN, _LOSE],
]
SECOND: list[dict[str, Any]] = [_delay("rest")]
SECOND_ENTRIES = 2
EXIT_ON = [{"event": "stop", "fromBridge": False}]

JourneyName = Literal["first", "second"]


@dataclass(frozen=True)
class Job:
    """A customer queued for a journey, by the call or event of this number; `id` is "" if an event queued it."""

    customer: str
    journey: JourneyName
    id: str
    number: int


@dataclass
class Entry:
    """An enrollment as the promise has it. `since` is the number of what brought it to its step."""

    customer: str
    journey: JourneyName
    version: int
    step: str
    due: float | None
    since: int
    state: Literal["active", "completed", "exited"] = "active"
    history: list[tuple[str, str]] = field(default_factory=list)
    heard: bool = False  # what it listens for has come

    @property
    def waits_for(self) -> str | None:
        is_waiting = self.history and self.history[-1] == (self.step, "waiting") and not self.heard
        return AWAITS.get(self.step) if is_waiting else None

    def exit(self) -> None:
        self.state, self.due = "exited", None
        if self.history and self.history[-1][1] == "waiting":
            self.history[-1] = (self.history[-1][0], "interrupted")


@dataclass
class Reference:
    """The model: what is queued in order, everybody who ever entered, and what came in which order."""

    now: float = 0.0
    version: int = 0
    queued: list[Job] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    events: list[tuple[str, str, int]] = field(default_factory=list)  # customer, name, number
    _number: int = 0

    def of(self, customer: str, journey: JourneyName) -> list[Entry]:
        return [entry for entry in self.entries if (entry.customer, entry.journey) == (customer, journey)]

    def call(self, customer: str, job_id: str) -> None:
        self._number += 1
        self.queued.append(Job(customer, "first", job_id, self._number))

    def decide(self) -> None:
        """Rules 1 to 3 of the interface, job by job; who has said stop meanwhile is out at once."""
        for job in self.queued:
            past = self.of(job.customer, job.journey)
            active = [entry for entry in past if entry.state == "active"]
            completed = sum(entry.state == "completed" for entry in past)
            if job.journey == "first" and (active or completed):
                continue
            if job.journey == "second" and completed >= SECOND_ENTRIES:
                continue
            for entry in active:
                entry.exit()
            version = self.version if job.journey == "first" else 0
            step = FIRST_VERSIONS[version][0]["id"] if job.journey == "first" else "rest"
            entry = Entry(job.customer, job.journey, version, step, due=self.now, since=job.number)
            if self._first_since(entry, "stop"):
                entry.exit()
            self.entries.append(entry)
        self.queued = []

    def _first_since(self, entry: Entry, name: str) -> int | None:
        """The number of the first such event since what brought the entry to its step."""
        numbers = (number for who, what, number in self.events if (who, what) == (entry.customer, name))
        return next((number for number in numbers if number > entry.since), None)

    def work(self) -> None:
        """All that there is to do: who walks may track events that start the other journey."""
        while self.queued or any(entry.due is not None and entry.due <= self.now for entry in self.entries):
            self.decide()
            self.walk()

    def walk(self) -> None:
        for entry in [entry for entry in self.entries if entry.state == "active"]:
            while entry.state == "active" and entry.due is not None and entry.due <= self.now:
                self._step(entry)

    def _step(self, entry: Entry) -> None:
        """One stop of one enrollment: a wait begins, or one is over."""
        if not entry.history or entry.history[-1] != (entry.step, "waiting"):
            self._begin(entry, at_once=True)
            return
        entry.history[-1] = (entry.step, "done")
        heard, entry.heard = entry.heard, False
        match entry.step:
            case "rest":
                entry.state, entry.due = "completed", None
            case "pause":
                entry.step = FIRST_VERSIONS[entry.version][1]["id"]
                self._begin(entry)
            case over:
                entry.step = THEN[over] if heard else "lose"
                self._begin(entry, at_once=heard)

    def _begin(self, entry: Entry, *, at_once: bool = False) -> None:
        """`at_once`: it is the first step, or directly follows a wait that an event ended."""
        match entry.step:
            case "win":
                entry.history.append(("win", "done"))
                entry.state, entry.due = "completed", None
                self.event(entry.customer, "won")
            case "lose":
                entry.history.append(("lose", "done"))
                entry.state, entry.due = "exited", None
            case step if at_once and (number := self._first_since(entry, AWAITS.get(step, ""))):
                entry.history.append((step, "done"))
                entry.since, entry.step = number, THEN[step]
                self._begin(entry, at_once=True)
            case step:
                entry.history.append((step, "waiting"))
                entry.due = self.now + LASTS[step]

    def event(self, customer: str, name: str, *, from_bridge: bool = False) -> None:
        if from_bridge and name not in FROM_BRIDGE:
            return
        self._number += 1
        self.events.append((customer, name, self._number))
        for entry in self.entries:
            if entry.customer != customer or entry.state != "active":
                continue
            if name == "stop":
                entry.exit()
            elif name == entry.waits_for:
                entry.heard, entry.due, entry.since = True, self.now, self._number  # a walker writes that it is over
        if name == "won":
            self.queued.append(Job(customer, "second", "", self._number))

"""A small model of what journeys promise, for the state machine to hold the service to.

Two journeys: `first` is triggered by API and has two versions; `second` is started by the event `won`, which `first`
tracks, and may be entered twice. Time is in hours.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

PAUSE, LISTEN, REST = 2, 3, 1
FIRST_VERSIONS: list[list[dict[str, Any]]] = [
    [
        {"id": "pause", "type": "delay", "for": f"PT{PAUSE}H"},
        {
            "id": "listen", "type": "wait_for_event", "event": "go", "timeout": f"PT{LISTEN}H",
            "onEvent": "win", "onTimeout": "lose",
        },
        {"id": "win", "type": "track_event", "eventName": "won", "next": None},
        {"id": "lose", "type": "exit", "reason": "Nobody said go."},
    ],
    [{"id": "pause", "type": "delay", "for": f"PT{PAUSE}H"}, {"id": "win", "type": "track_event", "eventName": "won"}],
]  # fmt: skip
SECOND: list[dict[str, Any]] = [{"id": "rest", "type": "delay", "for": f"PT{REST}H"}]
SECOND_ENTRIES = 2
EXIT_ON = [{"event": "stop"}]

JourneyName = Literal["first", "second"]


@dataclass
class Entry:
    """An enrollment as the promise has it."""

    customer: str
    journey: JourneyName
    version: int
    state: Literal["active", "completed", "exited"] = "active"
    step: str = ""
    due: float | None = 0.0
    history: list[tuple[str, str]] = field(default_factory=list)
    heard: bool = False  # what it listened for has come

    def exit(self) -> None:
        self.state, self.due = "exited", None
        if self.history and self.history[-1][1] == "waiting":
            self.history[-1] = (self.history[-1][0], "interrupted")


@dataclass
class Reference:
    """The model: what is queued in order, and everybody who ever entered."""

    now: float = 0.0
    version: int = 0
    queued: list[tuple[str, JourneyName, str]] = field(default_factory=list)  # customer, journey, job id or ""
    entries: list[Entry] = field(default_factory=list)

    def of(self, customer: str, journey: JourneyName) -> list[Entry]:
        return [entry for entry in self.entries if (entry.customer, entry.journey) == (customer, journey)]

    def decide(self) -> None:
        """Rules 1 to 3 of the interface, job by job."""
        for customer, journey, _ in self.queued:
            past = self.of(customer, journey)
            active = [entry for entry in past if entry.state == "active"]
            completed = sum(entry.state == "completed" for entry in past)
            if journey == "first" and (active or completed):
                continue
            if journey == "second" and completed >= SECOND_ENTRIES:
                continue
            for entry in active:
                entry.exit()
            version = self.version if journey == "first" else 0
            step = FIRST_VERSIONS[version][0]["id"] if journey == "first" else "rest"
            self.entries.append(Entry(customer=customer, journey=journey, version=version, step=step, due=self.now))
        self.queued = []

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
            self._begin(entry)
            return
        entry.history[-1] = (entry.step, "done")
        if entry.step == "rest":
            entry.state, entry.due = "completed", None
        elif entry.step == "pause":
            entry.step = "listen" if entry.version == 0 else "win"
            self._begin(entry)
        else:
            entry.step = "win" if entry.heard else "lose"
            self._begin(entry)

    def _begin(self, entry: Entry) -> None:
        match entry.step:
            case "win":
                entry.history.append(("win", "done"))
                entry.state, entry.due = "completed", None
                self.event(entry.customer, "won")
            case "lose":
                entry.history.append(("lose", "done"))
                entry.state, entry.due = "exited", None
            case waiting:
                entry.history.append((waiting, "waiting"))
                entry.due = self.now + {"pause": PAUSE, "listen": LISTEN, "rest": REST}[waiting]

    def event(self, customer: str, name: str) -> None:
        for entry in self.of(customer, "first"):
            if entry.state != "active":
                continue
            if name == "stop":
                entry.exit()
            elif name == "go" and entry.history and entry.history[-1] == ("listen", "waiting"):
                entry.heard, entry.due = True, self.now  # who walks them on writes that the wait is over
        if name == "won":
            self.queued.append((customer, "second", ""))

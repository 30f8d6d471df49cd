"""What a journey does, as simply as it can be said: days are whole numbers, and nothing is stored, claimed or locked.

Its steps are `day`, a delay of a day, `listen`, which waits a day for `paid`, and `note`; it may be without `listen`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

DAY, LISTEN, NOTE = "day", "listen", "note"
GOAL_DAYS = 3  # within which `paid` is what it is for


class Event(NamedTuple):
    whose: str
    name: str


@dataclass(eq=False, kw_only=True)
class Job:
    """`called`, `due` and `until` are days, `at` is how many events there had been, `exempt` whom its call left out.

    `place` is how what is due at once is decided in turn: calls for one first, else call by call, in its order.
    """

    id: int
    call: str
    place: tuple[bool, int, int]
    whose: str | None
    entrance: str | None
    paid: bool
    called: int
    due: int
    scheduled: bool
    until: int | None
    exempt: frozenset[str]
    at: int
    result: str = ""
    holds: bool = False


@dataclass(eq=False, kw_only=True)
class Watch:
    """The goal of an enrollment, or of one who was held out."""

    whose: str
    until: int
    reached: bool = False


@dataclass(eq=False, kw_only=True)
class Entry:
    job: Job
    apart: str | None
    course: tuple[str, ...]
    step: str = DAY
    began: bool = False
    until: int = 0
    heard: bool = False
    state: str = "active"
    steps: list[str] = field(default_factory=list)

    @property
    def inside(self) -> bool:
        return self.state == "active"


@dataclass(eq=False, kw_only=True)
class Model:
    """`is_drawn` says of whom a share is held out, if nothing was drawn about them before."""

    people: set[str]
    concurrent: bool
    most: int
    again: bool
    is_drawn: Callable[[str], bool]
    holds_out: bool = False
    active: bool = True
    held: bool = False
    aborted: bool = False
    today: int = 0
    course: tuple[str, ...] = (DAY, LISTEN, NOTE)
    merged: dict[str, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    drawn: dict[str, bool] = field(default_factory=dict)

    # How it stands -----------------------------------------------------------------------------------------------

    def who(self, name: str) -> str | None:
        """Whom the name leads to; None if they were erased."""
        while name in self.merged:
            name = self.merged[name]
        return name if name in self.people else None

    def queued(self) -> list[Job]:
        return [job for job in self.jobs if not job.result]

    def of(self, whose: str | None) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.job.whose == whose)

    def holder(self, whose: str | None, entrance: str | None) -> Job | None:
        return next((job for job in self.jobs if job.holds and (job.whose, job.entrance) == (whose, entrance)), None)

    # What happens by itself --------------------------------------------------------------------------------------

    def call(self, job: Job) -> None:
        job.holds = job.entrance is not None and self.holder(job.whose, job.entrance) is None
        self.jobs.append(job)

    def decide(self) -> None:
        """What is due, in turn."""
        for job in sorted(self.queued(), key=lambda one: one.place):
            if job.due <= self.today:
                job.result = self._result(job)
                job.holds = job.result == "enrolled" and job.entrance is not None

    def _result(self, job: Job) -> str:
        if job.whose is None:
            return "customer_deleted"
        if job.until is not None and job.until <= self.today:
            return "expired"
        if not self.active:
            return "journey_inactive"
        if self.holder(job.whose, job.entrance) not in (None, job):
            return "duplicate_entrance"
        apart = job.entrance if self.concurrent else None
        past = [entry for entry in self.of(job.whose) if not self.concurrent or entry.apart == apart]
        inside = [entry for entry in past if entry.inside]
        completed = sum(entry.state == "completed" for entry in past)
        if self.most > 1 and completed >= self.most:
            return "max_entries_reached"
        if self.most == 1 and (inside or (completed and not self.again)):
            return "already_enrolled"
        if not job.paid:
            return "conditions_not_met"
        if self.holds_out and self._is_held_out(job.whose):
            self.watches.append(Watch(whose=job.whose, until=self.today + GOAL_DAYS))
            return "held_out"
        for entry in inside:
            entry.state = "exited"
        left = any(event == (job.whose, "left") for event in self.events[job.at :])
        self.watches.append(Watch(whose=job.whose, until=self.today + GOAL_DAYS))
        self.entries.append(Entry(job=job, apart=apart, course=self.course, state="exited" if left else "active"))
        return "enrolled"

    def _is_held_out(self, whose: str) -> bool:
        if whose not in self.drawn:
            self.drawn[whose] = not any(self.of(whose)) and self.is_drawn(whose)
        return self.drawn[whose]

    def walk(self) -> None:
        for entry in self.entries:
            while entry.inside and not self.held and self._steps(entry):
                pass

    def _steps(self, entry: Entry) -> bool:
        """Whether it goes on at once; of a late start the first wait alone counts from when that was due."""
        if not entry.began:
            entry.steps.append(entry.step)
            late = entry.job.scheduled and len(entry.steps) == 1
            entry.until = (max(entry.job.due, entry.job.called) if late else self.today) + 1
            entry.began, entry.heard = entry.step != NOTE, False
        if entry.began and not entry.heard and entry.until > self.today:
            return False
        following = entry.course[entry.course.index(entry.step) + 1 :]
        entry.state, entry.step, entry.began = (
            ("active", following[0], False) if following else ("completed", "", False)
        )
        return True

    # What is done about it ---------------------------------------------------------------------------------------

    def happens(self, event: Event) -> None:
        self.events.append(event)
        if event.name == "paid":
            for watch in self.watches:
                watch.reached |= watch.whose == event.whose and self.today < watch.until
        for entry in self.of(event.whose):
            if event.name == "left" and entry.inside:
                entry.state = "exited"
            entry.heard |= event.name == "paid" and entry.began and entry.step == LISTEN

    def cancel(self, jobs: list[Job], result: str = "cancelled") -> int:
        """Those that are queued; how many."""
        open_ = [job for job in jobs if not job.result]
        for job in open_:
            job.result, job.holds = result, False
        return len(open_)

    def exit(self, which: Callable[[Entry], bool]) -> int:
        leaving = [entry for entry in self.entries if entry.inside and which(entry)]
        for entry in leaving:
            entry.state = "exited"
        return len(leaving)

    def abort(self) -> None:
        self.active, self.aborted, self.held = False, True, False
        self.exit(lambda _: True)
        self.cancel(self.jobs, "journey_inactive")

    def move(self, course: tuple[str, ...]) -> None:
        self.course = course
        for entry in self.entries:
            if entry.inside and entry.step in course:
                entry.course = course

    def erase(self, whose: str) -> None:
        self.people.discard(whose)
        self.entries = [entry for entry in self.entries if entry.job.whose != whose]
        self.watches = [watch for watch in self.watches if watch.whose != whose]
        for job in self.jobs:
            if job.whose == whose:
                job.whose, job.entrance, job.holds = None, None, False

    def merge(self, whose: str, into: str) -> None:
        jobs, entries = [job for job in self.jobs if job.whose == whose], list(self.of(whose))
        if whose in self.drawn and into not in self.drawn and not any(self.of(into)):
            self.drawn[into] = self.drawn[whose]
        taken = {job.entrance for job in self.jobs if job.holds and job.whose == into}
        for job in jobs:
            if job.entrance in taken or into in job.exempt:
                self.cancel([job])
            same = [one for one in self.jobs if (one.call, one.entrance) == (job.call, job.entrance)]
            same = [one for one in same if one.whose in (whose, into)]
            stays = min(
                same, key=lambda one: (one.result != "enrolled", one.result == "cancelled", one.whose != into, one.id)
            )
            self.cancel([one for one in same if one is not stays])
        for job in jobs:
            job.holds &= self.holder(into, job.entrance) is None
            job.whose = into
        for entry in entries:
            others = [other for other in self.of(into) if other not in entries]
            both = any(other.inside and other.apart == entry.apart for other in others)
            if entry.inside and (both or self.holder(into, entry.job.entrance) not in (None, entry.job)):
                entry.state = "exited"
        for watch in self.watches:
            watch.whose = into if watch.whose == whose else watch.whose
        self.events = [event._replace(whose=into if event.whose == whose else event.whose) for event in self.events]
        self.people.discard(whose)
        self.merged[whose] = into

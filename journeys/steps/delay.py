"""`delay`: the customer waits for a duration, until a time of day, or until an instant, which may be templated.

`{"id": "wait", "type": "delay", "for": "P1D"}`, `{…, "until": "09:00", "timezone": "Europe/Berlin", "days": ["mo"]}`,
`{…, "at": "{{ api.payload.departs_at }}", "offset": "-P2D", "onMissing": "exit"}`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import ClassVar, Literal, Self

from engage.json.documents import Part, Reading
from engage.json.durations import LONGEST, InvalidDuration, duration_in_words, parse_offset
from journeys.rendering import Rendering
from journeys.steps.context import StepContext
from journeys.steps.durations import LEAST_WAIT, read_duration
from journeys.steps.kinds import EXITED, Kind, Way, way
from journeys.steps.moments import Zone, parse_moment, read_zone
from journeys.steps.results import Ended, GoTo, Resumption, StepFailed, StepResult, Wait, in_words, step_record
from journeys.steps.templated import TemplatedText, read_text, render_text
from journeys.steps.times_of_day import InvalidTime, next_time, parse_time
from journeys.steps.written import WrittenStep

_LONGEST_TEXT = 100
_DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")


@dataclass(frozen=True, kw_only=True)
class FixedTime:
    """`for`: a fixed duration."""

    duration: timedelta

    @property
    def paces_loops(self) -> bool:
        return self.duration >= LEAST_WAIT

    @property
    def in_words(self) -> str:
        return duration_in_words(self.duration)

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        return context.now + self.duration, ""


@dataclass(frozen=True, kw_only=True)
class TimeOfDay:
    """`until`: the next time that the zone's clocks show this time, on one of these days (0: Monday)."""

    paces_loops: ClassVar = True

    time: time
    zone: Zone
    days: tuple[int, ...] = ()

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        zone, remark = self.zone.at(context.facts())
        return next_time(self.time, zone, after=context.now, days=self.days), remark

    @property
    def in_words(self) -> str:
        days = f" on {', '.join(_DAYS[day] for day in self.days)}" if self.days else ""
        return f"until {self.time.isoformat('minutes')}{days} ({self.zone.in_words})"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """`at`: the instant that the text renders to, and `offset` before or after it; it may be past."""

    paces_loops: ClassVar = False

    text: str | TemplatedText
    written: str
    zone: Zone = field(default_factory=Zone)
    offset: timedelta = timedelta()

    @property
    def in_words(self) -> str:
        side = "before" if self.offset < timedelta() else "after"
        return f"until {f'{duration_in_words(abs(self.offset))} {side} ' if self.offset else ''}{self.written.strip()}"

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        """Raises StepFailed if the text renders to no instant, or to one more than ten years ahead."""
        zone, remark = self.zone.at(context.facts())
        text = render_text(self.text, rendering).strip()
        moment = parse_moment(text, zone)
        if moment is None:
            given = "no time in ISO 8601" if text else "nothing"
            raise StepFailed(f"Does not wait: at gives {given}.")
        try:
            moment += self.offset
        except OverflowError:
            moment = datetime.min.replace(tzinfo=UTC) if self.offset < timedelta() else datetime.max.replace(tzinfo=UTC)
        if moment - context.now > LONGEST:
            raise StepFailed("Does not wait: at gives a time in more than ten years.")
        return moment, remark


@dataclass(frozen=True, kw_only=True)
class Delay(Kind):
    """Waits as long as `length` says, then goes on to `next` (None: the end). Does not wait for a time that is past.

    Where it cannot be told until when, `on_missing` decides.
    """

    type: ClassVar = "delay"
    does: ClassVar = (
        "Waits so long, until the next such time of day, or until a moment. What is past does not wait. Where at gives "
        "no time, the customer leaves the journey; onMissing continue: goes on."
    )
    examples: ClassVar = (
        {"id": "day", "for": "P1DT2H"},
        {
            "id": "morning",
            "until": "09:00",
            "days": ["mo", "tu", "we", "th", "fr"],
            "timezone": {"from": "customer.timezone", "else": "Europe/Berlin"},
        },
        {"id": "departure", "at": "{{ api.payload.departsAt }}", "offset": "-P2D", "onMissing": "continue"},
    )

    id: str
    next: str | None
    length: FixedTime | TimeOfDay | Moment
    on_missing: Literal["exit", "continue"] = "exit"

    @property
    def paces_loops(self) -> bool:
        return self.length.paces_loops

    @property
    def label(self) -> str:
        return f"Wait {self.length.in_words}"

    def ways(self) -> list[Way]:
        may_leave = isinstance(self.length, Moment) and isinstance(self.length.text, TemplatedText)
        if may_leave and self.on_missing == "exit":
            return [way(self.next, "the time is there"), Way(EXITED, "at gave no time")]
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            due_at, remark = self.length.end(context, rendering)
        except StepFailed as failed:
            record = step_record(self, "failed", failed.detail, missing=rendering.missing)
            return StepResult(step_record=record, then=self._after_failure(failed.detail))
        if due_at <= context.now:
            record = step_record(self, "done", "Does not wait: the time is past.", missing=rendering.missing)
            return StepResult(step_record=record, then=GoTo(step_id=self.next))
        detail = f"Waits until {in_words(due_at)}.{remark}"
        return StepResult(
            step_record=step_record(self, "waiting", detail, missing=rendering.missing),
            then=Wait(step_id=self.id, due_at=due_at),
        )

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        return StepResult(
            step_record=step_record(self, "done", "The wait is over.", resumed=True), then=GoTo(step_id=self.next)
        )

    def _after_failure(self, why: str) -> GoTo | Ended:
        if self.on_missing == "continue":
            return GoTo(step_id=self.next)
        return Ended(step_id=self.id, exited=True, reason=f"The delay {self.id!r} has no time to wait for. {why}")

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(
                optional=["for", "until", "at", "timezone", "days", "offset", "onMissing"], reading=read
            )
            if len(fields.keys() & {"for", "until", "at"}) != 1:
                step.part.refuse("must hold one of for, until and at.")
            for name, beside in _BESIDE.items():
                if name in fields and not fields.keys() & set(beside):
                    read.note(fields[name], f"may stand beside {' and '.join(beside)} only.")
            length = read(lambda: _length(step, fields))
            on_missing = read(lambda: _read_on_missing(fields.get("onMissing")))
        return cls(id=step.id, next=step.next(), length=length, on_missing=on_missing)


# What each other field says something about.
_BESIDE = {"timezone": ("until", "at"), "days": ("until",), "offset": ("at",), "onMissing": ("at",)}


def _read_on_missing(part: Part | None) -> Literal["exit", "continue"]:
    return "continue" if part is not None and part.choice(["exit", "continue"]) == "continue" else "exit"


def _length(step: WrittenStep, fields: dict[str, Part]) -> FixedTime | TimeOfDay | Moment:
    if "for" in fields:
        return FixedTime(duration=read_duration(fields["for"]))
    with Reading() as read:
        if "at" in fields:
            written = read(fields["at"].text)
            text = read(lambda: _read_moment(step, fields["at"]))
            zone = read(lambda: read_zone(step, fields["timezone"])) if "timezone" in fields else Zone()
            offset = read(lambda: read_offset(fields["offset"])) if "offset" in fields else timedelta()
            return Moment(text=text, written=written, zone=zone, offset=offset)
        time_of_day = read(lambda: _read_time(fields["until"]))
        zone = read(lambda: read_zone(step, step.part.field("timezone")))
        days = read(lambda: _read_days(fields["days"])) if "days" in fields else ()
    return TimeOfDay(time=time_of_day, zone=zone, days=days)


def _read_days(part: Part) -> tuple[int, ...]:
    with Reading() as read:
        days = read.each(part.items(at_most=len(_DAYS)), lambda day: _DAYS.index(day.choice(_DAYS)))
    if not days:
        part.refuse("must hold at least one day.")
    return tuple(sorted(set(days)))


def _read_time(part: Part) -> time:
    try:
        return parse_time(part.text(at_most=_LONGEST_TEXT))
    except InvalidTime as invalid:
        part.refuse(str(invalid))


def _read_moment(step: WrittenStep, part: Part) -> str | TemplatedText:
    text = read_text(step, part)
    if isinstance(text, str) and parse_moment(text.strip(), UTC) is None:
        part.refuse("must be a time in ISO 8601 such as 2026-11-20T19:08:00Z, or a template that gives one.")
    return text


def read_offset(part: Part) -> timedelta:
    """The ISO 8601 duration in this part, which may be negative. Refuses anything else."""
    try:
        return parse_offset(part.text(at_most=_LONGEST_TEXT))
    except InvalidDuration as invalid:
        part.refuse(str(invalid))

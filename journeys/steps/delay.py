"""`delay`: the customer waits for a duration, until a time of day, or until an instant, which may be templated.

`{"id": "wait", "type": "delay", "for": "P1D"}`, `{…, "until": "09:00", "timezone": "Europe/Berlin"}`,
`{…, "at": "{{ api.payload.departs_at }}"}`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import ClassVar, Self

from customers.conditions.instants import parse_instant
from engage.json.documents import Part, Reading
from engage.json.durations import LONGEST, InvalidDuration, duration_in_words, parse_duration
from journeys.rendering import Rendering
from journeys.steps.context import StepContext
from journeys.steps.kinds import Kind, Way, way
from journeys.steps.results import GoTo, Resumption, State, StepFailed, StepResult, Wait, in_words, step_record
from journeys.steps.templated import TemplatedText, read_text, render_text
from journeys.steps.times_of_day import InvalidTime, next_time, parse_time, parse_timezone
from journeys.steps.written import WrittenStep

LEAST_WAIT = timedelta(seconds=1)
_LONGEST_TEXT = 100


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

    def end(self, now: datetime, rendering: Rendering) -> datetime:
        return now + self.duration


@dataclass(frozen=True, kw_only=True)
class TimeOfDay:
    """`until`: the next time that the zone's clocks show this time."""

    paces_loops: ClassVar = True

    time: time
    zone: tzinfo
    lost_zone: str | None = None  # the name of a time zone that the machine does not know any more; `zone` is UTC then

    def end(self, now: datetime, rendering: Rendering) -> datetime:
        return next_time(self.time, self.zone, after=now)

    @property
    def in_words(self) -> str:
        return f"until {self.time.isoformat('minutes')} ({self.zone})"

    @property
    def remark(self) -> str:
        """What is to be told beside when the wait ends."""
        return f" In UTC: the time zone {self.lost_zone!r} is not known any more." if self.lost_zone else ""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """`at`: the instant that the text renders to, which may be past."""

    paces_loops: ClassVar = False

    text: str | TemplatedText
    written: str

    @property
    def in_words(self) -> str:
        return f"until {self.written.strip()}"

    def end(self, now: datetime, rendering: Rendering) -> datetime:
        """Raises StepFailed if the text renders to no instant, or to one more than ten years ahead."""
        text = render_text(self.text, rendering).strip()
        moment = parse_instant(text)
        if moment is None:
            given = "no time in ISO 8601" if text else "nothing"
            raise StepFailed(f"Does not wait: at gives {given}.")
        if moment - now > LONGEST:
            raise StepFailed("Does not wait: at gives a time in more than ten years.")
        return moment


@dataclass(frozen=True, kw_only=True)
class Delay(Kind):
    """Waits as long as `length` says, then goes on to `next` (None: the end). Does not wait for a time that is past."""

    type: ClassVar = "delay"
    does: ClassVar = "Waits so long, until the next such time of day, or until a moment. What is past does not wait."
    examples: ClassVar = (
        {"id": "day", "for": "P1DT2H"},
        {"id": "morning", "until": "09:00", "timezone": "Europe/Berlin"},
        {"id": "departure", "at": "{{ api.payload.departsAt }}"},
    )

    id: str
    next: str | None
    length: FixedTime | TimeOfDay | Moment

    @property
    def paces_loops(self) -> bool:
        return self.length.paces_loops

    @property
    def label(self) -> str:
        return f"Wait {self.length.in_words}"

    def ways(self) -> list[Way]:
        return [way(self.next)]

    def begin(self, context: StepContext) -> StepResult:
        rendering = context.rendering()
        try:
            due_at = self.length.end(context.now, rendering)
        except StepFailed as failed:
            return self._go_on("failed", failed.detail, rendering)
        if due_at <= context.now:
            return self._go_on("done", "Does not wait: the time is past.", rendering)
        remark = self.length.remark if isinstance(self.length, TimeOfDay) else ""
        detail = f"Waits until {in_words(due_at)}.{remark}"
        return StepResult(
            step_record=step_record(self, "waiting", detail, missing=rendering.missing),
            then=Wait(step_id=self.id, due_at=due_at),
        )

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        return StepResult(
            step_record=step_record(self, "done", "The wait is over.", resumed=True), then=GoTo(step_id=self.next)
        )

    def _go_on(self, state: State, detail: str, rendering: Rendering) -> StepResult:
        return StepResult(
            step_record=step_record(self, state, detail, missing=rendering.missing), then=GoTo(step_id=self.next)
        )

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        with Reading() as read:
            fields = step.fields(optional=["for", "until", "timezone", "at"], reading=read)
            if len(fields.keys() & {"for", "until", "at"}) != 1:
                step.part.refuse("must hold one of for, until and at.")
            if "timezone" in fields and "until" not in fields:
                read.note(fields["timezone"], "may stand beside until only.")
            length = read(lambda: _length(step, fields))
        return cls(id=step.id, next=step.next(), length=length)


def _length(step: WrittenStep, fields: dict[str, Part]) -> FixedTime | TimeOfDay | Moment:
    if "for" in fields:
        return FixedTime(duration=read_duration(fields["for"]))
    if "at" in fields:
        written = fields["at"].text()
        return Moment(text=_read_moment(step, fields["at"]), written=written)
    return _time_of_day(step, fields["until"], step.part.field("timezone"))


def _time_of_day(step: WrittenStep, until: Part, timezone: Part) -> TimeOfDay:
    with Reading() as read:
        time_of_day = read(lambda: _read_time(until))
        zone, lost_zone = read(lambda: _read_zone(step, timezone)) or (UTC, None)
    return TimeOfDay(time=time_of_day, zone=zone, lost_zone=lost_zone)


def _read_time(part: Part) -> time:
    try:
        return parse_time(part.text(at_most=_LONGEST_TEXT))
    except InvalidTime as invalid:
        part.refuse(str(invalid))


def _read_zone(step: WrittenStep, part: Part) -> tuple[tzinfo, str | None]:
    """The time zone, and its name if the machine does not know it any more: it is UTC then."""
    name = part.text(at_most=_LONGEST_TEXT)
    try:
        return parse_timezone(name), None
    except InvalidTime as invalid:
        if step.stored:  # updates rename and drop time zones, and customers are inside
            return UTC, name
        part.refuse(str(invalid))


def _read_moment(step: WrittenStep, part: Part) -> str | TemplatedText:
    text = read_text(step, part)
    if isinstance(text, str) and parse_instant(text.strip()) is None:
        part.refuse("must be a time in ISO 8601 such as 2026-11-20T19:08:00Z, or a template that gives one.")
    return text


def read_duration(part: Part) -> timedelta:
    """The ISO 8601 duration in this part. Refuses anything else."""
    try:
        return parse_duration(part.text(at_most=_LONGEST_TEXT))
    except InvalidDuration as invalid:
        part.refuse(str(invalid))

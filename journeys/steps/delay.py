"""`delay`: the customer waits for a duration, until a time of day, or until an instant, which may be templated.

`{"id": "wait", "type": "delay", "for": "P1D"}`, `{…, "until": "09:00", "timezone": "Europe/Berlin", "days": ["mo"]}`,
`{…, "at": "{{ api.payload.departs_at }}", "offset": "-P2D", "onMissing": "exit"}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import ClassVar

from engage.json.described import abouts_of, list_of, read_beside, taken_from, told, variants, within, written
from engage.json.documents import Fields, Part, Reading
from engage.json.durations import LONGEST, InvalidDuration, duration_in_words, parse_offset
from engage.json.instants import shifted
from journeys.rendering import Rendering
from journeys.steps.context import StepContext
from journeys.steps.durations import LEAST_WAIT, read_duration
from journeys.steps.kinds import EXITED, Kind, Way, following, way
from journeys.steps.moments import Zone, parse_moment, read_zone
from journeys.steps.results import Ended, GoTo, Resumption, StepFailed, StepResult, Wait, in_words, step_record
from journeys.steps.templated import TemplatedText, read_text, render_text
from journeys.steps.times_of_day import InvalidTime, next_time, parse_time
from journeys.steps.written import Written, WrittenStep

_LONGEST_TEXT = 100
_DAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")
_ZONE = told("Time zone", "zone", "Of a place, or that of a customer by a field.")


def _read_days(_: Written, part: Part) -> tuple[int, ...]:
    days = list_of(lambda _, day: _DAYS.index(day.choice(_DAYS)), at_most=len(_DAYS), least=1, called="one day")
    return tuple(sorted(set(days(None, part))))


def _read_time(part: Part) -> time:
    try:
        return parse_time(part.text(at_most=_LONGEST_TEXT))
    except InvalidTime as invalid:
        part.refuse(str(invalid))


def _read_required_zone(step: WrittenStep, _: Fields) -> Zone:
    return read_zone(step, step.part.field("timezone"))


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


@dataclass(frozen=True, kw_only=True)
class FixedTime:
    """`for`: a fixed duration."""

    duration: timedelta = written("for", read_duration, about=told("For", "duration", start="P1D"))

    @property
    def paces_loops(self) -> bool:
        return self.duration >= LEAST_WAIT

    @property
    def in_words(self) -> str:
        return duration_in_words(self.duration)

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        return context.since + self.duration, ""


@dataclass(frozen=True, kw_only=True)
class TimeOfDay:
    """`until`: the next time that the zone's clocks show this time, on one of these days (0: Monday)."""

    paces_loops: ClassVar = True

    clock: time = written("until", _read_time, about=told("Until", "time", start="09:00"))
    zone: Zone = taken_from(_read_required_zone, about=[{"name": "timezone", **_ZONE, "start": "UTC"}])
    days: tuple[int, ...] = within("days", _read_days, default=(), about=told("Only on", "days", choices=_DAYS))

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        zone, remark = self.zone.at(context.facts())
        return next_time(self.clock, zone, after=context.since, days=self.days), remark

    @property
    def in_words(self) -> str:
        days = f" on {', '.join(_DAYS[day] for day in self.days)}" if self.days else ""
        return f"until {self.clock.isoformat('minutes')}{days} ({self.zone.in_words})"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """`at`: the instant that the text renders to, and `offset` before or after it; it may be past."""

    paces_loops: ClassVar = False

    as_written: str = written("at", Part.text)
    text: str | TemplatedText = within(
        "at", _read_moment, about=told("At", "text", "A time in ISO 8601, or a template that gives one.", start="")
    )
    zone: Zone = within("timezone", read_zone, default=Zone(), about=_ZONE)
    offset: timedelta = written(
        "offset", read_offset, default=timedelta(), about=told("Shifted by", "offset", "Before or after that time.")
    )

    @property
    def in_words(self) -> str:
        side = "before" if self.offset < timedelta() else "after"
        offset = f"{duration_in_words(abs(self.offset))} {side} " if self.offset else ""
        return f"until {offset}{self.as_written.strip()}"

    def end(self, context: StepContext, rendering: Rendering) -> tuple[datetime, str]:
        """Raises StepFailed if the text renders to no instant, or to one more than ten years ahead."""
        zone, remark = self.zone.at(context.facts())
        text = render_text(self.text, rendering).strip()
        moment = parse_moment(text, zone)
        if moment is None:
            given = "no time in ISO 8601" if text else "nothing"
            raise StepFailed(f"Does not wait: at gives {given}.")
        moment = shifted(moment, self.offset)
        if moment - context.now > LONGEST:
            raise StepFailed("Does not wait: at gives a time in more than ten years.")
        return moment, remark


_LENGTHS: Mapping[str, type[FixedTime | TimeOfDay | Moment]] = {"for": FixedTime, "until": TimeOfDay, "at": Moment}
_ON_MISSING = told(
    "Where there is no such time", "choice", choices=[["exit", "Leave the journey"], ["continue", "Go on at once"]]
)
# What each other field says something about.
_BESIDE = {"timezone": ("until", "at"), "days": ("until",), "offset": ("at",), "onMissing": ("at",)}


def _read_length(step: WrittenStep, parts: Fields) -> FixedTime | TimeOfDay | Moment:
    (kind,) = (kind for name, kind in _LENGTHS.items() if name in parts)
    return read_beside(kind, step, parts)


@dataclass(frozen=True, kw_only=True)
class Delay(Kind):
    """Waits as long as `length` says, then goes on to `next` (None: the end). Does not wait for a time that is past.

    Where it cannot be told until when, `on_missing` decides.
    """

    type: ClassVar = "delay"
    title: ClassVar = "Wait"
    icon: ClassVar = "schedule"
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

    next: str | None = following()
    length: FixedTime | TimeOfDay | Moment = taken_from(
        _read_length,
        optional=[*_LENGTHS, "timezone", "days", "offset"],
        about=[
            variants(
                "How long",
                ("for", "So long", FixedTime),
                ("until", "Until a time of day", TimeOfDay),
                ("at", "Until a moment", [*abouts_of(Moment), {"name": "onMissing", **_ON_MISSING}]),
            )
        ],
    )
    on_missing: str = written("onMissing", partial(Part.choice, choices=["exit", "continue"]), default="exit")

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
    def check(cls, step: WrittenStep, parts: Fields, read: Reading) -> None:
        if len(parts.keys() & _LENGTHS.keys()) != 1:
            step.part.refuse("must hold one of for, until and at.")
        for name, beside in _BESIDE.items():
            if name in parts and not parts.keys() & set(beside):
                read.note(parts[name], f"may stand beside {' and '.join(beside)} only.")

"""Moments and time zones of a delay, which may come from templates and fields."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from customers.conditions import ENROLLED, Facts, Field
from customers.conditions.evaluate import value_of
from customers.conditions.fields import parse_field
from customers.conditions.instants import parse_instant
from engage.json.described import read_object, within
from engage.json.documents import Part
from engage.json.instants import in_utc
from journeys.rendering import is_template
from journeys.steps.conditions import refuse_unkept
from journeys.steps.times_of_day import InvalidTime, parse_timezone
from journeys.steps.written import WrittenStep

_LONGEST_TEXT = 100
_BY_FIELD = 'For a zone that differs, name its field: {"from": "customer.timezone", "else": "UTC"}.'


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A time zone: `zone`, or the one that the field `of` names, where it names one.

    `lost` is the name of a zone that the machine does not know any more; `zone` is UTC then.
    """

    zone: tzinfo = UTC
    lost: str | None = None
    of: Field | None = None

    @property
    def in_words(self) -> str:
        return f"{self.of.name}, else {self.zone}" if self.of else str(self.zone)

    def at(self, facts: Facts) -> tuple[tzinfo, str]:
        """The zone, and what is to be told of it beside when the wait ends."""
        if self.of is None:
            return self.zone, f" In UTC: the time zone {self.lost!r} is not known any more." if self.lost else ""
        name = value_of(self.of, facts)
        try:
            return parse_timezone(name if isinstance(name, str) else ""), ""
        except InvalidTime:
            return self.zone, f" In {self.zone}: {self.of.name} names no time zone."


def _read_field(step: WrittenStep, part: Part) -> Field:
    field = parse_field(part, roots=ENROLLED)
    if not step.stored:
        refuse_unkept(part, field, step.names)
    return field


def _fixed(step: WrittenStep, part: Part) -> Zone:
    name = part.text(at_most=_LONGEST_TEXT)
    try:
        return Zone(zone=parse_timezone(name))
    except InvalidTime as invalid:
        if step.stored:  # updates rename and drop time zones, and customers are inside
            return Zone(lost=name)
        part.refuse(f"is a template. {_BY_FIELD}" if is_template(name) else str(invalid))


@dataclass(frozen=True, kw_only=True)
class _ByField:
    of: Field = within("from", _read_field)
    otherwise: Zone = within("else", _fixed)


def read_zone(step: WrittenStep, part: Part) -> Zone:
    """`"Europe/Berlin"`, or `{"from": "customer.timezone", "else": "Europe/Berlin"}`."""
    if not isinstance(part.value, dict):
        return _fixed(step, part)
    by_field = read_object(_ByField, part, step)
    return replace(by_field.otherwise, of=by_field.of)


def parse_moment(text: str, zone: tzinfo) -> datetime | None:
    """The instant; None if it is none. Without an offset it is as the zone's clocks show it."""
    moment = parse_instant(text, zone)
    return None if moment is None else in_utc(moment)

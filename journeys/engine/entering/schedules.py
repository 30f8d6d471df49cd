"""When a call's customers are due, as callers write it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from customers.conditions import Root
from customers.conditions.fields import parse_field
from customers.conditions.instants import GRAMMAR_WITH_OFFSET, parse_instant
from engage.errors import InvalidRequest
from engage.json.documents import Part
from engage.json.instants import in_utc
from engage.json.storable import describe
from engage.notations.zones import zone_of
from journeys.engine.entering.terms import Schedule, in_zone

_LONGEST = timedelta(days=366)
_WITH_OFFSET = re.compile(GRAMMAR_WITH_OFFSET)
_LOCAL = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
MEMBERS = ("local", "timezoneFrom", "else")
FORMS = '{"local": "2026-12-24T09:00", "timezoneFrom": "customer.timezone", "else": "UTC"}'


def read_instant(name: str, value: Any) -> datetime:
    """The instant, in UTC, that this field holds. Raises InvalidRequest."""
    moment = parse_instant(value) if isinstance(value, str) and _WITH_OFFSET.fullmatch(value) else None
    if moment is None:
        raise InvalidRequest(f"{name} must be an instant in ISO 8601 with an offset, like 2026-11-20T19:08:00Z.")
    return in_utc(moment)


def read_schedule(value: Any) -> Schedule:
    """The schedule that `scheduledFor` holds. Raises InvalidRequest."""
    schedule = _local(value) if isinstance(value, dict) else Schedule(at=read_instant("scheduledFor", value))
    if schedule.at > datetime.now(UTC) + _LONGEST:
        raise InvalidRequest("scheduledFor is more than a year ahead.")
    return schedule


def _local(value: dict[str, Any]) -> Schedule:
    for name in MEMBERS:
        if not isinstance(value.get(name), str):
            raise InvalidRequest(f"scheduledFor.{name} must be a string, but {describe(value.get(name))} came.")
    if unknown := value.keys() - set(MEMBERS):
        raise InvalidRequest(f"scheduledFor has no field {min(unknown)!r}; it is an instant, or like {FORMS}.")
    local = parse_instant(value["local"]) if _LOCAL.fullmatch(value["local"]) else None
    if local is None:
        raise InvalidRequest("scheduledFor.local must be a date and a time without an offset, like 2026-12-24T09:00.")
    otherwise = zone_of(value["else"])
    if otherwise is None:
        raise InvalidRequest("scheduledFor.else must be an IANA time zone such as Europe/Berlin or UTC.")
    shown = local.replace(tzinfo=None)
    zone = parse_field(Part(value["timezoneFrom"], "scheduledFor.timezoneFrom", InvalidRequest), roots=(Root.CUSTOMER,))
    return Schedule(at=in_zone(shown, otherwise), local=shown, zone=zone, otherwise=str(otherwise))

"""`from` and `to` in query strings: what their values have to be."""

from datetime import datetime
from functools import partial

from customers.conditions.instants import parse_instant
from engage.errors import InvalidRequest
from engage.json.fields import Parsed, Spelled
from engage.json.instants import has_room
from engage.json.keywords import Keywords


def _instant(name: str, text: str) -> datetime:
    moment = parse_instant(text)
    if moment is None or not has_room(moment):
        raise InvalidRequest(f"{name} must be a time in ISO 8601 such as 2026-11-20T19:00:00Z.")
    return moment


_DATE_TIME = Keywords(format="date-time")
FROM = (Spelled("from"), Parsed(partial(_instant, "from")), _DATE_TIME)
TO = (Spelled("to"), Parsed(partial(_instant, "to")), _DATE_TIME)

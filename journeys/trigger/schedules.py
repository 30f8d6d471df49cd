"""`scheduledFor` and `expiresAt` of a trigger call."""

from functools import partial
from typing import Annotated, Any

from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from engage.json.fields import Parsed, Spelled
from engage.json.keywords import Keywords
from journeys.engine.entering.schedules import FORMS, MEMBERS, read_instant, read_schedule

ScheduledForField = Annotated[
    Any,
    "When the jobs are due, at most a year ahead; what is past is due at once. Either an instant with an offset, or "
    f"`{FORMS}`: when the clocks of each customer's own zone show this time. Who is in the segments is decided at the "
    "call, and everything else when it is due.",
    Parsed(read_schedule, of=Any),
    Spelled("scheduledFor", also="scheduled_for"),
    Keywords(
        strict={
            "anyOf": [
                {"type": "string", "pattern": GRAMMAR_WITH_OFFSET},
                {
                    "type": "object",
                    "properties": {name: {"type": "string"} for name in MEMBERS},
                    "required": list(MEMBERS),
                },
                {"type": "null"},
            ]
        }
    ),
]
ExpiresAtField = Annotated[
    Any,
    "An instant with an offset: what is not decided by then is decided `expired`. After `scheduledFor`.",
    Parsed(partial(read_instant, "expiresAt"), of=Any),
    Spelled("expiresAt", also="expires_at"),
    Keywords(type="string", format="date-time"),
]

"""Events that came before somebody listened, and count all the same: they are looked up where a listener begins.

Whoever begins to listen holds the customer's row lock, as does whoever records an event. So an event that is not found
here finds the listener.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import connection

from engage.named_rows import named_rows
from journeys.steps.context import EarlyEvent
from journeys.steps.events import EventPattern
from journeys.steps.track_event import MAX_LINKS

_Key = TypeVar("_Key", bound=Hashable)
_PAGE = 10  # events have up to 64 KiB of properties, and a chunk has 500 listeners


@dataclass(frozen=True, kw_only=True)
class Listener:
    """Would have heard the customer's events of these patterns that were recorded after the serial `after`."""

    customer_id: str
    after: int
    patterns: Sequence[EventPattern]

    def hears(self, event: EarlyEvent) -> bool:
        """Whether one of the patterns matches the event."""
        named = [pattern for pattern in self.patterns if pattern.name == event.name]
        if any(pattern.where is None for pattern in named):
            return True
        properties = json.loads(event.properties)
        return any(pattern.matches(name=event.name, properties=properties) for pattern in named)


def first_heard(listeners: Mapping[_Key, Listener]) -> dict[_Key, EarlyEvent]:
    """The first event that each listener would have heard; those who missed none are left out.

    One statement, whatever the number of listeners; another one for those who missed _PAGE events of the right names,
    of which none matches.
    """
    found: dict[_Key, EarlyEvent] = {}
    asking = dict(listeners)
    while asking:
        missed = _missed(list(asking.values()))
        unheard: dict[_Key, Listener] = {}
        for (key, listener), events in zip(asking.items(), missed, strict=True):
            if (heard := next(filter(listener.hears, events), None)) is not None:
                found[key] = heard
            elif len(events) == _PAGE:
                unheard[key] = replace(listener, after=events[-1].serial)
        asking = unheard
    return found


# Each listener's events are looked up by key, in a lateral with a limit, as in deciding/waiting_jobs.py. What is at the
# end of a chain has no effect, as in reactions.py.
_MISSED = """
SELECT asked.place, event.id, event.name, event.properties, event.chain, event.serial
FROM unnest(%s::text[], %s::bigint[], %s::jsonb[]) WITH ORDINALITY AS asked(customer_id, after, names, place)
CROSS JOIN LATERAL (
    SELECT * FROM customers_event recorded
    WHERE recorded.customer_id = asked.customer_id AND recorded.serial > asked.after AND recorded.chain <= %s
      AND recorded.name = ANY(ARRAY(SELECT jsonb_array_elements_text(asked.names)))
    ORDER BY recorded.serial LIMIT %s
) AS event
ORDER BY asked.place, event.serial
"""


def _missed(listeners: Sequence[Listener]) -> list[list[EarlyEvent]]:
    """For each listener the next events of the right names, in order: at most _PAGE."""
    missed: list[list[EarlyEvent]] = [[] for _ in listeners]
    with connection.cursor() as cursor:
        cursor.execute(
            _MISSED,
            [
                [listener.customer_id for listener in listeners],
                [listener.after for listener in listeners],
                [json.dumps([pattern.name for pattern in listener.patterns]) for listener in listeners],
                MAX_LINKS,
                _PAGE,
            ],
        )
        for row in named_rows(cursor):
            missed[row.pop("place") - 1].append(EarlyEvent(**row))
    return missed

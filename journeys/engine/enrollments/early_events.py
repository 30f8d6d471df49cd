"""Events that came before somebody listened, and count all the same: they are looked up where a listener begins.

Whoever begins to listen holds the customer's row lock, as does whoever records an event. So an event that is not found
here finds the listener.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from customers.models import BRIDGE_SOURCES
from engage.database.sql import Rows, Statement
from engage.process.budget import Budget, for_many, third
from journeys.steps.context import EarlyEvent
from journeys.steps.events import EventPattern, Known
from journeys.steps.track_event import MAX_LINKS

_Key = TypeVar("_Key", bound=Hashable)
_PAGE = 10  # events have up to 64 KiB of properties, and a chunk has 500 listeners


@dataclass(frozen=True, kw_only=True)
class Listener:
    """Would have heard the customer's events of these patterns that were recorded after the serial `after`.

    `known` is what its enrollment knows, as for `EventPattern.matches`.
    """

    customer_id: str
    after: int
    patterns: Sequence[EventPattern]
    known: Known

    def hears(self, event: EarlyEvent) -> bool:
        """Whether one of the patterns matches the event."""
        name, from_bridge = event.name, event.from_bridge
        asked = [pattern for pattern in self.patterns if pattern.concerns(name=name, from_bridge=from_bridge)]
        if not asked or any(pattern.where is None for pattern in asked):
            return bool(asked)
        occurrence = event.occurrence()
        return any(pattern.matches(occurrence, from_bridge=from_bridge, known=self.known) for pattern in asked)

    @property
    def counts_bridge_events(self) -> bool:
        """Whether events that the bridge recorded count at all."""
        return any(pattern.from_bridge for pattern in self.patterns)


def earliest_events(listeners: Mapping[_Key, Listener]) -> dict[_Key, EarlyEvent]:
    """The first event that each listener would have heard; those who missed none are left out.

    One statement, whatever the number of listeners; another one for those who missed _PAGE events of the right names,
    of which none matches.
    """
    if not listeners:
        return {}
    with for_many(len(listeners)):
        return _earliest(listeners, {key: third() for key in listeners})


def _earliest(listeners: Mapping[_Key, Listener], budgets: Mapping[_Key, Budget]) -> dict[_Key, EarlyEvent]:
    found: dict[_Key, EarlyEvent] = {}
    asking = dict(listeners)
    while asking:
        missed = _missed(list(asking.values()))
        unheard: dict[_Key, Listener] = {}
        for (key, listener), events in zip(asking.items(), missed, strict=True):
            with budgets[key]:
                heard = next(filter(listener.hears, events), None)
            if heard is not None:
                found[key] = heard
            elif len(events) == _PAGE:
                unheard[key] = replace(listener, after=events[-1].serial)
        asking = unheard
    return found


# Each listener's events are looked up by key, in a lateral with a limit (docs/sql.md). What is at the end
# of a chain has no effect, as in walking/reactions.py.
_MISSED = Statement(
    """
SELECT asked.place, event.id, event.name, event.properties, event.chain, event.serial,
       event.source = ANY({bridge}::text[]) AS from_bridge, event.message_id AS message, event.verified
FROM {listeners}
CROSS JOIN LATERAL (
    SELECT * FROM customers_event recorded
    WHERE recorded.customer_id = asked.customer_id AND recorded.serial > asked.after AND recorded.chain <= {longest}
      AND recorded.name = ANY(ARRAY(SELECT jsonb_array_elements_text(asked.names)))
      AND (asked.counts_bridge_events OR recorded.source <> ALL({bridge}::text[]))
    ORDER BY recorded.serial LIMIT {page}
) AS event
ORDER BY asked.place, event.serial
""",
    listeners=Rows(
        "asked",
        {"customer_id": "text", "after": "bigint", "names": "jsonb", "counts_bridge_events": "boolean"},
        place="place",
    ),
)


def _missed(listeners: Sequence[Listener]) -> list[list[EarlyEvent]]:
    """For each listener the next events of the right names, in order: at most _PAGE."""
    missed: list[list[EarlyEvent]] = [[] for _ in listeners]
    rows = [
        (one.customer_id, one.after, json.dumps([pattern.name for pattern in one.patterns]), one.counts_bridge_events)
        for one in listeners
    ]
    for row in _MISSED.records(listeners=rows, bridge=BRIDGE_SOURCES, longest=MAX_LINKS, page=_PAGE):
        missed[row.pop("place") - 1].append(EarlyEvent(**row))
    return missed

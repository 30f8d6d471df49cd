"""What a call asks beside whom it names, and its terms: for which entrance, from when on, and until when it counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple, cast

from psycopg.types.json import Jsonb

from customers.conditions import Field
from customers.conditions.sql import Columns, compile_value
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment
from engage.json.instants import in_utc
from engage.notations.zones import FOLDED, spellings, zone_named
from engage.process.request_log import current_trail
from journeys.models.choices import ELSE

_FIRST_ON_EARTH = timezone(timedelta(hours=14))


class Schedule(NamedTuple):
    """When the customers of a call are due: all of them `at` this instant, aware.

    With `local`, each when the clocks of their own zone show that, which the customer's field `zone` names; `at` is for
    those of whom it names none. A time that the clocks skip is later by as much, and of a doubled one the first counts.
    """

    at: datetime
    local: datetime | None = None
    zone: Field | None = None
    otherwise: str = ""  # the name of the zone that `at` is of

    @property
    def instant(self) -> datetime | None:
        """The one instant of all; None if each has their own."""
        return self.at if self.zone is None else None

    @property
    def earliest(self) -> datetime:
        """Before which nobody is due."""
        return self.at if self.local is None else in_utc(self.local.replace(tzinfo=_FIRST_ON_EARTH))

    def each(self) -> Fragment:
        """The `scheduled_for` and `zone` of a row of `asked`, in SQL."""
        if self.zone is None or self.local is None:
            return Fragment("%s::timestamptz AS scheduled_for, NULL::text AS zone", [self.at])
        names = spellings()
        instants = {name: in_zone(self.local, zone_named(name)).isoformat() for name in {*names.values()}}
        at = self._by_zone({spelled: instants[name] for spelled, name in names.items()}, self.at.isoformat())
        zone = self._by_zone(names, f"{ELSE}{self.otherwise}")
        return Fragment(f"{at.sql}::timestamptz AS scheduled_for, {zone.sql} AS zone", [*at.params, *zone.params])

    def _by_zone(self, by_zone: Mapping[str, str], otherwise: str) -> Fragment:
        """What the first says of the customer's zone, or the other."""
        value = compile_value(cast("Field", self.zone), columns=Columns())
        return Fragment(
            f"(SELECT coalesce(%s::jsonb ->> lower(translate({value.sql} #>> '{{}}', %s, %s)), %s) "  # noqa: S608
            "FROM customers_customer customer WHERE customer.id = asked.customer_id LIMIT 1)",
            [Jsonb(by_zone), *value.params, *FOLDED, otherwise],
        )


class Terms(NamedTuple):
    """All of it; None for what the call does not say."""

    entrance: str | None = None
    schedule: Schedule | None = None
    expires_at: datetime | None = None

    @property
    def waits(self) -> bool:
        """Whether all of its customers are due later than now."""
        return self.schedule is not None and self.schedule.instant is not None and self.schedule.at > datetime.now(UTC)

    def scheduled(self) -> Fragment:
        """As Schedule.each, and NULL if it has none."""
        return self.schedule.each() if self.schedule else _AT_ONCE

    def values(self) -> dict[str, Any]:
        """What a statement on terms is given of them."""
        return {"entrance": self.entrance, "until": self.expires_at, "scheduled": self.scheduled()}


NO_TERMS = Terms()
_AT_ONCE = Fragment("NULL::timestamptz AS scheduled_for, NULL::text AS zone")


@dataclass(frozen=True, kw_only=True)
class QueuedTrigger:
    """A queued trigger: how many jobs it created, all with the same epoch millisecond in their ids."""

    id: str
    journey_id: str
    customers: int
    queued_ms: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a call asks, beside whom it names. `called_by` is the API key's id, and `excluded` are external ids."""

    workspace_id: str
    journey_id: str
    payload: Mapping[str, Any]
    called_by: str = ""
    excluded: Sequence[str] = ()
    terms: Terms = NO_TERMS

    def values(self) -> dict[str, Any]:
        """What a statement that queues is given of it; `trigger_id` is that of a new trigger."""
        trail = current_trail()
        return {
            "workspace_id": self.workspace_id,
            "journey_id": self.journey_id,
            "trigger_id": new_object_id(),
            "payload": Jsonb(self.payload),
            "request_id": trail.request_id,
            "traceparent": trail.traceparent,
            "called_by": self.called_by,
        }

    def queued(self, trigger_id: str, *, customers: int, queued_ms: int) -> QueuedTrigger:
        return QueuedTrigger(id=trigger_id, journey_id=self.journey_id, customers=customers, queued_ms=queued_ms)


def in_zone(local: datetime, zone: tzinfo) -> datetime:
    """The instant, in UTC, at which the clocks of the zone show this."""
    return in_utc(local.replace(tzinfo=zone))

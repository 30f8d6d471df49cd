"""What a call says beside whom it names: for which entrance they enter, when they are due, and until when it counts."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple, cast

from psycopg.types.json import Jsonb

from customers.conditions import Field
from customers.conditions.sql import Columns, compile_value
from engage.database.sql import Fragment
from engage.json.instants import in_utc
from engage.zones import FOLDED, spellings, zone_named
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

    def of(self, customer: str) -> Fragment:
        """The customer's `scheduled_for` and `zone`, where `customer` is their id; both in SQL."""
        if self.zone is None or self.local is None:
            return Fragment("%s::timestamptz AS scheduled_for, NULL::text AS zone", [self.at])
        names = spellings()
        instants = {name: in_zone(self.local, zone_named(name)).isoformat() for name in {*names.values()}}
        at = self._said(customer, {spelled: instants[name] for spelled, name in names.items()}, self.at.isoformat())
        zone = self._said(customer, names, f"{ELSE}{self.otherwise}")
        return Fragment(f"{at.sql}::timestamptz AS scheduled_for, {zone.sql} AS zone", [*at.params, *zone.params])

    def _said(self, customer: str, by_zone: Mapping[str, str], otherwise: str) -> Fragment:
        """What the first says of the customer's zone, or the other."""
        value = compile_value(cast("Field", self.zone), columns=Columns())
        return Fragment(
            f"(SELECT coalesce(%s::jsonb ->> lower(translate({value.sql} #>> '{{}}', %s, %s)), %s) "  # noqa: S608
            f"FROM customers_customer customer WHERE customer.id = {customer} LIMIT 1)",
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

    def scheduled_for(self, customer: str) -> Fragment:
        """As Schedule.of, and NULL if it has none."""
        nothing = Fragment("NULL::timestamptz AS scheduled_for, NULL::text AS zone", [])
        return self.schedule.of(customer) if self.schedule else nothing


NO_TERMS = Terms()


def in_zone(local: datetime, zone: tzinfo) -> datetime:
    """The instant, in UTC, at which the clocks of the zone show this."""
    return in_utc(local.replace(tzinfo=zone))

"""What a call says beside whom it names: for which entrance they enter, when they are due, and until when it counts."""

from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple
from zoneinfo import ZoneInfo

from psycopg.types.json import Jsonb

from customers.conditions import Field
from customers.conditions.sql import Columns, compile_value
from engage.database.sql import Fragment
from engage.json.instants import in_utc
from engage.zones import zone_names

_FIRST_ON_EARTH = timezone(timedelta(hours=14))


class Schedule(NamedTuple):
    """When the customers of a call are due: all of them `at` this instant, aware.

    With `local`, each when the clocks of their own zone show that, which the customer's field `zone` names; `at` is for
    those of whom it names none. A time that the clocks skip is later by as much, and of a doubled one the first counts.
    """

    at: datetime
    local: datetime | None = None
    zone: Field | None = None

    @property
    def instant(self) -> datetime | None:
        """The one instant of all; None if each has their own."""
        return self.at if self.zone is None else None

    @property
    def earliest(self) -> datetime:
        """Before which nobody is due."""
        return self.at if self.local is None else in_utc(self.local.replace(tzinfo=_FIRST_ON_EARTH))

    def of(self, customer: str) -> Fragment:
        """The customer's instant, where `customer` is their id; both in SQL."""
        if self.zone is None or self.local is None:
            return Fragment("%s::timestamptz", [self.at])
        value = compile_value(self.zone, columns=Columns())
        instants = Jsonb({name: in_zone(self.local, name).isoformat() for name in zone_names()})
        return Fragment(
            f"(SELECT coalesce((%s::jsonb ->> ({value.sql} #>> '{{}}'))::timestamptz, %s::timestamptz) "  # noqa: S608
            f"FROM customers_customer customer WHERE customer.id = {customer} LIMIT 1)",
            [instants, *value.params, self.at],
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
        return self.schedule.of(customer) if self.schedule else Fragment("NULL::timestamptz", [])


NO_TERMS = Terms()


def in_zone(local: datetime, zone: str) -> datetime:
    """The instant, in UTC, at which the clocks of the zone of this name show this."""
    return in_utc(local.replace(tzinfo=ZoneInfo(zone)))

"""The next time that the clocks of a zone show a time of day, also where they are moved."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given
from hypothesis import strategies as st

from journeys.steps.times_of_day import next_time, parse_time, parse_timezone
from tests.support.cases import each


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each(
    "zone, at, after, expected",
    [
        ("UTC", "09:00", "2026-11-20 08:59:59", "2026-11-20 09:00"),
        ("UTC", "09:00", "2026-11-20 09:00:00", "2026-11-21 09:00"),
        ("UTC", "09:00:30", "2026-11-20 09:00:00", "2026-11-20 09:00:30"),
        ("Europe/Berlin", "09:00", "2026-07-01 00:00", "2026-07-01 07:00"),
        ("Europe/Berlin", "00:30", "2026-07-01 22:00", "2026-07-01 22:30"),
        ("Pacific/Kiritimati", "09:00", "2026-11-20 12:00", "2026-11-20 19:00"),
        ("Asia/Kathmandu", "00:00", "2026-11-20 12:00", "2026-11-20 18:15"),
        # Clocks go forward from 02:00 to 03:00: 02:30 comes as 03:30, once.
        ("Europe/Berlin", "02:30", "2026-03-28 12:00", "2026-03-29 01:30"),
        ("Europe/Berlin", "02:30", "2026-03-29 01:30", "2026-03-30 00:30"),
        ("America/New_York", "02:30", "2026-03-08 06:59:59", "2026-03-08 07:30"),
        # Clocks go back from 03:00 to 02:00: the first 02:30 counts, once.
        ("Europe/Berlin", "02:30", "2026-10-24 12:00", "2026-10-25 00:30"),
        ("Europe/Berlin", "02:30", "2026-10-25 00:30", "2026-10-26 01:30"),
        ("Europe/Berlin", "02:30", "2026-10-25 00:45", "2026-10-26 01:30"),
        # Clocks skip the last hour of a day: 23:30 comes as 00:30 of the next, also if that day has begun by then.
        ("America/Nuuk", "23:30", "2026-03-29 00:30", "2026-03-29 01:30"),
        ("America/Nuuk", "23:30", "2026-03-29 01:15", "2026-03-29 01:30"),
        # Clocks skip midnight; and a whole day.
        ("Africa/Cairo", "00:30", "2026-04-23 12:00", "2026-04-23 22:30"),
        ("Pacific/Apia", "12:00", "2011-12-29 23:00", "2011-12-30 22:00"),
    ],
)
def test_the_next_time_comes_where_clocks_show_it(zone: str, at: str, after: str, expected: str) -> None:
    assert next_time(parse_time(at), ZoneInfo(zone), after=utc(after)) == utc(expected)


@given(
    zone=st.sampled_from(sorted(available_timezones())).map(ZoneInfo),
    at=st.times(),
    after=st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_a_time_of_day_comes_soon_and_clocks_show_it(zone: ZoneInfo, at: time, after: datetime) -> None:
    moment = next_time(at, zone, after=after)
    assert moment.tzinfo is UTC
    assert after < moment <= after + timedelta(hours=49)
    shown = moment.astimezone(zone)
    assert shown.time().replace(fold=0) == at or _is_skipped(at, zone, near=shown)


def _is_skipped(at: time, zone: ZoneInfo, *, near: datetime) -> bool:
    """Whether the clocks of the zone go past this time on the day, or on the day before."""
    days = (near.date(), near.date() - timedelta(days=1))
    walls = [datetime.combine(day, at, tzinfo=zone) for day in days]
    return any(wall.astimezone(UTC).astimezone(zone).time() != at for wall in walls)


def test_every_zone_that_is_listed_is_known() -> None:
    assert str(parse_timezone("America/Argentina/Ushuaia")) == "America/Argentina/Ushuaia"

"""Which texts are instants, and which ones."""

from datetime import UTC, datetime, timedelta, timezone

from customers.conditions.instants import parse_instant
from tests.customers.awkward_values import NEARLY_TIMES
from tests.support.cases import each

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@each(
    "text, instant",
    [
        ("2026-11-20", NOON - timedelta(hours=12)),
        ("2026-11-20T12:00", NOON),
        ("2026-11-20T12:00Z", NOON),
        ("2026-11-20T12:00:00", NOON),
        ("2026-11-20T12:00:00Z", NOON),
        ("2026-11-20T14:00:00+02:00", NOON),
        ("2026-11-20T09:30:00-0230", NOON),
        ("2026-11-20T12:00:00-00:00", NOON),
        ("2026-11-20T12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-11-20T12:00:00.000001", NOON + timedelta(microseconds=1)),
        ("2026-11-20T12:00:00.000001999+00:00", NOON + timedelta(microseconds=1)),
        ("2026-11-20 12:00", NOON),
        ("2026-11-20  12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-11-20 14:00:00.000001+02", NOON + timedelta(microseconds=1)),
        ("2026-11-20T09:30-02:30", NOON),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00+14:59", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14, minutes=59)))),
    ],
)
def test_iso_8601_names_an_instant(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant


@each("text", ["", *NEARLY_TIMES])
def test_all_else_is_no_instant(text: str) -> None:
    assert parse_instant(text) is None

"""Time zones, however they are written."""

from datetime import UTC, datetime, timedelta

from babel.core import get_global

from engage.notations.zones import spellings, zone_names, zone_of
from tests.support.cases import each

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def test_each_name_is_read_in_any_case_and_with_blanks_and_no_two_are_one() -> None:
    for name in zone_names():
        for text in (name, name.lower(), name.upper(), f" {name.replace('_', ' ')}\n", name.replace("_", "\u00a0")):
            assert str(zone_of(text)) == name
    assert len({*spellings().values()} & zone_names()) == len(zone_names())


def test_each_of_windows_names_is_read_as_cldr_maps_it() -> None:
    for name, zone in get_global("windows_zone_mapping").items():
        assert {str(zone_of(name)), str(zone_of(name.lower()))} <= {zone, "UTC"}


@each(
    "text, minutes",
    [
        ("UTC+2", 120), ("utc + 02:00", 120), ("GMT-3:30", -210), ("+0545", 345), ("UTC\u22129", -540), ("UTC+14", 840),
        ("UTC-12:00", -720), ("+00:00", 0), ("Etc/GMT+2", -120), ("UTC+14:15", None), ("UTC-13", None),
        ("UTC+2:10", None),
        ("", None), ("2", None), ("Factory", None), ("Europe", None), ("../Europe/Berlin", None), ("UTC+2\0", None),
    ],
)  # fmt: skip
def test_offsets_are_read_as_people_write_them(text: str, minutes: int | None) -> None:
    zone = zone_of(text)
    assert (None if zone is None else NOW.astimezone(zone).utcoffset()) == (
        None if minutes is None else timedelta(minutes=minutes)
    )

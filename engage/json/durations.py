"""ISO 8601 durations of a fixed length: P1D, PT2H30M, PT0.5S, P2W."""

import re
from datetime import timedelta

LONGEST = timedelta(days=3650)
_FORM = re.compile(
    r"P(?:(?P<weeks>[0-9]{1,9})W"
    r"|(?=.)(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?=.)(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?(?:(?P<seconds>[0-9]{1,9}(?:[.,][0-9]{1,6})?)S)?)?)"
)
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
_WITH_YEARS_OR_MONTHS = re.compile(r"P[^T]*[YM]")


class InvalidDuration(ValueError):
    """Why a text is not a duration; the message continues a sentence that begins with the place."""


def parse_duration(text: str) -> timedelta:
    """The duration, of at most ten years. Raises InvalidDuration.

    Years and months are refused, because their length depends on when they begin.
    """
    if text.startswith("-"):
        raise InvalidDuration("must not be negative.")
    if _WITH_YEARS_OR_MONTHS.match(text):
        raise InvalidDuration("must not count in years or months, which have no fixed length: say days, such as P30D.")
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidDuration("must be an ISO 8601 duration such as P1D, PT2H30M or PT5S.")
    try:
        duration = timedelta(**{unit: float(count.replace(",", ".")) for unit, count in match.groupdict("0").items()})
    except OverflowError:
        duration = timedelta.max
    if duration > LONGEST:
        raise InvalidDuration(f"must be at most ten years (P{LONGEST.days}D).")
    return duration


def parse_offset(text: str) -> timedelta:
    """The duration, or its negative after a `-`: how far from a moment. Raises InvalidDuration."""
    return -parse_duration(text[1:]) if text.startswith("-") else parse_duration(text)


def duration_in_words(duration: timedelta) -> str:
    """The duration in its units: "1 day", "2 hours 30 minutes"."""
    left, parts = duration.total_seconds(), []
    for unit, seconds in _UNITS:
        number = left if unit == "second" else left // seconds
        if number:
            parts.append(f"{number:g} {unit}{'' if number == 1 else 's'}")
        left -= number * seconds
    return " ".join(parts) or "0 seconds"

"""The notation of rates: how many in how many seconds."""

import re

from django.core.exceptions import ValidationError

_COUNT = r"[1-9]\d{0,8}"
_PERIOD = r"([1-9]\d{0,3})?"
_RATE = re.compile(f"{_COUNT}/{_PERIOD}[smhd]")
_SIMILAR = re.compile(r"(\d+)/(\d*)[smhd]")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_rate(rate: str) -> tuple[int, int]:
    """ "100/m" as (100, 60): how many in how many seconds. Raises ValueError."""
    if not _RATE.fullmatch(rate):
        raise ValueError(f"{rate!r} is no rate. {_what_to_do(rate)}")
    count, _, period = rate.partition("/")
    return int(count), int(period[:-1] or 1) * _SECONDS[period[-1]]


def validate_rate(text: str) -> None:
    """Raises ValidationError, which says how to write a rate, or what is wrong with this one."""
    try:
        parse_rate(text)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def _what_to_do(rate: str) -> str:
    similar = _SIMILAR.fullmatch(rate)
    if similar is None:
        return "Write a rate as 100/m, 5/s or 1000/h."
    if not re.fullmatch(_COUNT, similar[1]):
        return "Its first number must be from 1 to 999999999, without leading zeros."
    return "The number before its unit of time must be from 1 to 9999, without leading zeros."

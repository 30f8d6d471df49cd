"""The notation of rates: how many in how many seconds."""

import re

_COUNT = r"[1-9]\d{0,8}"
_PERIOD = r"([1-9]\d{0,3})?"
RATE = f"{_COUNT}/{_PERIOD}[smhd]"
HOW_TO_WRITE = "Write a rate as 100/m, 5/s or 1000/h."
_RATE = re.compile(RATE)
_SIMILAR = re.compile(r"(\d+)/(\d*)[smhd]")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_rate(rate: str) -> tuple[int, int]:
    """ "100/m" as (100, 60): how many in how many seconds. Raises ValueError."""
    if not _RATE.fullmatch(rate):
        raise ValueError(f"{rate!r} is no rate. {_what_to_do(rate)}")
    count, _, period = rate.partition("/")
    return int(count), int(period[:-1] or 1) * _SECONDS[period[-1]]


def _what_to_do(rate: str) -> str:
    similar = _SIMILAR.fullmatch(rate)
    if similar is None:
        return HOW_TO_WRITE
    if not re.fullmatch(_COUNT, similar[1]):
        return "Its first number must be from 1 to 999999999, without leading zeros."
    return "The number before its unit of time must be from 1 to 9999, without leading zeros."

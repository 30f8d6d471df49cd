"""The notation of rates: how many in how many seconds."""

import re

RATE = r"[1-9]\d{0,8}/([1-9]\d{0,3})?[smhd]"
HOW_TO_WRITE = "Write a rate as 100/m, 5/s or 1000/h."
_RATE = re.compile(RATE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_rate(rate: str) -> tuple[int, int]:
    """ "100/m" as (100, 60): how many in how many seconds. Raises ValueError."""
    if not _RATE.fullmatch(rate):
        raise ValueError(f"{rate!r} is no rate. {HOW_TO_WRITE}")
    count, _, period = rate.partition("/")
    return int(count), int(period[:-1] or 1) * _SECONDS[period[-1]]

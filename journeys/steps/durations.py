"""Durations of a definition."""

from datetime import timedelta

from engage.json.documents import Part
from engage.json.durations import InvalidDuration, parse_duration

LEAST_WAIT = timedelta(seconds=1)
_LONGEST_TEXT = 100


def read_duration(part: Part) -> timedelta:
    """The ISO 8601 duration in this part. Refuses anything else."""
    try:
        return parse_duration(part.text(at_most=_LONGEST_TEXT))
    except InvalidDuration as invalid:
        part.refuse(str(invalid))


def read_timeout(part: Part) -> timedelta:
    """The duration in this part, of at least a second. Refuses anything else."""
    timeout = read_duration(part)
    if timeout < LEAST_WAIT:
        part.refuse("must be at least a second (PT1S).")
    return timeout

"""How a rate is written, in settings and for keys."""

import pytest

from engage.notations.rates import parse_rate
from tests.support.cases import each

_COUNT = "Its first number must be from 1 to 999999999, without leading zeros."
_PERIOD = "The number before its unit of time must be from 1 to 9999, without leading zeros."
_NO_RATE = "Write a rate as 100/m, 5/s or 1000/h."


@each(
    "rate, meaning",
    [("1/s", (1, 1)), ("999999999/9999d", (999_999_999, 9999 * 86_400)), ("5/15m", (5, 900)), ("100/2h", (100, 7200))],
)
def test_a_rate_is_how_many_in_how_many_seconds(rate: str, meaning: tuple[int, int]) -> None:
    assert parse_rate(rate) == meaning


@each(
    "rate, what_to_do",
    [
        ("0/m", _COUNT),
        ("1000000000/m", _COUNT),
        ("05/m", _COUNT),
        ("5/0s", _PERIOD),
        ("5/10000s", _PERIOD),
        ("5/05s", _PERIOD),
        ("5", _NO_RATE),
        ("5/w", _NO_RATE),
        ("5/mm", _NO_RATE),
        ("5/m 10/h", _NO_RATE),
        ("-5/m", _NO_RATE),
        ("5.5/m", _NO_RATE),
        ("", _NO_RATE),
    ],
)
def test_what_is_no_rate_is_refused_with_what_to_do(rate: str, what_to_do: str) -> None:
    with pytest.raises(ValueError, match="is no rate") as refused:
        parse_rate(rate)
    assert str(refused.value) == f"{rate!r} is no rate. {what_to_do}"

"""Filters over numbers, as Liquid means them: exact in decimals, halves away from zero, and what is no number is 0."""

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

Number = int | Decimal
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
_AMOUNT = re.compile(r"\s*[+-]?[0-9]{1,300}(\.[0-9]{1,300})?\s*")
_LEADING_DIGITS = re.compile("[+-]?[0-9]+")
_MOST_DIGITS = 400  # more than the largest number has
_MOST_PLACES = 20


def number_of(value: Any) -> Number:
    """The value as a number; of a text, the number that it is or that its first digits make; otherwise 0."""
    match value:
        case bool():
            return 0
        case int():
            return value
        case float():
            return Decimal(str(value))
        case str():
            text = value.strip()
            if _DECIMAL.fullmatch(text):
                return Decimal(text)
            digits = _LEADING_DIGITS.match(text)
            return int(digits.group()) if digits else 0
    return 0


def result_of(number: Number) -> int | float:
    return float(number) if isinstance(number, Decimal) else number


def abs_(value: Any) -> int | float:
    number = number_of(value)
    return result_of(-number if number < 0 else number)


def at_least(value: Any, least: Any) -> int | float:
    greater: Number = max(number_of(value), number_of(least))
    return result_of(greater)


def at_most(value: Any, most: Any) -> int | float:
    smaller: Number = min(number_of(value), number_of(most))
    return result_of(smaller)


def ceil(value: Any) -> int:
    return math.ceil(number_of(value))


def floor(value: Any) -> int:
    return math.floor(number_of(value))


def plus(value: Any, other: Any) -> int | float:
    return result_of(number_of(value) + number_of(other))


def minus(value: Any, other: Any) -> int | float:
    return result_of(number_of(value) - number_of(other))


def times(value: Any, other: Any) -> int | float:
    return result_of(number_of(value) * number_of(other))


def divided_by(value: Any, other: Any) -> int | float:
    """Of two whole numbers, the whole number below the quotient."""
    left, right = number_of(value), number_of(other)
    return left // right if isinstance(left, int) and isinstance(right, int) else float(left / Decimal(right))


def modulo(value: Any, other: Any) -> int | float:
    """What is left of a division, with the sign of the divisor."""
    left, right = number_of(value), number_of(other)
    rest = left % right
    if rest and (rest < 0) != (right < 0):
        rest += right
    return result_of(rest + 0)  # 0.0 in place of -0.0


def round_(value: Any, digits: Any = 0) -> int | float:
    """With no more digits behind the point than these, or with as many zeros before it; halves go away from zero."""
    number, places = number_of(value), max(int(number_of(digits)), -_MOST_DIGITS)
    if -places > _exponent(number):
        unit = Decimal(1).scaleb(-places)
        number = Decimal(number).quantize(unit, ROUND_HALF_UP, Context(prec=_MOST_DIGITS))
    return result_of(number) if places > 0 else int(number)


def money(value: Any, digits: Any = 2) -> str | None:
    """The number with so many digits behind the point, never with an exponent; halves go away from zero.

    Unlike elsewhere, what is no number is not 0: nobody should be told that something costs nothing.
    """
    if value is None:
        return None
    places = int(number_of(digits))
    if not (_is_number(value) and 0 <= places <= _MOST_PLACES):
        raise ValueError
    number = Decimal(str(value).strip())
    written = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=_MOST_DIGITS))
    return f"{written or abs(written):f}"  # 0.00 in place of -0.00


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _AMOUNT.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exponent(number: Number) -> int:
    return int(Decimal(number).as_tuple().exponent)

"""Shares of counts, and between which values they are likely to be."""

from math import sqrt

_Z = 1.959964  # 95 %
_TENTH = 0.1


def wilson(number: int, of: int) -> tuple[float, float]:
    """The interval in which the share of `number` among `of` (at least one) is, with 95 %: that of Wilson."""
    share = number / of
    middle = share + _Z**2 / (2 * of)
    spread = _Z * sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    scale = 1 + _Z**2 / of
    return (middle - spread) / scale if number else 0.0, (middle + spread) / scale if number < of else 1.0


def in_words(number: int, of: int) -> str:
    """The share with its interval, "12 % (9.8 to 15 %)"; "" of none, and of fewer than the number itself.

    Within a time that is chosen, more may have reached a goal than have entered.
    """
    if not of or number > of:
        return ""
    low, high = wilson(number, of)
    return f"{percent(number / of)} ({percent(low).removesuffix(' %')} to {percent(high)})"


def percent(share: float) -> str:
    """The share in words, with one digit behind the point below 10 %: "4.2 %"."""
    return f"{share * 100:.{1 if 0 < share < _TENTH else 0}f} %"

"""Shares with their intervals."""

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from journeys.engine.counts.shares import in_words, wilson
from tests.support.cases import each


@each(
    "number, of, says",
    [
        (0, 0, ""),
        (3, 2, ""),
        (0, 10, "0 % (0 to 28 %)"),
        (10, 10, "100 % (72 to 100 %)"),
        (1, 3, "33 % (6.1 to 79 %)"),
        (120, 1000, "12 % (10 to 14 %)"),
        (42, 1000, "4.2 % (3.1 to 5.6 %)"),
    ],
)
def test_a_share_is_told_with_its_interval(number: int, of: int, says: str) -> None:
    assert in_words(number, of) == says


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_bounds_are_those_of_a_score_test(counts: tuple[int, int]) -> None:
    """The share differs from each bound by 1.96 standard errors of the bound; of none and of all, one is cut."""
    number, of = counts
    low, high = wilson(number, of)
    assert 0 <= low <= number / of <= high <= 1
    for bound in {low, high} - {0.0, 1.0}:
        errors = abs(number / of - bound) / (bound * (1 - bound) / of) ** 0.5
        assert isclose(errors, 1.959964, rel_tol=1e-6)

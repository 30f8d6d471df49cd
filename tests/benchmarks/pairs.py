"""Another commit and this one, measured in turn: how many times as fast this one is.

The machine's speed changes by up to a half within minutes, so figures of two runs say little about two commits. Here
both services run side by side, on one PostgreSQL and one Redis. A measure is taken of one and at once of the other, and
of the other first in every second pair. The load comes from this checkout for both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.benchmarks.figures import Figure, written_table
from tests.benchmarks.service import Effort, Service

ENOUGH = 0.97
_LEAST = 0.001  # of what is measured in seconds, milliseconds or MiB; less is not told from nothing
_HEADINGS = ["measure", "base", "this one", "ratio", "range", "holds"]

Measure = Callable[[Service, Effort], list[Figure]]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """One figure of both commits, pair by pair."""

    measure: str
    unit: str
    base: list[float] = field(default_factory=list)
    this: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """How many times as fast this commit was in each pair: above 1 is faster, also where less is better."""
        pairs = zip(self.base, self.this, strict=True)
        if self.unit.endswith("/s"):
            return [max(this, _LEAST) / max(base, _LEAST) for base, this in pairs]
        return [max(base, _LEAST) / max(this, _LEAST) for base, this in pairs]

    @property
    def ratio(self) -> float:
        return float(median(self.ratios))

    @property
    def holds(self) -> bool:
        """Not slower, or not more than the runs differ among themselves."""
        return self.ratio >= ENOUGH or max(self.ratios) >= 1

    def as_json(self) -> dict[str, Any]:
        named = {"measure": self.measure, "unit": self.unit, "base": self.base, "this": self.this}
        return {**named, "ratios": self.ratios, "ratio": self.ratio, "holds": self.holds}

    def as_row(self) -> list[str]:
        ratios = self.ratios
        return [
            self.measure,
            *(f"{median(values):,.4g} {self.unit}" for values in (self.base, self.this)),
            f"{self.ratio:.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            "yes" if self.holds else "NO",
        ]


def measured_in_turn(
    measures: Sequence[Measure], *, base: Service, this: Service, effort: Effort, number: int
) -> Iterator[list[Pairs]]:
    """Measure by measure, each with `number` pairs."""
    for measure in measures:
        pairs: dict[str, Pairs] = {}
        for turn in range(number):
            for service in (base, this) if turn % 2 == 0 else (this, base):
                for figure in measure(service, effort):
                    known = pairs.setdefault(figure.measure, Pairs(measure=figure.measure, unit=figure.unit))
                    (known.base if service is base else known.this).append(figure.value)
                service.settle()
        yield list(pairs.values())


def table(pairs: Sequence[Pairs]) -> str:
    return written_table([_HEADINGS, *(one.as_row() for one in pairs)])

"""What a measure comes to, and how it is shown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table: a value, what it was measured beside in the same run, and the bound that should hold.

    `ratio` is what the bound speaks of. At least one of `at_least` and `at_most` is set where there is a bound.
    """

    measure: str
    value: float
    unit: str
    beside: str = ""
    beside_value: float | None = None
    ratio: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        """None where nothing was to be reached."""
        if self.ratio is None or (self.at_least is None and self.at_most is None):
            return None
        return (self.at_least is None or self.ratio >= self.at_least) and (
            self.at_most is None or self.ratio <= self.at_most
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}

    def as_row(self) -> list[str]:
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else ""
        if self.at_most is not None:
            bound = f"≤ {self.at_most:g}"
        beside = f"{self.beside}: {self.beside_value:,.4g} {self.unit}" if self.beside_value is not None else ""
        ratio = f"{self.ratio:.2f}" if self.ratio is not None else ""
        held = {None: "", True: "yes", False: "NO"}[self.holds]
        notes = ", ".join(f"{name} {_written(value)}" for name, value in self.notes.items())
        return [self.measure, f"{self.value:,.4g} {self.unit}", beside, ratio, bound, held, notes]


HEADINGS = ["measure", "figure", "beside", "ratio", "to reach", "holds", "notes"]


def table(figures: list[Figure]) -> str:
    """A Markdown table that is also readable as it stands."""
    return written_table([HEADINGS, *(figure.as_row() for figure in figures)])


def written_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row holds the headings."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _written(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def middle(values: list[float]) -> float:
    """The median; the machine is seldom quiet for a whole run."""
    return float(median(values))

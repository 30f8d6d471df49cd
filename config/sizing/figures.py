"""What one trigger, step, webhook and so on costs in bytes, log and processor time: measured, in one file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("figures.json")
ROWS = ("customer", "trigger", "job", "enrollment", "step", "webhook", "event")  # whose bytes are known
LOGGED = ("trigger", "step", "webhook", "event")
WORK = ("trigger", "decision", "step", "webhook", "event")


class FiguresUnusable(Exception):
    """The file is not there, or lacks something."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The file's fields. `microseconds` are by the kind of work, then by the process that spends them."""

    version: str
    machine: str
    date: str
    bytes: Mapping[str, float]
    wal_bytes: Mapping[str, float]
    microseconds: Mapping[str, Mapping[str, float]]
    per_second: Mapping[str, Mapping[str, float]]  # by how many sets of the processes ran

    def processes_us(self, work: str) -> float:
        """Of the Procfile's processes together."""
        return sum(spent for name, spent in self.microseconds[work].items() if name != "postgresql")

    def postgresql_us(self, work: str) -> float:
        return self.microseconds[work]["postgresql"]


def read_figures(file: Path | None = None) -> Figures:
    """Of the file that comes with the service. Raises FiguresUnusable, which says what to do."""
    file = file or FILE
    try:
        written: dict[str, Any] = json.loads(file.read_text())
        figures = Figures(**{name: written[name] for name in Figures.__dataclass_fields__})
        for known, names in ((figures.bytes, ROWS), (figures.wal_bytes, LOGGED), (figures.microseconds, WORK)):
            for name in names:
                known[name]
        for work in WORK:
            figures.postgresql_us(work)
        figures.per_second["1"]["triggers"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FiguresUnusable(
            f"{file.name} cannot be used ({type(error).__name__}: {error}). `make sizing ARGS=--write` writes it anew."
        ) from error
    return figures

"""`split`: customers are divided among paths by chance, and the same customer always takes the same path: the one, by
its place, that they took first, also where weights have been changed since.

`{"id": "test", "type": "split", "paths": [{"weight": 90, "next": "a"}, {"weight": 10, "next": "b"}]}`.
"""

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from engage.json.described import abouts_of, list_of, object_of, told, within, written
from engage.json.documents import Part
from engage.notations.plurals import plain
from journeys.steps.context import StepContext
from journeys.steps.kinds import STEP, Kind, Way, way
from journeys.steps.results import GoTo, StepResult, going_on, step_record
from journeys.steps.written import WrittenStep

MAX_PATHS = 20
MAX_WEIGHT = 1_000_000
_HASHED_BYTES = 8


def _read_weight(part: Part) -> float:
    weight = part.number()
    if not 0 < weight <= MAX_WEIGHT:
        part.refuse(f"must be more than 0 and at most {MAX_WEIGHT:,}.")
    return weight


@dataclass(frozen=True, kw_only=True)
class Path:
    """A path taken by a share of the customers: its weight divided by the sum of all weights."""

    weight: float = written("weight", _read_weight, about=told("Weight", "weight", start=50))
    next: str | None = within("next", WrittenStep.target, about=STEP)


@dataclass(frozen=True, kw_only=True)
class Split(Kind):
    """Follows one of the paths; the choice is stable per journey, step and customer (enrollments/drawn_ways.py)."""

    type: ClassVar = "split"
    title: ClassVar = "Split by chance"
    icon: ClassVar = "alt_route"
    does: ClassVar = (
        "Goes one of the ways by chance, as often as its weight says; the same customer always the same way."
    )
    examples: ClassVar = ({"id": "halves", "paths": [{"weight": 90, "next": "note"}, {"weight": 10, "next": "leave"}]},)

    paths: tuple[Path, ...] = within(
        "paths",
        list_of(object_of(Path), at_most=MAX_PATHS, least=2, called="two paths"),
        about=told("Ways", "list", item="way", fields=abouts_of(Path), least=2, most=MAX_PATHS),
    )

    @property
    def label(self) -> str:
        return f"Split {' : '.join(plain(path.weight) for path in self.paths)}"

    def ways(self) -> list[Way]:
        total = sum(path.weight for path in self.paths)
        return [way(path.next, f"{100 * path.weight / total:.3g} %") for path in self.paths]

    def begin(self, context: StepContext) -> StepResult:
        number = context.drawn.get(self.id, MAX_PATHS)
        if number >= len(self.paths):  # nothing was drawn yet, or a path that is gone
            number = self.path_of(journey_id=context.journey_id, customer_id=context.customer.id)
        step_id = self.paths[number].next
        detail = f"Path {number + 1} of {len(self.paths)}: {going_on(step_id)}."
        return StepResult(step_record=step_record(self, "done", detail), then=GoTo(step_id=step_id))

    def path_of(self, *, journey_id: str, customer_id: str) -> int:
        """The index of the path that is drawn for the customer by these weights."""
        digest = hashlib.sha256(f"{journey_id}/{self.id}/{customer_id}".encode()).digest()
        ends = list(accumulate(path.weight for path in self.paths))
        point = int.from_bytes(digest[:_HASHED_BYTES]) / 256**_HASHED_BYTES * ends[-1]
        return next((index for index, end in enumerate(ends) if point < end), len(ends) - 1)

"""The rendering of one step: its scope, its time limit, and the variables that had no value."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from engage.json.storable import storable
from engage.process.budget import Budget, OverBudget
from journeys.rendering.failures import RenderingFailed

MAX_NOTED = 100
# Of CPU time; no more is begun after it. A single filter over the largest values takes up to 20 ms more.
_MAX_SECONDS = 0.075
_UNITS_PER_LOOK = 8
_OF_BUDGET = 32  # units of a budget for one of these
_LONGEST_NAME = 200  # characters


class Rendering:
    """The scope that the templates of one step are rendered with, and the names that had no value in it.

    The scope is created when the first template asks for it. All templates of the step share 100 ms of CPU time, and
    what is left of the budget that holds, because the cost of a single part cannot be known in advance (of comparing
    two large values, for example). So the clock is looked at before each part that may cost much, and each of these is
    bounded by the size of its values.
    """

    def __init__(self, make_scope: Callable[[], Mapping[str, object]]) -> None:
        self._make_scope = make_scope
        self._missing: dict[str, None] = {}
        self._units = 0
        self._budget: Budget | None = None
        self._unnoted: tuple[str, ...] = ()
        self.escapes = False

    @cached_property
    def scope(self) -> Mapping[str, object]:
        return self._make_scope()

    @contextmanager
    def knowing(self, **names: object) -> Iterator[None]:
        """Meanwhile, the scope has these names as well; of what they lack, nothing is noted."""
        before, self.scope = self.scope, {**self.scope, **names}
        self._unnoted = tuple(f"{name}." for name in names)
        try:
            yield
        finally:
            self.scope, self._unnoted = before, ()

    @contextmanager
    def escaping(self) -> Iterator[None]:
        """Meanwhile, markup in what is put out is escaped."""
        self.escapes = True
        try:
            yield
        finally:
            self.escapes = False

    def note(self, name: str) -> None:
        """Notes a name without a value, shortened and made storable; only the first MAX_NOTED are kept."""
        if self._unnoted and name.startswith(self._unnoted):
            return
        if len(self._missing) < MAX_NOTED:
            self._missing[storable(name[:_LONGEST_NAME])] = None

    def work(self, units: int = 1) -> None:
        """Must be called before each part of the work; a unit is some microseconds. Raises RenderingFailed."""
        self._units += units
        if self._units < _UNITS_PER_LOOK:
            return
        units, self._units = self._units, 0
        self._budget = self._budget or Budget(_MAX_SECONDS)
        try:
            self._budget.spend(units * _OF_BUDGET)
        except OverBudget as over:
            raise RenderingFailed(f"it takes too long: {over.figure}.") from None

    @property
    def missing(self) -> tuple[str, ...]:
        """The noted names, each once, in the order in which they were first used."""
        return tuple(self._missing)

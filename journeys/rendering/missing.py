"""Variables without a value, and where they are noted."""

from collections.abc import Callable, ItemsView, Mapping
from functools import cached_property
from typing import Any

from liquid import Undefined

MAX_NAMES = 100
_LONGEST_NAME = 200


class Rendering:
    """The scope that the templates of one step are rendered with, and the names that had no value in it.

    The scope is made when the first template asks for it.
    """

    def __init__(self, make_scope: Callable[[], Mapping[str, object]]) -> None:
        self._make_scope = make_scope
        self._missing: dict[str, None] = {}

    @cached_property
    def scope(self) -> Mapping[str, object]:
        return self._make_scope()

    def note(self, name: str) -> None:
        """Notes a name without a value: the first MAX_NAMES of them."""
        if len(self._missing) < MAX_NAMES:
            self._missing[name[:_LONGEST_NAME]] = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The noted names, each once, in the order in which they were met."""
        return tuple(self._missing)


class Missing(Undefined):
    """A variable without a value: empty, false, and noted as soon as it is used for more than a test."""

    __slots__ = ("rendering",)

    def __init__(self, name: str, rendering: Rendering) -> None:
        super().__init__(name)
        self.rendering = rendering

    def note(self) -> None:
        self.rendering.note(self.name)

    def __str__(self) -> str:
        self.note()
        return ""

    def items(self) -> ItemsView[Any, object]:
        """What a loop goes over."""
        self.note()
        return super().items()

"""A variable that has no value."""

from collections.abc import ItemsView
from typing import Any

from liquid import Undefined

from journeys.rendering.rendering import Rendering


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
        """What a loop iterates over."""
        self.note()
        return super().items()

"""Teaches the processes of a run two more types of step."""

from django.apps import AppConfig

from journeys.steps import definition
from tests.chaos.poison.steps import EatsMemory, ExitsChild, parse_eats_memory, parse_exits_child


class PoisonConfig(AppConfig):
    name = "tests.chaos.poison"

    def ready(self) -> None:
        parsers: dict[str, object] = definition._PARSERS  # type: ignore[assignment]
        parsers |= {ExitsChild.type: parse_exits_child, EatsMemory.type: parse_eats_memory}

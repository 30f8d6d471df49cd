"""Teaches the processes of a run two more types of step."""

from django.apps import AppConfig

from journeys.steps import definition
from tests.chaos.poison.steps import EatsMemory, ExitsChild


class PoisonConfig(AppConfig):
    name = "tests.chaos.poison"

    def ready(self) -> None:
        kinds: dict[str, object] = definition._BY_TYPE  # type: ignore[assignment]
        kinds |= {ExitsChild.type: ExitsChild, EatsMemory.type: EatsMemory}

"""Journeys to begin with: seed files, of which an editor takes the steps and exits."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "starters"


@dataclass(frozen=True, kw_only=True)
class Starter:
    """`seed` is the whole file: the journey, and what it names of a workspace."""

    name: str
    about: str
    seed: Mapping[str, Any]

    @property
    def content(self) -> dict[str, Any]:
        """What is edited of it."""
        journey = self.seed["journeys"][0]
        return {"steps": journey["steps"], "exitOn": journey.get("exitOn", [])}


def _read(path: Path) -> Starter:
    file = json.loads(path.read_text())
    return Starter(name=file["seed"]["journeys"][0]["name"], about=file["about"], seed=file["seed"])


# By the names of their files, in the order in which they are offered.
STARTERS: Mapping[str, Starter] = {
    name: _read(FOLDER / f"{name}.json") for name in ("welcome", "cart", "renewal", "survey", "win_back")
}

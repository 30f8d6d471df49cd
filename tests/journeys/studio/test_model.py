"""The editor's model in Node, beside the check of the service: the tests themselves are in model.test.mjs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from engage.errors import Refusal
from journeys.steps.definition import KINDS, parse_steps
from journeys.steps.description import described
from journeys.steps.kinds import examples_of
from tests.journeys.steps.any_steps import Definition, definitions
from tests.support.node import run

HERE = Path(__file__).parent
EXAMPLES = [example for kind in KINDS for example in examples_of(kind)]


def any_definitions(number: int) -> list[list[dict[str, Any]]]:
    """The same definitions each time, of steps of all types."""
    found: list[list[dict[str, Any]]] = []

    @settings(max_examples=number, derandomize=True, database=None)
    @given(definitions())
    def collect(definition: Definition) -> None:
        found.append(definition[0])

    collect()
    return found


def written(steps: list[dict[str, Any]]) -> str:
    return json.dumps({"steps": steps, "exitOn": [{"event": "bought"}]}, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node here")
def test_the_model_keeps_what_it_is_given_and_what_it_makes_can_be_checked(tmp_path: Path) -> None:
    texts = [written(steps) for steps in [EXAMPLES, *any_definitions(150)]]
    valid = [written(steps) for steps in [[], EXAMPLES, *any_definitions(150)] if is_whole(steps)]
    given_to_node = tmp_path / "studio.json"
    given_to_node.write_text(json.dumps({"kinds": described(), "texts": texts, "valid": valid}))
    run("env", f"STUDIO={given_to_node}", "node", "--test", HERE / "model.test.mjs")
    for text in json.loads(given_to_node.with_suffix(".json.made").read_text()):
        mistakes = mistakes_in(json.loads(text))
        assert all(place.startswith("steps") for place, _ in mistakes)
        assert not [place for place, why in mistakes if "but no step has this id" in why and "delivery" not in place]


def is_whole(steps: list[dict[str, Any]]) -> bool:
    """Whether each of its ways leads somewhere."""
    return not any("but no step has this id" in why for _, why in mistakes_in(steps))


def mistakes_in(steps: Any) -> list[tuple[str, str]]:
    """The places, and what the check says of them."""
    try:
        parse_steps(steps)
    except Refusal as refused:
        return [(found.place, found.message) for found in refused.all_found()]
    return []

"""Conditions as rows, in Node, with conditions by chance: the tests themselves are in shapes.test.mjs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.customers.any_conditions import trees
from tests.support.node import run

HERE = Path(__file__).parent


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node here")
def test_rows_show_every_condition_and_lose_nothing_of_it(tmp_path: Path) -> None:
    texts: list[str] = []

    @settings(max_examples=150, derandomize=True, database=None)
    @given(trees)
    def collect(condition: dict[str, Any]) -> None:
        texts.append(json.dumps(condition))

    collect()
    conditions = tmp_path / "conditions.json"
    conditions.write_text(json.dumps(texts))
    run("env", f"CONDITIONS={conditions}", "node", "--test", HERE / "shapes.test.mjs")

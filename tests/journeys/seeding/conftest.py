"""`seed(description, …)` runs the command on a file."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.journeys.seeding.descriptions import DESCRIPTION, Seed


@pytest.fixture
def seed(tmp_path: Path) -> Seed:
    """Runs the command with a description (an object, or raw bytes); returns what it printed."""

    def run(description: Any = DESCRIPTION, *options: str) -> dict[str, Any]:
        file = tmp_path / "seed.json"
        file.write_bytes(description if isinstance(description, bytes) else json.dumps(description).encode())
        printed = io.StringIO()
        call_command("seed_workspace", str(file), "--json", *options, stdout=printed)
        return dict(json.loads(printed.getvalue()))

    return run

"""Linters find nothing in the OpenAPI document."""

from pathlib import Path

import pytest

from tests.generated_clients.programs import run

pytestmark = pytest.mark.usefixtures("node")
HERE = Path(__file__).parent


def test_redocly_finds_nothing(document: Path) -> None:
    told = run("redocly", "lint", document, "--config", HERE / "redocly.yaml", cwd=HERE)
    assert "Your API description is valid." in told


def test_spectral_finds_nothing(document: Path) -> None:
    told = run("spectral", "lint", document, "--ruleset", HERE / ".spectral.yaml", "--fail-severity", "hint", cwd=HERE)
    assert "No results with a severity of 'hint' or higher found!" in told

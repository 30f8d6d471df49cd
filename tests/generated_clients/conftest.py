"""The document as a file, and Node."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from config.docs.documentation import openapi_document
from tests.support.processes import ROOT


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The file with the document as it is served."""
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(openapi_document(), indent=1))
    return file


@pytest.fixture(scope="session")
def node() -> None:
    """Node and what package.json names. Where they cannot be had, the test is left out."""
    installed = subprocess.run([ROOT / ".ci/install-node"], capture_output=True, text=True, check=False)
    if installed.returncode:
        told = f"{installed.stdout}{installed.stderr}".strip()
        if os.environ.get("NODE") == "required":
            pytest.fail(told)
        pytest.skip(told)

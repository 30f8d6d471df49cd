"""Programs of Node, with what the SDK is built and tried with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.browser.building import TOOLS
from tests.support.processes import ROOT

PATH = os.pathsep.join([str(TOOLS / "node_modules/.bin"), str(Path(sys.executable).parent), os.environ["PATH"]])


def install_sdk_tools() -> None:
    """Where Node cannot be had, the test is left out; where it is required, it fails."""
    folder = TOOLS.relative_to(ROOT)
    installed = subprocess.run([ROOT / ".ci/install-node", folder], capture_output=True, text=True, check=False)
    if installed.returncode:
        told = f"{installed.stdout}{installed.stderr}".strip()
        if os.environ.get("NODE") == "required":
            pytest.fail(told)
        pytest.skip(told)


def run(*command: str | Path, given: bytes = b"", cwd: Path = ROOT) -> bytes:
    """What the program printed. Raises AssertionError with it if the program failed."""
    ended = subprocess.run(
        command, cwd=cwd, env={**os.environ, "PATH": PATH}, input=given, capture_output=True, check=False
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
    return ended.stdout

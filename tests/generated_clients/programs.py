"""Programs that are run on the OpenAPI document."""

import os
import subprocess
import sys
from pathlib import Path

# Of this checkout's Python, and of its package.json.
PATH = os.pathsep.join(
    [str(Path(sys.executable).parent), str(Path(__file__).with_name("node_modules") / ".bin"), os.environ["PATH"]]
)
# Linters do not ask the internet whether there is a newer one, nor tell it that they were used.
_QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


def run(*command: str | Path, cwd: Path) -> str:
    """What the program printed. Raises AssertionError with it if the program failed."""
    ended = subprocess.run(
        command, cwd=cwd, env={**os.environ, **_QUIET, "PATH": PATH}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr

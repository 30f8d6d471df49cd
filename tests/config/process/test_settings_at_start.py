"""Processes that are no commands say in one line, too, why they do not start."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config import ROOT
from config.local import servers

REFUSED = "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not 'loud'.\n"
PROCESSES = {
    "web": ["-c", "import config.wsgi"],
    "worker": ["-m", "celery", "--quiet", "-A", "config", "worker"],
    "scheduler": ["-m", "celery", "--quiet", "-A", "config", "beat"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSES)
def test_where_a_setting_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, *PROCESSES[name]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "ENVIRONMENT": "development", "LOG_LEVEL": "loud"},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, "", REFUSED)


@pytest.mark.slow
def test_where_the_servers_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    environment = {**os.environ, "ENVIRONMENT": "development", "EMBEDDED_GRACE": "soon"}
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *PROCESSES["web"]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
        env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "EMBEDDED_GRACE must be a number of seconds such as 0.5, not 'soon'.\n",
    )
    shutil.rmtree(servers.redis().sockets)

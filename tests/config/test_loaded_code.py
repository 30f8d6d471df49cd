"""What a process has loaded is spared by its garbage collector, and shared by its children."""

import subprocess
import sys

import pytest

from config.servers import ROOT
from tests.processes import environment

_TELL = "import gc; print(gc.get_freeze_count(), len(gc.get_objects()), gc.isenabled())"
_BEGIN_WEB = "import config.wsgi, sys; assert 'bridge.views' in sys.modules"  # before the first request
_BEGIN_WORKER = """
from celery.signals import worker_before_create_process
from config.celery import app
app.loader.import_default_modules()
worker_before_create_process.send(sender=None)
"""
_PROCESSES = {
    "web": ["-c", f"{_BEGIN_WEB}\n{_TELL}"],
    "worker": ["-c", f"{_BEGIN_WORKER}\n{_TELL}"],
    "command": ["manage.py", "shell", "--verbosity", "0", "--no-imports", "--command", _TELL],
}


@pytest.mark.parametrize("process", _PROCESSES)
def test_a_collection_looks_at_hardly_anything_of_what_was_loaded(process: str) -> None:
    done = subprocess.run(
        [sys.executable, *_PROCESSES[process]],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    spared, looked_at, collects = done.stdout.split()[-3:]
    assert int(spared) > 100_000
    assert int(looked_at) < 2_000
    assert collects == "True"

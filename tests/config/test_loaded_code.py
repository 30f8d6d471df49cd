"""What a process has loaded is spared by its garbage collector, and shared by its children."""

import subprocess
import sys

import pytest

from config.servers import ROOT
from tests.processes import environment

_BEGIN = {
    "web": "import config.wsgi, sys; assert 'bridge.views' in sys.modules",  # before the first request
    "worker": """
from celery.signals import worker_before_create_process
from config.celery import app
app.loader.import_default_modules()
worker_before_create_process.send(sender=None)
""",
}
_TELL = "import gc; print(gc.get_freeze_count(), len(gc.get_objects()))"


@pytest.mark.parametrize("process", _BEGIN)
def test_a_collection_looks_at_hardly_anything_of_what_was_loaded(process: str) -> None:
    code = f"{_BEGIN[process]}\n{_TELL}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    spared, looked_at = map(int, done.stdout.split()[-2:])
    assert spared > 100_000
    assert looked_at < 2_000

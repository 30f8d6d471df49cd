"""What a process loads is no more than it needs; its garbage collector spares it, and its children share it."""

import subprocess
import sys
from functools import cache

import pytest
from django.core.checks import run_checks

from config import ROOT
from tests.support.processes import environment

_TELL = "import gc; print(gc.get_freeze_count(), len(gc.get_objects()), gc.isenabled())"
_TELL_LOADED = "print(*sorted({'config.urls', 'unfold.admin', 'rest_framework.parsers'} & sys.modules.keys()))"
_BEGIN_WEB = "import config.wsgi, sys; assert 'bridge.api.interactions' in sys.modules"  # before the first request
_BEGIN_WORKER = """
from celery.signals import worker_before_create_process
from config.celery import app
app.loader.import_default_modules()
worker_before_create_process.send(sender=None)
"""
_PROCESSES = {
    "web": ["-c", f"{_BEGIN_WEB}\n{_TELL}"],
    "worker": ["-c", f"import sys\n{_BEGIN_WORKER}\n{_TELL_LOADED}\n{_TELL}"],
    "command": ["manage.py", "shell", "--verbosity", "0", "--no-imports", "--command", _TELL],
}


_COMMANDS = {
    "seed_workspace": ["/nowhere"],
    "prune": ["--dry-run"],
    "webhook_secret": ["nobody"],
    "rotate_webhook_secret": ["nobody"],
    "walk_through": ["nothing", "--customer", "nobody"],
}


@pytest.mark.slow
@pytest.mark.parametrize("process", _PROCESSES)
def test_a_collection_looks_at_hardly_anything_of_what_was_loaded(process: str) -> None:
    spared, looked_at, collects = _printed(*_PROCESSES[process]).split()[-3:]
    assert int(spared) > 100_000
    assert int(looked_at) < 2_000
    assert collects == "True"


def test_workers_and_the_scheduler_load_no_views_and_no_pages() -> None:
    loaded, _spared = _printed(*_PROCESSES["worker"]).splitlines()
    assert loaded == ""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_commands_load_no_views_and_no_pages() -> None:
    runs = [f"execute({['manage.py', name, *arguments]})" for name, arguments in _COMMANDS.items()]
    tried = "\n".join(f"with suppress(SystemExit): {run}" for run in runs)
    begin = "import sys\nfrom contextlib import suppress\nfrom config.process.command_line import execute"
    assert _printed("-c", f"{begin}\n{tried}\n{_TELL_LOADED}").endswith("\n\n")


_CHECK_PAGES = """
import django
from django.contrib import admin
from django.core.checks import run_checks
django.setup()
from bridge.models import Interaction
print(admin.site.is_registered(Interaction))
run_checks(tags=["admin"])
print(admin.site.is_registered(Interaction))
"""


@pytest.mark.slow
def test_the_checks_of_the_pages_load_them_first() -> None:
    assert _printed("-c", _CHECK_PAGES).split() == ["False", "True"]


def test_django_finds_nothing_wrong() -> None:
    assert [message for message in run_checks() if not message.is_silenced()] == []


@cache  # two tests look at one worker
def _printed(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    return done.stdout

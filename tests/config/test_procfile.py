"""The Procfile: what runs in production and in development alike."""

import re

from django.conf import settings

from config import ROOT
from config.local.processes import commands, workers
from config.process import aside
from journeys.models import Chunk


def test_celery_is_started_by_its_own_program() -> None:
    """At a SIGHUP it starts itself anew; a worker that was started as a module of Python would end instead."""
    starts = [command.split()[0] for command in commands(ROOT / "Procfile").values() if "celery" in command]
    assert starts == ["celery"] * 5


def test_each_queue_has_a_worker_and_only_the_sweeper_shares_one() -> None:
    """So the journeys' steps wait behind no large call, and nothing is sent to where nobody listens."""
    heard = re.findall(r"--queues (\S+)", (ROOT / "Procfile").read_text())
    sent = {lane.value for lane in Chunk.Lane} | {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    assert sorted(queue for queues in heard for queue in queues.split(",")) == sorted(sent - aside.QUEUES.keys())
    assert set(aside.QUEUES.values()) <= set(heard)
    assert [queues for queues in heard if "," in queues] == ["walk,sweep"]
    assert workers(ROOT / "Procfile") == len(heard)

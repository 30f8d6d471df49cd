"""The Celery app: Redis carries wake-ups, PostgreSQL holds the work.

A message may be lost or arrive twice. Neither matters, because work is claimed by row locks, and a sweeper wakes the
workers again while rows are waiting. No ETA or countdown is used: a wait is a `due_at` in PostgreSQL.
"""

import os
import re
import warnings
from typing import Any

import structlog
from celery import Celery
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import (
    beat_init,
    celeryd_after_setup,
    setup_logging,
    task_failure,
    task_prerun,
    worker_before_create_process,
    worker_process_shutdown,
)
from django.conf import settings
from django.db import close_old_connections

from config.monitoring.presence import announce
from config.process.aside import Aside
from config.process.loaded_code import collect_seldom, freeze_loaded_objects
from config.process.lookout import Lookout, NoteListening
from config.process.receiving import use_for_redis
from config.process.reconnecting import PauseBeforeConnecting
from config.process.settings_at_start import load_settings
from engage.process import error_reports, tracing
from engage.process.request_log import configure_logging
from engage.redis.metric_counters import metric_counters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks load all views, which a worker would keep in memory. `manage.py check` runs them before a deployment.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
load_settings()
tracing.load()
error_reports.load()
use_for_redis()

_PASSWORD_IN_URL = re.compile(r"(://[^\s:@/]*:)\S+(?=@)")


class _App(Celery):
    def bugreport(self) -> str:
        """What `celery report` prints to be passed on. Celery itself hides passwords in its own settings only."""
        return _PASSWORD_IN_URL.sub(r"\1********", super().bugreport())


app = _App("engage")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["consumer"].update((PauseBeforeConnecting, NoteListening))
app.steps["worker"].update((Lookout, Aside))
log = structlog.get_logger(__name__)


@celeryd_after_setup.connect
def _warn_of_no_other_default(**_: Any) -> None:
    """Silences the warning, at each lost connection, that tasks go on. Celery has enabled its warnings by now."""
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)


@celeryd_after_setup.connect
def _warn_of_waiting_webhooks(**_: Any) -> None:
    if not settings.SENDING:
        log.warning("sending_is_off", waits="every webhook", until="SENDING is on and the processes are started anew")


@beat_init.connect
def _announce_the_scheduler(**_: Any) -> None:
    announce(["scheduler"])


@setup_logging.connect
def _use_our_logging(**_: Any) -> None:
    configure_logging()


@worker_before_create_process.connect
def _share_memory_with_the_child(**_: Any) -> None:
    freeze_loaded_objects()
    collect_seldom()


@worker_process_shutdown.connect
def _send_what_is_left(**_: Any) -> None:
    """A worker's child process ends without running Python's exit handlers."""
    metric_counters.send_last()
    tracing.send_last()
    error_reports.send_last()


@task_prerun.connect
def _leave_broken_connections(*, task: Any, **_: Any) -> None:
    """As Django does before a request. Celery keeps a connection for many tasks, even a broken one."""
    if not task.request.is_eager:
        close_old_connections()


@task_prerun.connect
def _bind_log(*, task: Any, task_id: str, **_: Any) -> None:
    """Adds the task to each of its log lines, and the request that woke it; its work may be that of other requests."""
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(task=task.name, task_id=task_id)
    if request_id := (task.request.headers or {}).get("request_id"):
        structlog.contextvars.bind_contextvars(woken_by=request_id)


@task_failure.connect
def _log_failure(*, sender: Any, task_id: str, exception: BaseException, **_: Any) -> None:
    """Replaces Celery's own line, which would print the exception's message and the arguments."""
    log.error("task_failed", task=sender.name, task_id=task_id, exc_info=exception)

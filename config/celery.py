"""The Celery app: Redis carries wake-ups, PostgreSQL knows what is to be done.

A message may be lost or come twice; neither matters, because work is claimed by a lock on its rows and a sweeper wakes
the workers again while rows wait. No ETA and no countdown: a wait is a `due_at` in PostgreSQL.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

from engage.request_log import configure_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("engage")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _use_our_logging(**_: Any) -> None:
    configure_logging()

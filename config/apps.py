from django.apps import AppConfig

from config.celery import app as celery_app
from engage.request_log import configure_logging


class ProcessConfig(AppConfig):
    """What every process of the service does when it starts, be it web, worker, scheduler or a command."""

    name = "config"

    def ready(self) -> None:
        configure_logging()
        celery_app.set_default()

from django.apps import AppConfig

from config.celery import app as celery_app
from engage.process.request_log import configure_logging


class ProcessConfig(AppConfig):
    """The start-up of every process of the service: web, worker, scheduler or command."""

    name = "config"

    def ready(self) -> None:
        configure_logging()
        celery_app.set_default()

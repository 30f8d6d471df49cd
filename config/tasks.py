"""The Celery task of the service as a whole; those of journeys are in journeys/tasks.py."""

from celery import shared_task
from django.conf import settings

from config.monitoring import telling
from engage.database.alone import alone


@shared_task(name="tell")
def tell() -> None:
    """Notes what is wrong, and tells people of it. Nothing while SENDING is off: a copy has nobody to tell."""
    if settings.SENDING:
        with alone("alerts_noted"):
            telling.look()
        with alone("alerts_told"):
            telling.tell()

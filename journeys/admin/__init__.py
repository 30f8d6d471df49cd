"""The admin's pages for journeys, their triggers, jobs and enrollments, what steers them, and the webhook secrets."""

from journeys.admin import (
    dashboard,
    enrollments,
    failures,
    jobs,
    journeys,
    panels,
    steered,
    triggers,
    webhook_secrets,
)

__all__ = [
    "dashboard",
    "enrollments",
    "failures",
    "jobs",
    "journeys",
    "panels",
    "steered",
    "triggers",
    "webhook_secrets",
]

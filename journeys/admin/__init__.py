"""The admin's pages for journeys, their triggers, jobs and enrollments, what steers them, and the webhook secrets."""

from journeys.admin import (
    acts,
    dashboard,
    enrollments,
    failures,
    jobs,
    journeys,
    panels,
    steered_hosts,
    triggers,
    webhook_secrets,
)

__all__ = [
    "acts",
    "dashboard",
    "enrollments",
    "failures",
    "jobs",
    "journeys",
    "panels",
    "steered_hosts",
    "triggers",
    "webhook_secrets",
]

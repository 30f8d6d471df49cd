"""The pages of staff about journeys: each thing has its own."""

from journeys.connection import page as connections
from journeys.delivery import failures, in_app, webhook_secrets
from journeys.delivery import hosts as steered
from journeys.enrollment import history, panels
from journeys.enrollment import page as enrollments
from journeys.journey import page as journeys
from journeys.overview import dashboard
from journeys.subscription import page as subscriptions
from journeys.trigger import jobs_page as jobs
from journeys.trigger import page as triggers
from journeys.variable import page as variables

__all__ = [
    "connections",
    "dashboard",
    "enrollments",
    "failures",
    "history",
    "in_app",
    "jobs",
    "journeys",
    "panels",
    "steered",
    "subscriptions",
    "triggers",
    "variables",
    "webhook_secrets",
]

"""The admin's pages for journeys, the calls that trigger them, their jobs and their enrollments."""

from journeys.admin import dashboard, enrollments, jobs, journeys, panels, triggers, webhook_secrets

__all__ = ["dashboard", "enrollments", "jobs", "journeys", "panels", "triggers", "webhook_secrets"]

"""The admin's pages for journeys, their triggers, jobs and enrollments, what steers them, and the webhook secrets.

1. content_rights.py: who may see what journeys send; results.py: colours of results and states.
2. drawing/: journeys drawn; steering/: buttons; people/: who went where; deliveries/: webhooks; overview/: page one;
   connections/: what definitions name that is not in them.
3. journeys/: the page of a journey, of all of these.
"""

from journeys.admin.connections import connections, variables
from journeys.admin.deliveries import failures, subscriptions, webhook_secrets
from journeys.admin.journeys import page as journeys
from journeys.admin.overview import dashboard
from journeys.admin.people import enrollments, history, in_app, jobs, panels, triggers
from journeys.admin.steering import steered

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

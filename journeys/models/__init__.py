"""Journeys (journeys.py), the triggers that name customers for them and the resulting jobs (entering.py), enrollments
(walking.py), their webhooks (webhooks.py) and the in-app messages that they deliver (in_app.py); what is done about
them (steering.py) and counted of them (counts.py, goals.py); who is told of all that (subscriptions.py).

connections.py: what definitions name that is not in them; credentials.py: columns that hold credentials;
choices.py: what answers choose from.
"""

from journeys.models.connections import Connection, Variable
from journeys.models.counts import Count, CountDelta, CountKind
from journeys.models.entering import CHUNK_SIZE, Chunk, EnrollmentJob, Trigger, TriggerProgress, UnknownExternalId
from journeys.models.goals import Draw, GoalWatch
from journeys.models.in_app import InAppDelivery
from journeys.models.journeys import Journey, JourneyDraft, JourneyRevision
from journeys.models.steering import GuardedResults, SteeredHost, SteeringAct
from journeys.models.subscriptions import LARGEST_BATCH, Push, Subscription
from journeys.models.walking import Enrollment, StepRun
from journeys.models.webhooks import (
    HostDue,
    Resending,
    WebhookAttempt,
    WebhookCircuit,
    WebhookDelivery,
    WebhookHost,
    WebhookSecret,
)

__all__ = [
    "CHUNK_SIZE",
    "LARGEST_BATCH",
    "Chunk",
    "Connection",
    "Count",
    "CountDelta",
    "CountKind",
    "Draw",
    "Enrollment",
    "EnrollmentJob",
    "GoalWatch",
    "GuardedResults",
    "HostDue",
    "InAppDelivery",
    "Journey",
    "JourneyDraft",
    "JourneyRevision",
    "Push",
    "Resending",
    "SteeredHost",
    "SteeringAct",
    "StepRun",
    "Subscription",
    "Trigger",
    "TriggerProgress",
    "UnknownExternalId",
    "Variable",
    "WebhookAttempt",
    "WebhookCircuit",
    "WebhookDelivery",
    "WebhookHost",
    "WebhookSecret",
]

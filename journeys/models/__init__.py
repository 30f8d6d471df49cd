"""Journeys, the triggers that name customers for them, the resulting jobs and enrollments, and their webhooks."""

from journeys.models.counts import Count, CountDelta, CountKind
from journeys.models.entering import CHUNK_SIZE, Chunk, EnrollmentJob, Trigger, TriggerProgress, UnknownExternalId
from journeys.models.journeys import Journey, JourneyRevision
from journeys.models.steering import GuardedResults, SteeredHost, SteeringAct
from journeys.models.walking import Enrollment, StepRun
from journeys.models.webhooks import (
    Resending,
    WebhookAttempt,
    WebhookCircuit,
    WebhookDelivery,
    WebhookHost,
    WebhookSecret,
)

__all__ = [
    "CHUNK_SIZE",
    "Chunk",
    "Count",
    "CountDelta",
    "CountKind",
    "Enrollment",
    "EnrollmentJob",
    "GuardedResults",
    "Journey",
    "JourneyRevision",
    "Resending",
    "SteeredHost",
    "SteeringAct",
    "StepRun",
    "Trigger",
    "TriggerProgress",
    "UnknownExternalId",
    "WebhookAttempt",
    "WebhookCircuit",
    "WebhookDelivery",
    "WebhookHost",
    "WebhookSecret",
]

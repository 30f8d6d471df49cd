"""Webhooks that failed or keep failing: which of them meet what staff ask for, read along one index.

A delivery that has ended became due when it did, so `due_at` is when it failed.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Count, Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL

from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery

NO_ANSWER = 0
# The index is only for these states. They are written out: of a parameter a plan that is kept knows nothing.
HAS_FAILED = RawSQL("journeys_webhookdelivery.state = 'failed'", (), output_field=BooleanField())
KEEPS_FAILING = RawSQL(
    "journeys_webhookdelivery.state = 'waiting' AND journeys_webhookdelivery.attempts > 0",
    (),
    output_field=BooleanField(),
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Conditions that all have to be met; what is empty or None is not asked for.

    `workspaces` are those that the asker sees; None: all. `status` is that of the last answer (NO_ANSWER: none came).
    `since` and `before` are about when it failed.
    """

    workspace_id: str = ""
    workspaces: frozenset[str] | None = None
    journey_id: str = ""
    host: str = ""
    status: int | None = None
    since: datetime | None = None
    before: datetime | None = None


def failed(wanted: Wanted) -> QuerySet[WebhookDelivery]:
    """The deliveries that have failed for good."""
    return _meeting(wanted, WebhookDelivery.objects.filter(HAS_FAILED))


def of_status(status: int) -> Exists:
    """The condition for deliveries whose last attempt got this status, or no answer."""
    last = WebhookAttempt.objects.filter(delivery=OuterRef("pk"), number=OuterRef("attempts"))
    return Exists(last.filter(status=status) if status != NO_ANSWER else last.filter(status__isnull=True))


def of_journey(journey_id: str) -> Exists:
    """The condition for deliveries of this journey's enrollments."""
    return Exists(Enrollment.objects.filter(pk=OuterRef("enrollment_id"), journey=journey_id))


def unread() -> Exists:
    """The condition for deliveries whose step still waits: the walker has yet to read the result."""
    waiting = StepRun.objects.filter(
        enrollment_id=OuterRef("enrollment_id"), ordinal=OuterRef("ordinal"), state=StepRun.State.WAITING
    )
    return Exists(waiting)


def count_by_workspace(wanted: Wanted) -> dict[str, int]:
    """How many have failed, exactly, by workspace."""
    counted = failed(wanted).order_by().values_list("workspace_id").annotate(number=Count("pk"))
    return dict(counted)


def _meeting(wanted: Wanted, deliveries: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
    conditions: dict[str, Any] = {
        "workspace_id": wanted.workspace_id or None,
        "workspace_id__in": wanted.workspaces,
        "host": wanted.host or None,
        "due_at__gte": wanted.since,
        "due_at__lt": wanted.before,
    }
    deliveries = deliveries.filter(**{name: value for name, value in conditions.items() if value is not None})
    if wanted.status is not None:
        deliveries = deliveries.filter(of_status(wanted.status))
    if wanted.journey_id:
        deliveries = deliveries.filter(of_journey(wanted.journey_id))
    return deliveries

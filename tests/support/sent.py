"""Webhooks that were sent some minutes ago."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from customers.models import Customer
from journeys.models import Enrollment, Journey, StepRun, WebhookDelivery

NOW = timezone.now().replace(microsecond=0)


def ago(minutes: int) -> datetime:
    return NOW - timedelta(minutes=minutes)


def webhook(
    customer: Customer, journey: Journey, *, minutes: int, step: str = "tell", ordinal: int = 0, **fields: Any
) -> WebhookDelivery:
    """A webhook that was sent so many minutes ago."""
    inside, _ = Enrollment.objects.get_or_create(
        workspace_id=customer.workspace_id,
        journey=journey,
        customer=customer,
        defaults={"revision": journey.revisions.get(), "entered_at": NOW},
    )
    at = ago(minutes)
    StepRun.objects.create(
        workspace_id=inside.workspace_id, enrollment=inside, ordinal=ordinal, step_id=step, type="webhook",
        state="done", began_at=at,
    )  # fmt: skip
    given = {"state": "delivered", "result": "Answered 200.", "attempts": 1} | fields
    made = WebhookDelivery.objects.create(
        workspace_id=inside.workspace_id, enrollment=inside, ordinal=ordinal, host="shop.example:443", method="POST",
        url="https://shop.example/orders?key=secret", due_at=at, **given,
    )  # fmt: skip
    for number in range(1, made.attempts + 1):
        made.made.create(workspace_id=made.workspace_id, number=number, at=at, milliseconds=5, status=199 + number)
    return made

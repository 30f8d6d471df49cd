"""Sending a failed webhook again, because somebody asked for it."""

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from engage.errors import Refusal
from journeys.models import StepRun, WebhookDelivery


class DeliveryNotFailed(Refusal):
    """Only a webhook that has failed, and whose enrollment knows it, can be sent again."""

    status = 409
    error = "Webhook not failed"
    code = "webhook_not_failed"


def send_again(*, workspace_id: str, delivery_id: int) -> None:
    """Has a failed delivery sent once more, at once, with the same id and body. That moves nobody.

    Raises DeliveryNotFailed, also where the workspace has no such delivery. The caller wakes the sender.
    """
    # While the step waits for its end, the walker has yet to read what the delivery came to.
    unread = StepRun.objects.filter(
        enrollment_id=OuterRef("enrollment_id"), ordinal=OuterRef("ordinal"), state=StepRun.State.WAITING
    )
    failed = WebhookDelivery.objects.filter(
        ~Exists(unread), workspace_id=workspace_id, id=delivery_id, state=WebhookDelivery.State.FAILED
    )
    if not failed.update(state=WebhookDelivery.State.WAITING, result="", again=True, due_at=Now()):
        raise DeliveryNotFailed("Only a webhook that has failed can be sent again, once its journey has gone on.")

"""Sends a failed webhook again on request."""

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from engage.errors import Refusal
from journeys.models import StepRun, WebhookDelivery


class DeliveryNotFailed(Refusal):
    """Only a webhook that has failed, and whose enrollment has gone on since, can be sent again."""

    status = 409
    error = "Webhook not failed"
    code = "webhook_not_failed"


def send_again(*, workspace_id: str, delivery_id: int) -> None:
    """Makes a failed delivery due at once for one more attempt, with the same id and body. No enrollment moves.

    Raises DeliveryNotFailed, also if the workspace has no such delivery. The caller wakes the sender.
    """
    # While the step is still waiting, the walker has yet to read the delivery's result.
    unread = StepRun.objects.filter(
        enrollment_id=OuterRef("enrollment_id"), ordinal=OuterRef("ordinal"), state=StepRun.State.WAITING
    )
    failed = WebhookDelivery.objects.filter(
        ~Exists(unread), workspace_id=workspace_id, id=delivery_id, state=WebhookDelivery.State.FAILED
    )
    if not failed.update(state=WebhookDelivery.State.WAITING, result="", again=True, due_at=Now()):
        raise DeliveryNotFailed("Only a webhook that has failed can be sent again, once its journey has gone on.")

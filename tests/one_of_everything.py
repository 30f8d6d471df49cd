"""A row of every kind in a workspace, all connected."""

from django.utils import timezone

from engage.models import IdempotencyRecord, Workspace
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery, WebhookHost
from tests.admin.records import populate
from tests.factories import ApiKeyFactory, AppFactory


def one_of_everything(workspace: Workspace) -> Enrollment:
    """The enrollment, with everything that leads to it and hangs on it."""
    populate(workspace, rows=1)
    now, enrollment = timezone.now(), Enrollment.objects.get(workspace=workspace)
    assert enrollment.job
    enrollment.event = enrollment.job.trigger.event
    enrollment.save()
    StepRun.objects.create(
        workspace=workspace, enrollment=enrollment, ordinal=0, step_id="call", type="webhook",
        state=StepRun.State.DONE, event=enrollment.event, began_at=now, ended_at=now,
    )  # fmt: skip
    delivery = WebhookDelivery.objects.create(
        workspace=workspace, enrollment=enrollment, ordinal=0, host="a.example:443", method="POST",
        url="https://a.example/", state=WebhookDelivery.State.DELIVERED, due_at=now,
    )  # fmt: skip
    WebhookAttempt.objects.create(
        workspace=workspace, delivery=delivery, number=1, at=now, milliseconds=12, status=200, answer="", error=""
    )
    WebhookHost.objects.create(workspace=workspace, host="a.example:443")
    digests = {"call_digest": b"c" * 32, "body_digest": b"b" * 32}
    key, app = ApiKeyFactory.create(workspace=workspace), AppFactory.create(workspace=workspace)
    IdempotencyRecord.objects.create(workspace=workspace, api_key=key, **digests, status=202, body="{}")
    IdempotencyRecord.objects.create(workspace=workspace, app=app, **digests, status=200, body="{}")
    return enrollment

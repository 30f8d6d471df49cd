"""Webhooks that have failed, as the list of failures shows them."""

from django.db import connection

from engage.models import Workspace
from journeys.models import WebhookDelivery
from tests.journeys.webhooks.standing import standing

_FAIL = """
WITH failed AS (
    UPDATE journeys_webhookdelivery SET state = 'failed', attempts = 1, result = 'Answered ' || %(status)s || '.',
        due_at = now() - id * interval '1 millisecond' - %(ago)s * interval '1 second'
    WHERE id = ANY(%(ids)s) RETURNING *
), gone_on AS (
    UPDATE journeys_steprun SET state = 'failed', ended_at = now()
    WHERE enrollment_id = ANY(ARRAY(SELECT enrollment_id FROM failed))
), enrollments AS (
    UPDATE journeys_enrollment SET state = 'completed', ended_at = now()
    WHERE id = ANY(ARRAY(SELECT enrollment_id FROM failed))
)
INSERT INTO journeys_webhookattempt (workspace_id, delivery_id, number, at, milliseconds, status, answer, error)
SELECT workspace_id, id, 1, due_at, 3, nullif(%(status)s, 0), 'No such list.', '' FROM failed
"""


def failed_webhooks(
    workspace: Workspace, *, number: int = 1, host: str = "mail.example", status: int = 500, ago: float = 0
) -> list[WebhookDelivery]:
    """So many customers whose webhook has failed, so many seconds ago; each journey is another."""
    ids = [one.pk for one in standing(workspace, f"http://{host}/send", number=number)]
    with connection.cursor() as cursor:
        cursor.execute(_FAIL, {"ids": ids, "status": status, "ago": ago})
    return list(WebhookDelivery.objects.filter(pk__in=ids).order_by("pk"))

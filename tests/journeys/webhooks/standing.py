"""Enrollments that stand at a webhook step, with the delivery that the step made: what the walker leaves behind."""

from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, connections
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.webhooks.client import Client, Limits
from journeys.engine.webhooks.sending import Sent, send_due
from journeys.models import Journey, JourneyRevision, WebhookDelivery
from journeys.subscription.pushing.outbox import Outbox
from tests.support.factories import JourneyFactory

SOURCE = "step:of-any-journey:call"  # of all, if a test says nothing else
# Enough for what answers at all, and soon over for what does not.
SHORT = Limits(connect=0.3, total=0.6)

_STAND = """
WITH customer AS (
    INSERT INTO customers_customer (id, workspace_id, external_id, attributes)
    SELECT left(md5(random()::text), 24), %(workspace)s, md5(random()::text), '{}' FROM generate_series(1, %(number)s)
    RETURNING id
), enrollment AS (
    INSERT INTO journeys_enrollment (id, workspace_id, journey_id, customer_id, revision_id, state, exit_reason,
        step_id, step_began_at, attempts, entered_at, steps_begun)
    SELECT left(md5(id), 24), %(workspace)s, %(journey)s, id, %(revision)s, 'active', '', 'call', now(), 0, now(), 1
    FROM customer RETURNING id
), run AS (
    INSERT INTO journeys_steprun
        (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, began_at)
    SELECT %(workspace)s, id, 0, 'call', 'webhook', 'waiting', '', '{}', now() FROM enrollment
)
INSERT INTO journeys_webhookdelivery
    (workspace_id, enrollment_id, ordinal, source, host, method, url, headers, body, state, result, attempts, due_at,
     again)
SELECT %(workspace)s, id, 0, %(source)s, %(host)s, %(method)s, %(url)s, '{"Content-Type": "application/json"}',
    %(body)s, 'waiting', '', 0, now(), false
FROM enrollment RETURNING id
"""


def standing(
    workspace: Workspace,
    url: str,
    *,
    number: int = 1,
    method: str = "POST",
    body: str | None = '{"hello": "Ada"}',
    source: str = SOURCE,
) -> list[WebhookDelivery]:
    """So many customers, each of whom waits for a webhook that is due."""
    journey: Journey = JourneyFactory.create(workspace=workspace)
    revision = JourneyRevision.objects.get(journey=journey)
    parts = urlsplit(url)
    with connection.cursor() as cursor:
        cursor.execute(
            _STAND,
            {
                "workspace": workspace.id, "journey": journey.id, "revision": revision.id, "number": number,
                "host": f"{parts.hostname}:{parts.port or 80}", "url": url, "method": method, "body": body,
                "source": source,
            },
        )  # fmt: skip
        ids = [row[0] for row in cursor.fetchall()]
    return list(WebhookDelivery.objects.filter(id__in=ids).order_by("id"))


def send(*, limits: Limits = SHORT, threads: int = 8, seconds: float = 10.0, pushes: bool = False) -> list[Sent]:
    """Sends what is due, as the task does; with `pushes` also those of subscriptions."""
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, limits=limits)
    return list(send_due(threads=threads, client=client, seconds=seconds, pushes=Outbox() if pushes else None))


def make_due() -> None:
    """The time of every delivery that waits has come."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE journeys_webhookdelivery SET due_at = now() WHERE state = 'waiting'")


def standing_still(delivery: WebhookDelivery) -> bool:
    """Whether the delivery's enrollment still waits for it."""
    delivery.enrollment.refresh_from_db()
    return delivery.enrollment.state == "active" and delivery.enrollment.due_at is None


def send_elsewhere() -> list[Sent]:
    """In a thread with a database connection of its own."""
    try:
        return send()
    finally:
        connections.close_all()


def seconds_until_due(delivery: WebhookDelivery) -> float:
    """For how long the delivery is put off."""
    delivery.refresh_from_db()
    return (delivery.due_at - timezone.now()).total_seconds()

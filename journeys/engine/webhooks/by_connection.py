"""What steps `send` have to send: URL, headers and credentials are the connection's at each attempt.

1. Stored is the request as it was when its step began, or at the last attempt. Body, method and `webhook-id` stay.
2. If the connection, or a variable, was changed since, an attempt fills it in again, with what the enrollment knows by
   now, and stores what it sends.
3. If the connection goes to another host by now, what waits goes over to that, some at a time, and is claimed there: as
   the connection is saved, as something is sent again, and by whatever is claimed at the old one.
4. Where it cannot be filled in (it is gone or incomplete, or an input has no value any more) it is sent as it was.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from time import thread_time
from typing import Any

import structlog

from customers.conditions import Facts
from engage.credentials.encryption import decrypted_json
from engage.credentials.sealed import UnknownEncryptionKey
from engage.database.sql import Rows, Statement
from engage.process.budget import ATTEMPT, Budget
from journeys.engine.connections.surroundings import surroundings_for
from journeys.engine.enrollments.knowledge import known_to
from journeys.engine.enrollments.revisions import courses_of
from journeys.engine.webhooks.sources import connection_of, source_of_connection
from journeys.models.credentials import stored_headers
from journeys.rules.failures import for_the_record
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.results import WebhookRequest
from journeys.steps.send import SendStep
from journeys.steps.surroundings import Surroundings

log = structlog.get_logger(__name__)
_MOST_AT_ONCE = 5_000  # that go over to another host
_SECONDS = 0.2  # of processor time, for filling in what one claim has
_CONTENT_TYPE = "content-type"

# A minute: the connection may be saved by another clock, and by a transaction that began before the step.
_CHANGED = Statement("""
SELECT sent.id, sent.enrollment_id, sent.workspace_id, sent.source, sent.host, connection.host AS goes_to, run.step_id,
       entered.revision_id, journey.id AS journey_id, journey.name AS journey_name, journey.topic,
       now() AS now
FROM unnest({ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
CROSS JOIN LATERAL (
    SELECT * FROM journeys_connection known WHERE known.id = split_part(sent.source, ':', 2) LIMIT 1
) AS connection
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS entered
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = entered.journey_id LIMIT 1) AS journey
CROSS JOIN LATERAL (
    SELECT * FROM journeys_steprun known WHERE known.enrollment_id = sent.enrollment_id AND known.ordinal = sent.ordinal
    LIMIT 1
) AS run
WHERE connection.workspace_id = sent.workspace_id AND (connection.host NOT IN ('', sent.host) OR greatest(
    connection.updated_at, (SELECT max(updated_at) FROM journeys_variable WHERE workspace_id = sent.workspace_id)
) > run.began_at - interval '1 minute')
""")
_STORE = Statement(
    """
UPDATE journeys_webhookdelivery delivery SET url = filled.url, headers = filled.headers
FROM {filled} WHERE delivery.id = ANY(ARRAY[filled.id])
""",
    filled=Rows("filled", {"id": "bigint", "url": "text", "headers": "jsonb"}),
)
_GO_OVER = """
UPDATE journeys_webhookdelivery delivery SET host = connection.host FROM journeys_connection connection
WHERE delivery.id = ANY(ARRAY({which})) AND connection.id = ANY(ARRAY[split_part(delivery.source, ':', 2)])
  AND connection.workspace_id || '' = delivery.workspace_id AND connection.host NOT IN ('', delivery.host)
"""
_GO_OVER_THESE = Statement(_GO_OVER, which="SELECT unnest({ids}::bigint[])")
_GO_OVER_FROM = Statement(
    _GO_OVER,
    which="""
    SELECT id FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND host = {host} AND source = {source}
    ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
""",
)


def go_over(delivery_ids: Collection[int]) -> None:
    """Deliveries that are sent again go to the hosts of their connections."""
    _GO_OVER_THESE.execute(ids=list(delivery_ids))


def go_over_from(host: str, *, workspace_id: str, connection_id: str) -> None:
    """What waits for this host by the connection, the longest due first, goes to the one it has by now."""
    source = source_of_connection(connection_id)
    _GO_OVER_FROM.execute(workspace_id=workspace_id, host=host, source=source, most=_MOST_AT_ONCE)


def filled_in(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The claimed rows as they are to be sent, and those to be given back: they went over to another host, or there is
    no time for them. No statement where none goes by a connection, and one where none was changed.
    """
    ids = [row["id"] for row in rows if connection_of(row["source"])]
    changed = {one["id"]: one for one in _CHANGED.records(ids=ids)} if ids else {}
    if not changed:
        return list(rows), []
    moved = {id_: one for id_, one in changed.items() if one["goes_to"] not in ("", one["host"])}
    for workspace_id, source, host in {(one["workspace_id"], one["source"], one["host"]) for one in moved.values()}:
        go_over_from(host, workspace_id=workspace_id, connection_id=str(connection_of(source)))
    go_over(moved)
    filled = _filled([one for one in changed.values() if one["id"] not in moved])
    sent = [row for row in rows if row["id"] not in changed or row["id"] in filled]
    fresh = {row["id"]: _with_head(row, request) for row in sent if (request := filled.get(row["id"]))}
    if fresh:
        _STORE.execute(filled=[(id_, row["url"], row["headers"]) for id_, row in fresh.items()])
    back = [row for row in rows if row["id"] in changed and row["id"] not in filled]
    return [fresh.get(row["id"], row) for row in sent], back


def _filled(changed: Sequence[dict[str, Any]]) -> dict[int, WebhookRequest | None]:
    """The requests as their steps would send them now, for as many as there is time; None for those that cannot be."""
    filled: dict[int, WebhookRequest | None] = {}
    known = known_to([one["enrollment_id"] for one in changed], now=changed[0]["now"]) if changed else {}
    courses = courses_of({one["revision_id"] for one in changed})
    around = lru_cache(maxsize=None)(lambda workspace_id, id_: surroundings_for(workspace_id, courses.of(id_)))
    until = thread_time() + _SECONDS
    for one in changed:
        if filled and thread_time() > until:
            break
        try:
            context = _context(one, known[one["enrollment_id"]](), around(one["workspace_id"], one["revision_id"]))
            step = courses.of(one["revision_id"]).steps[one["step_id"]]
            with Budget(ATTEMPT):
                filled[one["id"]] = (
                    step.rendered(context, step.rendering(context)) if isinstance(step, SendStep) else None
                )
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is sent as it was
            filled[one["id"]] = None
            log.info("webhook_as_it_was", enrollment_id=one["enrollment_id"], error=for_the_record(error))
    return filled


def _context(row: dict[str, Any], known: Facts, around: Surroundings) -> StepContext:
    event = known.event_name and Occurrence(
        name=known.event_name, properties=known.event_properties,
        message=known.event_message, verified=known.event_verified,
    )  # fmt: skip
    return StepContext(
        journey_id=row["journey_id"],
        journey_name=row["journey_name"],
        enrollment_id=row["enrollment_id"],
        customer=known.customer,
        payload=known.payload,
        event=event or None,
        chain=0,
        topic=row["topic"],
        now=known.now,
        entrance=known.entrance,
        kept=known.kept,
        surroundings=around,
    )


def _with_head(row: dict[str, Any], request: WebhookRequest) -> dict[str, Any]:
    """The row with the request's URL and headers; of what type its body is, stays."""
    headers = dict(request.headers)
    with suppress(UnknownEncryptionKey):
        stored = decrypted_json(json.loads(row["headers"]))
        headers = {name: value for name, value in stored.items() if name.lower() == _CONTENT_TYPE} | {
            name: value for name, value in headers.items() if name.lower() != _CONTENT_TYPE
        }
    return row | {"url": request.url, "headers": json.dumps(stored_headers(headers, request.secret_url))}

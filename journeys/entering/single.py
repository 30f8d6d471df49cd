"""From a single call to its committed job, in one statement that also reads everything that decides about the call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from customers.audience.selection import exempted
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment, Statement, compose
from engage.request_log import Trail
from journeys.entering.inserts import (
    QUEUE_EACH,
    QUEUE_EACH_ON_TERMS,
    QueuedTrigger,
    execute_past_taken_ids,
    holder_of,
)
from journeys.entering.terms import NO_TERMS, Terms

IdentifyingColumn = Literal["id", "external_id", "email"]


@dataclass(frozen=True, kw_only=True)
class QueueingOutcome:
    """What the call found (None if the workspace has no such thing), and its trigger (None if nothing was queued).

    `held_by` is the job that has the call's entrance, and `scheduled_for` when its job is due, if it said.
    `payload_schema` is there if nothing was queued because the payload has yet to be held to it.
    """

    trigger_type: str | None
    customer_id: str | None
    trigger: QueuedTrigger | None
    held_by: str | None = None
    scheduled_for: datetime | None = None
    payload_schema: Any = None


# As in bulk.py, it commits or fails as a whole. Nothing is queued if the journey is missing, inactive or not
# entered by API, or if the customer is missing or on the call's list of exclusions.
_QUEUE_ONE = """
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), journey AS (
    SELECT id, workspace_id, trigger_type, payload_schema FROM journeys_journey
    WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active
), customer AS (
    {customer}
), entry AS (
    SELECT journey.workspace_id, journey.id AS journey_id, customer.id AS customer_id, {trigger_id}::text AS trigger_id,
           clock.ms AS queued_ms, NULL::text AS event_id, {payload}::jsonb AS payload, {request_id}::text AS request_id,
           {traceparent}::text AS traceparent, {called_by}::text AS called_by, 1 AS place, 'single' AS lane,
           0 AS turn{terms}
    FROM journey, customer, clock
    WHERE trigger_type = 'api' AND (payload_schema IS NULL OR payload_schema = {met}::jsonb)
), {queue_each}
SELECT (SELECT trigger_type FROM journey), (SELECT id FROM customer), (SELECT queued_ms FROM entry), {found},
       (SELECT payload_schema FROM journey WHERE trigger_type = 'api' AND payload_schema IS DISTINCT FROM {met}::jsonb)
"""
_HOLDER = holder_of(customer="named.customer_id", journey="named.journey_id", entrance="named.entrance")
_QUEUE = Statement(_QUEUE_ONE, queue_each=QUEUE_EACH, terms="", found="NULL, NULL")
_QUEUE_ON_TERMS = Statement(
    _QUEUE_ONE.replace("entry AS (", "named AS (", 1).replace(
        "{queue_each}",
        f"entry AS (SELECT named.*, {_HOLDER} AS held_by, {{scheduled}} FROM named"
        " WHERE jsonb_exists(named.selection -> 'exempt', named.customer_id) IS NOT TRUE), {queue_each}",
        1,
    ),
    queue_each=QUEUE_EACH_ON_TERMS,
    terms=", {entrance}::text AS entrance, {until}::timestamptz AS expires_at, {exempt} AS selection",
    found="(SELECT held_by FROM entry), (SELECT scheduled_for FROM entry)",
)


def queue_one(
    *,
    workspace_id: str,
    journey_id: str,
    known_by: tuple[IdentifyingColumn, str],
    exclude_external_ids: list[str],
    payload: Mapping[str, Any],
    called_by: str,
    trail: Trail,
    terms: Terms,
    met: Any = None,
) -> QueueingOutcome:
    """Creates a trigger with one job if the journey is active and entered by API, and the customer is not excluded.

    If the journey has a schema of payloads, the payload must be known to meet it: `met` is that schema.

    Only the one identifier counts, so that a trigger never reaches the wrong person.
    """
    column, value = known_by
    customer = Fragment(
        f"SELECT id FROM customers_customer WHERE workspace_id = %s AND {column} = %s",
        [workspace_id, value],
    )
    trigger_id = new_object_id()
    asked: dict[str, Any] = {}
    if terms != NO_TERMS or exclude_external_ids:
        scheduled = terms.scheduled_for("named.customer_id")
        exempt = _exempt(workspace_id, exclude_external_ids)
        asked = {"entrance": terms.entrance, "until": terms.expires_at, "scheduled": scheduled, "exempt": exempt}
    trigger_type, customer_id, queued_ms, held_by, scheduled_for, payload_schema = execute_past_taken_ids(
        _QUEUE_ON_TERMS if asked else _QUEUE,
        **asked,
        audience=customer,
        workspace_id=workspace_id,
        journey_id=journey_id,
        customer=customer,
        trigger_id=trigger_id,
        payload=Jsonb(payload),
        request_id=trail.request_id,
        traceparent=trail.traceparent,
        called_by=called_by,
        met=None if met is None else Jsonb(met),
    )
    trigger = None
    if queued_ms is not None:
        trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=1, queued_ms=queued_ms)
    return QueueingOutcome(
        trigger_type=trigger_type,
        customer_id=customer_id,
        trigger=trigger,
        held_by=held_by,
        scheduled_for=scheduled_for,
        payload_schema=payload_schema and json.loads(payload_schema),
    )


def _exempt(workspace_id: str, external_ids: list[str]) -> Fragment:
    """What the trigger notes of the exclusions: the customer may be merged into one of them before they enter."""
    if not external_ids:
        return Fragment("NULL::jsonb")
    return compose(
        "jsonb_build_object('exempt', ARRAY(SELECT customer_id FROM ({}) AS exempt WHERE customer_id IS NOT NULL))",
        exempted(workspace_id, external_ids),
    )

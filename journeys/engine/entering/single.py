"""From a single call to its committed job, in one statement that also reads everything that decides about the call."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from customers.audience.selection import exempted
from engage.database.sql import Fragment, compose
from journeys.engine.entering.queueing import execute_past_taken_ids, queueing
from journeys.engine.entering.terms import NO_TERMS, QueuedTrigger, Request

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
_TEXT = """
WITH {clock}, journey AS (
    SELECT id, workspace_id, trigger_type, payload_schema FROM journeys_journey
    WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active
), customer AS (
    {customer}
), {recipients} AS (
    SELECT journey.workspace_id, journey.id AS journey_id, customer.id AS customer_id, {trigger_id}::text AS trigger_id,
           clock.ms AS queued_ms, NULL::text AS event_id, {payload}::jsonb AS payload, {request_id}::text AS request_id,
           {traceparent}::text AS traceparent, {called_by}::text AS called_by, 1 AS place, 'single' AS lane,
           0 AS turn{terms}
    FROM journey, customer, clock
    WHERE trigger_type = 'api' AND (payload_schema IS NULL OR payload_schema = {met}::jsonb)
){entry}, {queue_each}
SELECT (SELECT trigger_type FROM journey), (SELECT id FROM customer), (SELECT queued_ms FROM entry), {found},
       (SELECT payload_schema FROM journey WHERE trigger_type = 'api' AND payload_schema IS DISTINCT FROM {met}::jsonb)
"""
_QUEUE = queueing(_TEXT, recipients="entry", terms="", entry="", found="NULL, NULL")
_QUEUE_ON_TERMS = queueing(
    _TEXT,
    on_terms=True,
    recipients="asked",
    terms=", {entrance}::text AS entrance, {until}::timestamptz AS expires_at, {exempt} AS selection",
    entry=""", entry AS (
    SELECT *, {holder} AS held_by, {scheduled}
    FROM asked WHERE jsonb_exists(selection -> 'exempt', customer_id) IS NOT TRUE
)""",
    found="(SELECT held_by FROM entry), (SELECT scheduled_for FROM entry)",
)


def queue_one(request: Request, *, known_by: tuple[IdentifyingColumn, str], met: Any = None) -> QueueingOutcome:
    """Creates a trigger with one job if the journey is active and entered by API, and the customer is not excluded.

    If the journey has a schema of payloads, the payload must be known to meet it: `met` is that schema.

    Only the one identifier counts, so that a trigger never reaches the wrong person.
    """
    column, value = known_by
    customer = Fragment(
        f"SELECT id FROM customers_customer WHERE workspace_id = %s AND {column} = %s", [request.workspace_id, value]
    )
    values, on_terms = request.values(), request.terms != NO_TERMS or bool(request.excluded)
    if on_terms:
        values |= request.terms.values() | {"exempt": _exempt(request.workspace_id, request.excluded)}
    trigger_type, customer_id, queued_ms, held_by, scheduled_for, payload_schema = execute_past_taken_ids(
        _QUEUE_ON_TERMS if on_terms else _QUEUE,
        **values,
        audience=customer,
        customer=customer,
        met=None if met is None else Jsonb(met),
    )
    return QueueingOutcome(
        trigger_type=trigger_type,
        customer_id=customer_id,
        trigger=None if queued_ms is None else request.queued(values["trigger_id"], customers=1, queued_ms=queued_ms),
        held_by=held_by,
        scheduled_for=scheduled_for,
        payload_schema=payload_schema and json.loads(payload_schema),
    )


def _exempt(workspace_id: str, external_ids: Sequence[str]) -> Fragment:
    """What the trigger notes of the exclusions: the customer may be merged into one of them before they enter."""
    if not external_ids:
        return Fragment("NULL::jsonb")
    return compose(
        "jsonb_build_object('exempt', ARRAY(SELECT customer_id FROM ({}) AS exempt WHERE customer_id IS NOT NULL))",
        exempted(workspace_id, external_ids),
    )

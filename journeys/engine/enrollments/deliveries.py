"""What journeys have sent, webhooks and in-app messages in one list, the latest first, to about a second.

Each kind is read along an index of its own, by ids that grow, those of messages from second to second; a page is what
comes first of both. So a place in the list is a place in each.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Any

from engage.database.sql import Statement

# Of all customers only so many of the latest webhooks are searched for what filters ask for.
SEARCHED = 10_000


class DeliveryKind(StrEnum):
    WEBHOOK = "webhook"
    IN_APP = "in_app"


class SentState(StrEnum):
    """What may become of a webhook, and then of an in-app message."""

    WAITING = "waiting"
    HELD = "held"
    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"
    DUE = "due"
    SHOWN = "shown"
    ACTED = "acted"
    CLOSED = "closed"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, kw_only=True)
class WantedDeliveries:
    """Conditions that all have to be met; what is None is not asked for. Times are those of the steps' beginning."""

    customer_id: str | None = None
    journeys: Sequence[str] | None = None
    step_id: str | None = None
    kinds: Sequence[str] = tuple(DeliveryKind)
    state: str | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class DeliveriesPlace:
    """Where a page ended: after the webhook and the in-app message of these ids."""

    webhook: int = 2**53
    in_app: str = "g"  # after every id


@dataclass(frozen=True, kw_only=True)
class SentDelivery:
    """One delivery. A webhook has `method`, `url` and `status`; an in-app message `message` and what follows it."""

    row_id: int
    id: str
    kind: str
    workspace_id: str
    customer_id: str
    enrollment_id: str
    journey_id: str
    journey_name: str | None
    step_id: str
    at: datetime
    state: str
    ended_at: datetime | None
    result: str | None
    method: str | None
    url: str | None
    attempts: int | None
    status: int | None
    message: str | None
    shown_at: datetime | None
    action_id: str | None


@dataclass(frozen=True, kw_only=True)
class DeliveriesPage:
    """Deliveries, the latest first, and where the next page begins; None: there is none."""

    deliveries: Sequence[SentDelivery]
    last: DeliveriesPlace | None


# Laterals with a limit (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_WEBHOOKS = """
SELECT sent.id AS row_id, 'msg_' || sent.enrollment_id || '_' || sent.ordinal AS id, 'webhook' AS kind,
       sent.workspace_id, enrollment.customer_id, sent.enrollment_id, enrollment.journey_id,
       journey.name AS journey_name, run.step_id, run.began_at AS at, sent.state,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN sent.due_at END AS ended_at,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN nullif(sent.result, '') END AS result,
       sent.method, sent.url, sent.attempts, answer.status,
       NULL AS message, NULL::timestamptz AS shown_at, NULL AS action_id
FROM ({found}) AS latest
CROSS JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery known WHERE known.id = latest.id LIMIT 1
) AS sent
CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
) AS enrollment
CROSS JOIN LATERAL (
    SELECT step_id, began_at FROM journeys_steprun taken
    WHERE taken.enrollment_id = sent.enrollment_id AND taken.ordinal = sent.ordinal LIMIT 1
) AS run
LEFT JOIN LATERAL (
    SELECT name FROM journeys_journey known WHERE known.id = enrollment.journey_id LIMIT 1
) AS journey ON true
LEFT JOIN LATERAL (
    SELECT status FROM journeys_webhookattempt made
    WHERE made.delivery_id = sent.id AND made.number = sent.attempts LIMIT 1
) AS answer ON true
WHERE coalesce(run.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(enrollment.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(run.began_at >= {since}::timestamptz, true) AND coalesce(run.began_at < {before}::timestamptz, true)
ORDER BY latest.id DESC LIMIT {most}
"""
# What is looked at, the latest first, as ids alone: the joins are made one by one, until the page is full.
_OF_CUSTOMER = """
    SELECT one.id FROM journeys_enrollment entered CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookdelivery made
        WHERE made.enrollment_id = entered.id AND made.id < {webhook}
          AND coalesce(made.state = {state}::text, true) OFFSET 0
    ) AS one
    WHERE entered.customer_id = {customer_id} AND entered.workspace_id = ANY({workspaces}::text[])
    ORDER BY one.id DESC OFFSET 0
"""
# By both columns of the key: for a workspace that has sent little, the ids alone would lead through all of the others'.
_OF_ALL = """
    SELECT one.id FROM unnest({workspaces}::text[]) AS workspace CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookdelivery made
        WHERE (made.workspace_id, made.id) < (workspace, {webhook}::bigint)
          AND (made.workspace_id, made.id) > (workspace, 0)
        ORDER BY made.workspace_id DESC, made.id DESC LIMIT {searched}
    ) AS one
    ORDER BY one.id DESC OFFSET 0
"""
_IN_APP = """
SELECT 0 AS row_id, sent.id, 'in_app' AS kind, sent.workspace_id, sent.customer_id, sent.enrollment_id, sent.journey_id,
       journey.name AS journey_name, sent.step_id, sent.created_at AS at, sent.state, sent.ended_at,
       nullif(sent.because, '') AS result, NULL AS method, NULL AS url, NULL::int AS attempts, NULL::int AS status,
       sent.message_id AS message, sent.shown_at, nullif(sent.action_id, '') AS action_id
FROM journeys_inappdelivery sent
LEFT JOIN LATERAL (SELECT name FROM journeys_journey known WHERE known.id = sent.journey_id LIMIT 1) AS journey ON true
WHERE {whose} AND sent.workspace_id = ANY({workspaces}::text[]) AND sent.id < {in_app}
  AND coalesce(sent.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(sent.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(sent.created_at >= {since}::timestamptz, true)
  AND coalesce(sent.created_at < {before}::timestamptz, true)
ORDER BY sent.id DESC LIMIT {most}
"""
_WEBHOOKS_OF_CUSTOMER = Statement(_WEBHOOKS, found=_OF_CUSTOMER)
_WEBHOOKS_OF_ALL = Statement(_WEBHOOKS, found=_OF_ALL)
_IN_APP_OF_CUSTOMER = Statement(_IN_APP, whose="sent.customer_id = {customer_id}")
_IN_APP_OF_ALL = Statement(_IN_APP, whose="true")


def deliveries_page(
    *, workspaces: Sequence[str], wanted: WantedDeliveries, after: DeliveriesPlace | None, limit: int
) -> DeliveriesPage:
    """At most `limit` deliveries of these workspaces' customers, in one statement for each kind.

    Without a customer, only the latest SEARCHED webhooks of each workspace are looked at.
    """
    place = after or DeliveriesPlace()
    values: dict[str, Any] = {
        "workspaces": list(workspaces),
        "journeys": None if wanted.journeys is None else list(wanted.journeys),
        "step_id": wanted.step_id,
        "state": wanted.state,
        "since": wanted.since,
        "before": wanted.before,
        "most": limit + 1,
    }
    webhooks, messages = _WEBHOOKS_OF_ALL, _IN_APP_OF_ALL
    looked_at: dict[str, Any] = {"searched": limit + 1 if wanted == WantedDeliveries(kinds=wanted.kinds) else SEARCHED}
    if wanted.customer_id is not None:
        values["customer_id"], looked_at = wanted.customer_id, {}
        webhooks, messages = _WEBHOOKS_OF_CUSTOMER, _IN_APP_OF_CUSTOMER
    streams = []
    if DeliveryKind.WEBHOOK in wanted.kinds:
        streams.append(webhooks.fetch(SentDelivery, webhook=place.webhook, **values, **looked_at))
    if DeliveryKind.IN_APP in wanted.kinds:
        streams.append(messages.fetch(SentDelivery, in_app=place.in_app, **values))
    found = list(islice(heapq.merge(*streams, key=attrgetter("at"), reverse=True), limit + 1))
    shown = found[:limit]
    return DeliveriesPage(deliveries=shown, last=_place_after(shown, place) if len(found) > limit else None)


def _place_after(shown: Sequence[SentDelivery], place: DeliveriesPlace) -> DeliveriesPlace:
    """Each kind goes on after the last of it that is shown."""
    for one in shown:
        of_kind = {"webhook": one.row_id} if one.kind == DeliveryKind.WEBHOOK else {"in_app": one.id}
        place = replace(place, **of_kind)
    return place

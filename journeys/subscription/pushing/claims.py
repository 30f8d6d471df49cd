"""Claims pushes that are due, by the rules of webhooks (engine/webhooks/claim_statements.py): as far as hosts have
room, have a rate, are not held and are well. Each subscription is a source of its own, with a circuit of its own.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from engage.database.sql import Rows, Statement
from engage.feed import FeedType
from engage.json.compact import unicode_json
from engage.json.instants import iso_utc
from engage.json.writing import written
from journeys.engine.webhooks.claim_statements import (
    CHOSEN,
    LEASE_SECONDS,
    NOTED,
    OPEN,
    PACED,
    PROBES,
    SECRETS,
    STEERED_HOST,
    TAKEN,
)
from journeys.engine.webhooks.claims import SAY_WHY_OF_PUSHES, ClaimedDelivery, opened, secrets_of
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import Push, SteeredHost, Subscription
from journeys.subscription.pushing.cutting import events_of

TEST = "test"  # the type of a test's only event
GONE = "Its events are not kept any more."

# As the statements of webhooks know them; subscriptions have few that wait.
_LANES = """
ready AS MATERIALIZED (
    SELECT push.id, push.due_at, push.workspace_id, subscription.host, 'subscription:' || subscription.id AS source
    FROM journeys_push push JOIN journeys_subscription subscription ON subscription.id = push.subscription_id
    WHERE push.state = 'waiting' AND push.due_at <= now() AND (subscription.paused_at IS NULL OR push.test)
), lanes AS MATERIALIZED (
    SELECT DISTINCT workspace_id, host, source FROM ready
)
"""
_DUE = """
due AS MATERIALIZED (
    SELECT push.id, chosen.host, chosen.source, chosen.room, chosen.most, chosen.probe_id, chosen.source_probe_id,
           chosen.paced_id, chosen.rated_id, NULL::text AS paused_id, row_number() OVER (
               PARTITION BY chosen.workspace_id, chosen.source ORDER BY due_at, push.id
           ) AS place, due_at
    FROM chosen CROSS JOIN LATERAL (
        SELECT known.id, known.due_at FROM journeys_push known
        WHERE known.id = ANY(ARRAY(
            SELECT id FROM ready WHERE ready.source = chosen.source AND ready.workspace_id = chosen.workspace_id
        )) AND known.state = 'waiting' AND known.due_at <= now()
        ORDER BY known.due_at LIMIT chosen.most FOR UPDATE SKIP LOCKED
    ) AS push
)
"""
_CLAIMED = """
claimed AS (
    UPDATE journeys_push delivery SET due_at = now() + {lease} * interval '1 second'
    FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
    RETURNING delivery.id, delivery.workspace_id, delivery.subscription_id, taken.source, delivery.test AS again,
        delivery.attempts + 1 AS number, delivery.due_at::text AS leased_until,
        taken.probe_id IS NOT NULL AS probes_host, taken.source_probe_id IS NOT NULL AS probes_source,
        {secrets} AS secrets, clock_timestamp() AS at,
        extract(epoch FROM clock_timestamp() - taken.due_at)::float8 AS seconds_late
)
"""
_PIECES = (_LANES, PROBES, PACED, OPEN, CHOSEN, _DUE, TAKEN, NOTED, _CLAIMED)
_CLAIM = Statement(
    """
WITH known AS (SELECT * FROM {hosts}), busy AS (SELECT * FROM {workspaces}), {pieces}
SELECT * FROM claimed
""",
    pieces=", ".join(_PIECES),
    first_due="SELECT due_at FROM ready WHERE ready.source = lanes.source ORDER BY due_at LIMIT 1",
    steered_host=STEERED_HOST.replace("{of}", "lanes"),
    secrets=SECRETS,
    hosts=Rows("known", {"host": "text", "requests": "int", "room": "int"}),
    workspaces=Rows("busy", {"workspace_id": "text", "in_flight": "int"}),
)
_ANY_DUE = Statement("SELECT EXISTS (SELECT FROM journeys_push WHERE state = 'waiting' AND due_at <= now())")
_GIVE_BACK = Statement(
    """
UPDATE journeys_push push SET due_at = now()
FROM {unsent} WHERE push.id = ANY(ARRAY[unsent.id]) AND push.attempts = unsent.number - 1
  AND push.due_at = unsent.leased_until AND push.state || '' = 'waiting'
""",
    unsent=Rows("unsent", {"id": "bigint", "number": "int", "leased_until": "timestamptz"}),
)


def claim_pushes(slots: HostSlots) -> list[ClaimedDelivery]:
    """Claims pushes to send now, with their bodies, which are read only then; those without events have ended."""
    if not _ANY_DUE.column()[0]:
        return []
    found = _CLAIM.records(
        free=slots.free,
        room=slots.of_a_host,
        lease=LEASE_SECONDS,
        hosts=list(slots.of_known_hosts()),
        workspaces=list(slots.of_workspaces.items()),
    )
    if not found:
        return []
    known = Push.objects.select_related("subscription").in_bulk([row["id"] for row in found])
    claimed, _ = opened(found, lambda row: _claimed(row, known.get(row["id"])), SAY_WHY_OF_PUSHES)
    asked = time.monotonic()
    return _without_held([replace(one, asked=asked) for one in claimed])


def release_pushes(unsent: Sequence[ClaimedDelivery]) -> None:
    """Makes pushes due at once whose attempts have not begun; the claims do not count."""
    if unsent:
        _GIVE_BACK.execute(unsent=[(one.id, one.number, one.leased_until) for one in unsent])


def body_of(push: Push, subscription: Subscription) -> str | None:
    """`{"subscription": "crm", "events": […]}`, each as the feed has it; None if there is none any more."""
    events: list[Any]
    if push.test:
        events = [{"eventId": f"evt_test_{push.webhook_id}", "type": TEST, "at": iso_utc(push.created_at)}]
    else:
        events = [written(event) for event in events_of(push, subscription)]
    return unicode_json({"subscription": subscription.key, "events": events}) if events else None


def _claimed(row: dict[str, Any], push: Push | None) -> ClaimedDelivery | None:
    """None if it is gone, or its events are; then it ends."""
    if push is None:
        return None
    subscription, secrets = push.subscription, secrets_of(row)
    body = body_of(push, subscription)
    if body is None:
        Push.objects.filter(id=push.id).update(state=Push.State.FAILED, result=GONE, due_at=datetime.now(UTC))
        return None
    known = {name: value for name, value in row.items() if name not in {"secrets", "subscription_id"}}
    return ClaimedDelivery(
        webhook_id=push.webhook_id,
        host=subscription.host,
        method="POST",
        url=subscription.url,
        headers={"Content-Type": "application/json"},
        body=body,
        secrets=secrets,
        give_up_at=None,
        answer_rules=None,
        asked=time.monotonic(),
        is_push=True,
        **known,
    )


def _without_held(claimed: list[ClaimedDelivery]) -> list[ClaimedDelivery]:
    """Reading the bodies takes a while: those whose host is held by now are given back."""
    held = set(SteeredHost.objects.filter(held_at__isnull=False).values_list("workspace_id", "host"))
    release_pushes([one for one in claimed if (one.workspace_id, one.host) in held])
    return [one for one in claimed if (one.workspace_id, one.host) not in held]


assert TEST not in FeedType.values

"""Writes what came of pushes. One that was not taken is tried again along the ladder of webhooks, on its last wait from
then on, whatever the answer was: events are only given up where their receiver asks for it (`abort-message`).

A subscription that has taken nothing for PAUSED_AFTER is paused, as is one whose receiver asks for nothing more
(`disable`). Its pushes and its place in the feed stay, and from there it goes on once it is resumed.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction

from engage.database.sql import Rows, Statement
from journeys.engine.webhooks.circuits import note_attempts
from journeys.engine.webhooks.outcomes import DISABLE
from journeys.engine.webhooks.results import AttemptResult
from journeys.engine.webhooks.schedule import NextState, in_words
from journeys.models import Subscription

PAUSED_AFTER = timedelta(days=5)
DISABLED = "Its receiver asked for nothing more (webhook-delivery: disable)."

# `outcome` is what it says of its subscription; a test says nothing.
_SETTLE = Statement(
    """
WITH known AS MATERIALIZED (
    SELECT result.*, push.subscription_id, push.test FROM {results} CROSS JOIN LATERAL (
        SELECT * FROM journeys_push sent
        WHERE sent.id = result.id AND sent.attempts = result.number - 1 AND sent.state = 'waiting'
        LIMIT 1 FOR NO KEY UPDATE
    ) AS push
), settled AS (
    UPDATE journeys_push push SET
        attempts = known.number, state = known.state, result = known.reason, tried_at = known.at,
        milliseconds = known.milliseconds, status = known.status,
        due_at = now() + known.seconds * interval '1 second'
    FROM known WHERE push.id = ANY(ARRAY[known.id])
), said AS MATERIALIZED (
    SELECT subscription_id, bool_or(state = 'delivered') AS takes, bool_or(disables) AS disables,
           max(reason) FILTER (WHERE state <> 'delivered') AS reason
    FROM known WHERE NOT test GROUP BY subscription_id
), noted AS (
    UPDATE journeys_subscription subscription SET
        failing_since = CASE WHEN NOT said.takes THEN coalesce(failing_since, now()) END,
        last_failure = CASE WHEN said.disables THEN {disabled} WHEN said.takes THEN '' ELSE said.reason END,
        paused_at = CASE
            WHEN paused_at IS NOT NULL THEN paused_at
            WHEN said.disables OR NOT said.takes AND failing_since < now() - {patience}::interval THEN now()
        END
    FROM said WHERE subscription.id = ANY(ARRAY[said.subscription_id])
      AND (said.disables OR NOT said.takes OR failing_since IS NOT NULL)
)
SELECT id FROM known
""",
    results=Rows(
        "result",
        {
            "id": "bigint", "number": "int", "state": "text", "seconds": "float", "reason": "text", "at": "timestamptz",
            "milliseconds": "int", "status": "int", "disables": "bool",
        },
    ),
)  # fmt: skip


@transaction.atomic
def write_pushes(results: Sequence[AttemptResult]) -> None:
    """Writes the results, and what they say of their hosts. One is void if its attempt has been written already."""
    ids = {result.claimed.source.partition(":")[2] for result in results}
    list(Subscription.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk").values_list("pk"))
    settled = set(
        _SETTLE.column(
            results=[_row(result) for result in sorted(results, key=lambda one: one.claimed.id)],
            disabled=DISABLED,
            patience=PAUSED_AFTER,
        )
    )
    note_attempts(
        [
            replace(one.attempted, disables=False)
            for one in results
            if one.claimed.id in settled and one.tells_of_its_host
        ]
    )


def _row(result: AttemptResult) -> tuple[Any, ...]:
    outcome, verdict = result.outcome, result.verdict
    delivered = verdict.next_state is NextState.DELIVERED
    return (
        result.claimed.id,
        result.claimed.number,
        verdict.next_state.value,
        verdict.seconds,
        in_words(outcome) if result.claimed.again and not delivered else verdict.reason or in_words(outcome),
        outcome.at,
        outcome.milliseconds,
        outcome.status,
        outcome.directive == DISABLE,
    )

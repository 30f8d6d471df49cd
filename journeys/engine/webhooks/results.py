"""Writes the results of attempts, many in one transaction.

1. The customers' rows are locked first, in the order of their ids, as everywhere: whatever ends an enrollment waits
   for this, or this for it. While others can be written, one that another transaction holds is left for later. If one
   who was waited for has been merged, all is done again: the enrollment is another one's.
2. Each attempt goes into the history. If its delivery is still waiting, it is settled or rescheduled; one that was
   dropped meanwhile stays dropped. A result is void if another sender has already written the same attempt.
3. The end of a delivery lets its enrollment go on, if that is still at the step and staff did not have it sent again.
4. The circuits of the hosts are updated, and the guards of journeys, which may hold them.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db import InterfaceError, InternalError, OperationalError

from customers.identity.locks import CustomersMoved, undisturbed
from engage.database.alone import alone
from engage.database.sql import Rows, Statement
from engage.feed import telling
from engage.json.compact import unicode_json
from journeys.engine.due import Due
from journeys.engine.enrollments.transitions import MOVE_ANSWERED
from journeys.engine.steering.guards import note_results
from journeys.engine.webhooks.circuits import Attempted, note_attempts
from journeys.engine.webhooks.claims import ClaimedDelivery
from journeys.engine.webhooks.outcomes import DISABLE, Outcome
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState, in_words, is_transient, judge

log = structlog.get_logger(__name__)
_SLOW_MS = 5_000  # half of what an answer may take
TOO_LATE = "Given up: its turn came later than its step says (giveUpAfter)."


@dataclass(frozen=True, kw_only=True)
class AttemptResult:
    """One attempt that has ended."""

    claimed: ClaimedDelivery
    outcome: Outcome
    verdict: DeliveryVerdict

    @property
    def healthy(self) -> bool:
        return self.verdict.next_state is NextState.DELIVERED or not is_transient(self.outcome)

    @property
    def tells_of_its_host(self) -> bool:
        """A refused address says nothing. But a refused probe closes its circuit: the others will be refused, too.

        One that was given up says nothing, either: it was not tried.
        """
        return (self.claimed.probe or not self.outcome.refused) and self.outcome.error != TOO_LATE

    @property
    def attempted(self) -> Attempted:
        return Attempted(
            workspace_id=self.claimed.workspace_id,
            host=self.claimed.host,
            source=self.claimed.source,
            healthy=self.healthy,
            connected=self.outcome.connected,
            probes_host=self.claimed.probes_host,
            probes_source=self.claimed.probes_source,
            disables=self.outcome.directive == DISABLE,
            failure="" if self.healthy else in_words(self.outcome),
        )


def given_up(claimed: ClaimedDelivery) -> AttemptResult:
    """The end of a delivery that was too late to be tried (again)."""
    outcome = Outcome(at=claimed.now(), milliseconds=0, error=TOO_LATE, refused=True)
    verdict = DeliveryVerdict(next_state=NextState.FAILED, reason=TOO_LATE)
    return AttemptResult(claimed=claimed, outcome=outcome, verdict=verdict)


@dataclass(frozen=True, kw_only=True)
class WrittenResults:
    """The next states of the deliveries `written`, and what they made due; `held` were left for later."""

    next_states: Counter[NextState]
    due: Due
    held: Sequence[AttemptResult]
    written: Sequence[AttemptResult] = ()


def write_results(results: Sequence[AttemptResult], *, wait: bool) -> WrittenResults:
    """Writes the results. `wait`: waits for customers' rows that others have locked, instead of holding their results.

    Of two results of one delivery the first counts: a sender that stalled may have claimed its own delivery again.
    """
    first: dict[int, AttemptResult] = {}
    for result in results:
        first.setdefault(result.claimed.id, result)
    outcome = undisturbed(lambda: _write_results(list(first.values()), wait=wait))
    for result in outcome.written:
        _log_attempt(result)
    return outcome


def write_each(results: Sequence[AttemptResult], *, wait: bool) -> WrittenResults:
    """As write_results; but one that cannot be written costs the others nothing: its attempt is, as one that failed."""
    try:
        return write_results(results, wait=wait)
    except (OperationalError, InterfaceError, InternalError):  # that is not because of what is in them
        raise
    except Exception as error:
        log.exception("webhook_results_refused", webhooks=len(results))
        if len(results) == 1:
            with alone("webhook_result"):
                return write_results([_bare(results[0], error)], wait=wait)
            return WrittenResults(next_states=Counter(), due=Due(), held=())
    middle = len(results) // 2
    one, other = write_each(results[:middle], wait=wait), write_each(results[middle:], wait=wait)
    next_states = one.next_states + other.next_states
    return WrittenResults(next_states=next_states, due=one.due | other.due, held=[*one.held, *other.held])


def _bare(result: AttemptResult, error: Exception) -> AttemptResult:
    """The attempt without anything that came back, as one that failed."""
    told = f"What came of it could not be recorded: {type(error).__name__}."
    outcome = Outcome(at=result.outcome.at, milliseconds=result.outcome.milliseconds, error=told)
    claimed = result.claimed
    verdict = judge(outcome, number=claimed.number, once=claimed.again, chance=0.0, left=claimed.left)
    return replace(result, outcome=outcome, verdict=verdict)


def _log_attempt(result: AttemptResult) -> None:
    """A line for an attempt that failed, or was slow: it leads from a call to the end."""
    facts = {"attempt": result.claimed.number, "status": result.outcome.status, "ms": result.outcome.milliseconds}
    match result.verdict.next_state:
        case NextState.FAILED:
            log.warning("webhook_given_up", **result.claimed.names, **facts)
        case NextState.RETRIED:
            log.info("webhook_retried", **result.claimed.names, **facts, after=round(result.verdict.seconds))
        case NextState.DELIVERED if result.outcome.milliseconds > _SLOW_MS:
            log.info("webhook_slow", **result.claimed.names, **facts)


def _write_results(results: Sequence[AttemptResult], *, wait: bool) -> WrittenResults:
    free = _lock_customers([result.claimed.id for result in results], wait=wait)
    settled, moved, guarded = _settle([result for result in results if result.claimed.id in free])
    written = [result for result in results if result.claimed.id in settled]
    missing = [result.claimed.id for result in results if result.claimed.id not in free]
    # After waiting, only erased customers' deliveries are missing; their hosts have answered all the same.
    telling = settled.union(missing if wait else ())
    note_attempts([one.attempted for one in results if one.claimed.id in telling and one.tells_of_its_host])
    if guarded:
        note_results(_failed_by_journey(written, guarded))
    held = [] if wait else [result for result in results if result.claimed.id not in free]
    next_states = Counter(result.verdict.next_state for result in written)
    return WrittenResults(next_states=next_states, due=Due(walk=moved > 0), held=held, written=written)


# Laterals with a limit (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_LOCK = """
SELECT delivery.id, customer.is_there IS TRUE AS is_locked FROM (
    SELECT sent.id, standing.customer_id FROM journeys_webhookdelivery sent
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS standing
    WHERE sent.id = ANY({delivery_ids}) ORDER BY standing.customer_id OFFSET 0
) AS delivery
LEFT JOIN LATERAL (
    SELECT true AS is_there FROM customers_customer known WHERE known.id = delivery.customer_id
    LIMIT 1 FOR NO KEY UPDATE {held}
) AS customer ON true
"""
_LOCK_ALL, _LOCK_FREE = Statement(_LOCK, held=""), Statement(_LOCK, held="SKIP LOCKED")


def _lock_customers(delivery_ids: list[int], *, wait: bool) -> set[int]:
    """Locks the customers; returns the deliveries whose customers are locked. Those of an erased customer are gone.

    Raises CustomersMoved if somebody was merged (or erased) while this waited for them.
    """
    found = dict((_LOCK_ALL if wait else _LOCK_FREE).rows(delivery_ids=delivery_ids))
    if wait and not all(found.values()):
        raise CustomersMoved
    return {delivery_id for delivery_id, is_locked in found.items() if is_locked}


_SETTLE = Statement(
    """
WITH known AS MATERIALIZED (
    SELECT result.*, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.again,
           delivery.state IN ('waiting', 'held') AS waited
    FROM (
        SELECT * FROM {results} ORDER BY id OFFSET 0
    ) AS result
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_webhookdelivery sent
        WHERE sent.id = result.id AND sent.attempts = result.number - 1 LIMIT 1 FOR NO KEY UPDATE
    ) AS delivery
), guarding AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM journeys_journey WHERE guards IS NOT NULL) AS any_journey
), attempt AS (
    INSERT INTO journeys_webhookattempt (workspace_id, delivery_id, number, at, milliseconds, status, answer, error)
    SELECT workspace_id, id, number, at, milliseconds, status, answer, error FROM known
), settled AS (
    UPDATE journeys_webhookdelivery delivery SET
        attempts = known.number,
        state = CASE WHEN waited THEN known.state ELSE delivery.state END,
        result = CASE WHEN waited THEN known.reason ELSE delivery.result END,
        kept_answer = CASE WHEN waited THEN known.kept_answer ELSE delivery.kept_answer END,
        due_at = CASE WHEN waited THEN now() + known.seconds * interval '1 second' ELSE delivery.due_at END
    FROM known WHERE delivery.id = ANY(ARRAY[known.id])
), answered AS (
    SELECT standing.id FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun run
        WHERE run.enrollment_id = known.enrollment_id AND run.ordinal = known.ordinal LIMIT 1
    ) AS run
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE known.waited AND known.state <> 'waiting' AND NOT known.again
      AND run.state = 'waiting' AND standing.state = 'active' AND standing.step_id = run.step_id
), moved AS ({move_answered}), failed AS (
    SELECT 'webhook.failed' AS type, standing.*, known.state, known.reason FROM known CROSS JOIN LATERAL (
        SELECT id, workspace_id, journey_id, customer_id FROM journeys_enrollment entered
        WHERE entered.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE known.waited AND known.state = 'failed'
), told AS ({tell})
SELECT ARRAY(SELECT id FROM known) AS ids, (SELECT count(*) FROM moved) AS moved, (
    SELECT jsonb_object_agg(known.id, journey.id) FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    CROSS JOIN LATERAL (SELECT * FROM journeys_journey found WHERE found.id = standing.journey_id LIMIT 1) AS journey
    WHERE (SELECT any_journey FROM guarding) AND journey.guards->>'of' IS NOT NULL
)::text AS guarded
""",
    move_answered=MOVE_ANSWERED,
    tell=telling(
        "failed", customer_ids="customer_id", enrollment_ids="id", results="state", reasons="nullif(reason, '')"
    ),
    results=Rows(
        "result",
        {
            "id": "bigint", "number": "int", "state": "text", "seconds": "float", "reason": "text", "at": "timestamptz",
            "milliseconds": "int", "status": "int", "answer": "text", "error": "text", "kept_answer": "jsonb",
        },
    ),
)  # fmt: skip


def _settle(results: Sequence[AttemptResult]) -> tuple[frozenset[int], int, Mapping[int, str]]:
    """The deliveries whose results were not void, how many enrollments may go on, and the guarded journeys."""
    rows = _SETTLE.rows(results=[_row(one.claimed, one.verdict, one.outcome) for one in results])
    ((ids, moved, guarded),) = rows
    return frozenset(ids), moved, {int(key): journey for key, journey in json.loads(guarded or "{}").items()}


def _failed_by_journey(written: Sequence[AttemptResult], guarded: Mapping[int, str]) -> dict[str, list[bool]]:
    """Whether each attempt failed, by its journey, in order; of those that are guarded."""
    failed: dict[str, list[bool]] = defaultdict(list)
    for result in written:
        if journey_id := guarded.get(result.claimed.id):
            failed[journey_id].append(result.verdict.next_state is not NextState.DELIVERED)
    return failed


def _row(claimed: ClaimedDelivery, verdict: DeliveryVerdict, outcome: Outcome) -> tuple[Any, ...]:
    return (
        claimed.id,
        claimed.number,
        verdict.next_state.value,
        verdict.seconds,
        verdict.reason,
        outcome.at,
        outcome.milliseconds,
        outcome.status,
        outcome.answer,
        outcome.error,
        None if verdict.kept is None else unicode_json(verdict.kept),
    )

"""Sends due deliveries: requests run in threads, and a single thread uses the database.

Each turn claims as many deliveries as there is room for, hands each to a thread at once, gathers the results of earlier
ones for a moment, and writes these together. The threads that send never touch the database, and no transaction stays
open for a request in flight.

Pushes of subscriptions (journeys/subscription/pushing/) are sent beside them, by the same threads and rules; how they
are claimed and written is given.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection

from engage.database.alone import alone, in_halves
from engage.database.outages import is_held_up
from engage.process import tracing
from engage.redis.metric_counters import FIRST_ATTEMPT_WAITS, WEBHOOKS, metric_counters
from journeys.engine.due import Due
from journeys.engine.webhooks.answers import read_answer
from journeys.engine.webhooks.claim_statements import LEASE_SECONDS
from journeys.engine.webhooks.claims import ClaimedDelivery, claim_due, release
from journeys.engine.webhooks.client import Client, Request
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.results import AttemptResult, WrittenResults, given_up, write_each
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState, judge
from journeys.engine.webhooks.signing import signed_headers
from journeys.steps.answer_rules import stored_answer_rules

log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.1  # between polls for due deliveries, while no result arrives
_GATHER_SECONDS = 0.01
_PACE_SECONDS = 0.05  # between polls while hosts wait for their rate, and nothing else is to be done
# While requests are in flight, results are written in batches: after so many seconds, or once there are so many.
_WRITE_SECONDS = 0.04
_WRITE_NUMBER = 200
_NAMED = 50  # in one line of the log
_AWAY_SECONDS = 0.2  # between attempts to write while the database is unavailable
_KEPT_SECONDS = LEASE_SECONDS - 10.0  # the rest of the lease is the longest time that a request is in flight
_HOLD_SECONDS = 1.0  # after this, a result waits for its customer's row lock
_HELD_UP_SECONDS = 5.0  # after a wait in vain, until the next: the others are not to wait for one customer


@dataclass(frozen=True, kw_only=True)
class Sent:
    """How many results one batch wrote, and what they made due."""

    attempts: int
    due: Due


class Pushes(Protocol):
    """As deliveries are claimed, given back (claims.py) and written (results.py), pushes are."""

    def claim(self, slots: HostSlots) -> Sequence[ClaimedDelivery]: ...
    def release(self, unsent: Sequence[ClaimedDelivery]) -> None: ...
    def write(self, results: Sequence[AttemptResult]) -> None: ...


def _never() -> bool:
    return False


def send_due(
    *,
    threads: int,
    client: Client,
    seconds: float,
    stopping: Callable[[], bool] = _never,
    pushes: Pushes | None = None,
) -> Iterator[Sent]:
    """Sends what is due until nothing is, and yields after each batch of results that was written.

    After `seconds`, or once `stopping()` is true, nothing more is claimed; requests in flight are completed.
    """
    with ThreadPoolExecutor(threads, thread_name_prefix="webhook") as pool:
        yield from _Sender(
            pool, HostSlots(threads), client, pushes, until=time.monotonic() + seconds, stopping=stopping
        ).turns()


class _Sender:
    def __init__(
        self,
        pool: ThreadPoolExecutor,
        slots: HostSlots,
        client: Client,
        pushes: Pushes | None,
        *,
        until: float,
        stopping: Callable[[], bool],
    ) -> None:
        self._pool, self._slots, self._client, self._until, self._stopping = pool, slots, client, until, stopping
        self._pushes = pushes
        # Each with its result, or None if it came too late to be begun, and the seconds that it took.
        self._finished: SimpleQueue[tuple[ClaimedDelivery, AttemptResult | None, float]] = SimpleQueue()
        self._unwritten: list[AttemptResult] = []
        self._unwritten_since = 0.0
        self._waits_from = 0.0

    def turns(self) -> Iterator[Sent]:
        self._claim()
        while self._slots.in_flight or self._unwritten or self._slots.paced:
            if not self._slots.in_flight and not self._unwritten:
                time.sleep(_PACE_SECONDS)
            circuits_change = any(not result.healthy or result.claimed.probe for result in self._gather())
            try:
                if not circuits_change:  # the threads send these while the results are written
                    self._claim()
                if circuits_change or self._is_time_to_write():
                    makes_room = any(result.claimed.is_push for result in self._unwritten)
                    yield self._write()
                    if circuits_change or makes_room:
                        self._claim()
            except (OperationalError, InterfaceError, InternalError):
                if not self._may_try_again():
                    raise
                connection.close_if_unusable_or_obsolete()
                time.sleep(_AWAY_SECONDS)

    def _may_try_again(self) -> bool:
        """Results outlive a database outage: they are kept for as long as no other sender can claim the deliveries."""
        if not self._unwritten or time.monotonic() - self._unwritten_since < _KEPT_SECONDS:
            return True
        log.warning("webhook_results_lost", **_names(self._unwritten))
        return False

    def _claim(self) -> None:
        if time.monotonic() >= self._until or self._stopping():
            self._slots.paced = False
            return
        if not self._slots.free:
            return
        self._begin(claim_due(self._slots))
        if self._pushes and self._slots.free:
            with alone("pushes"):
                self._begin(self._pushes.claim(self._slots))

    def _begin(self, deliveries: Sequence[ClaimedDelivery]) -> None:
        for claimed in deliveries:
            self._slots.started(claimed.host, workspace_id=claimed.workspace_id)
            self._pool.submit(self._send, claimed)

    def _send(self, claimed: ClaimedDelivery) -> None:
        """Runs in a thread of the pool. What comes so late that its journey or host may be held by now is not begun."""
        started = time.monotonic()
        if not claimed.may_begin():
            self._finished.put((claimed, None, 0.0))
            return
        if claimed.left < 0:
            self._finished.put((claimed, given_up(claimed), 0.0))
            return
        if claimed.number == 1:
            metric_counters.observe_waits(FIRST_ATTEMPT_WAITS, seconds=[claimed.seconds_overdue])
        title, parent = ("push" if claimed.is_push else "webhook"), claimed.trail.traceparent
        with tracing.span(title, parent=parent, kind="client", begins=claimed.is_push) as span:
            try:
                traceparent = span.traceparent or parent
                outcome = self._client.send(_signed(claimed, traceparent, now=claimed.now()), at=claimed.now())
                verdict = _judged(claimed, outcome)
            except Exception as error:  # whatever went wrong, the attempt must end
                log.exception("webhook_error", **claimed.names, workspace_id=claimed.workspace_id)
                outcome = Outcome(at=claimed.now(), milliseconds=0, error=f"Sending it failed: {type(error).__name__}.")
                verdict = _judged(claimed, outcome, reads=False)
            if span.traceparent:
                _note(span, claimed, outcome, verdict)
        result = AttemptResult(claimed=claimed, outcome=outcome, verdict=verdict)
        self._finished.put((claimed, result, time.monotonic() - started))

    def _gather(self) -> list[AttemptResult]:
        """The results that have finished since. Waits a while for the first, then a moment for more."""
        fresh: list[AttemptResult] = []
        unsent: list[ClaimedDelivery] = []
        until = time.monotonic() + (_WRITE_SECONDS if self._unwritten else _LOOK_SECONDS)
        while self._slots.in_flight and len(fresh) < self._slots.of_a_host and (wait := until - time.monotonic()) > 0:
            try:
                claimed, result, seconds = self._finished.get(timeout=wait)
            except Empty:
                break
            if not fresh:
                until = time.monotonic() + _GATHER_SECONDS
            self._slots.finished(claimed.host, workspace_id=claimed.workspace_id, seconds=seconds)
            if result is None:
                unsent.append(claimed)
            else:
                fresh.append(result)
        self._release(unsent)
        if fresh and not self._unwritten:
            self._unwritten_since = time.monotonic()
        self._unwritten += fresh
        return fresh

    def _release(self, unsent: Sequence[ClaimedDelivery]) -> None:
        if unsent:
            log.info("webhooks_released", webhooks=len(unsent))
            with suppress(OperationalError, InterfaceError, InternalError):  # they are claimed again anyway, but later
                release([one for one in unsent if not one.is_push])
                if self._pushes:
                    self._pushes.release([one for one in unsent if one.is_push])

    def _is_time_to_write(self) -> bool:
        if not self._unwritten:
            return False
        age = time.monotonic() - self._unwritten_since
        return not self._slots.in_flight or len(self._unwritten) >= _WRITE_NUMBER or age >= _WRITE_SECONDS

    def _write(self) -> Sent:
        now = time.monotonic()
        may_come_back = bool(self._slots.in_flight) and now - self._unwritten_since < _HOLD_SECONDS
        wait = not may_come_back and now >= self._waits_from
        try:
            written = self._written(wait=wait)
        except OperationalError as error:
            if not is_held_up(error):
                raise
            self._waits_from = now + _HELD_UP_SECONDS
            written = self._written(wait=False)
        self._unwritten = _still_leased(written.held)
        if self._unwritten and not self._slots.in_flight:
            time.sleep(_AWAY_SECONDS)
        for next_state, number in written.next_states.items():
            metric_counters.count(WEBHOOKS, next_state.name.lower(), by=number)
        log.info(
            "webhooks_sent", **{next_state.name.lower(): written.next_states[next_state] for next_state in NextState}
        )
        return Sent(attempts=written.next_states.total(), due=written.due)

    def _written(self, *, wait: bool) -> WrittenResults:
        pushes = [result for result in self._unwritten if result.claimed.is_push]
        if pushes and self._pushes:
            try:
                self._pushes.write(pushes)
            except (OperationalError, InterfaceError, InternalError):  # they are kept, and written later
                raise
            except Exception:  # noqa: BLE001 - as write_each does
                in_halves("push_results", self._pushes.write, pushes)
            self._unwritten = [result for result in self._unwritten if not result.claimed.is_push]
        if pushes and not self._unwritten:
            return WrittenResults(next_states=Counter(), due=Due(), held=())
        return write_each(self._unwritten, wait=wait)


def _names(results: Sequence[AttemptResult]) -> dict[str, Any]:
    return {"results": len(results), "of": [result.claimed.names for result in results[:_NAMED]]}


def _still_leased(held: Sequence[AttemptResult]) -> list[AttemptResult]:
    """Without those whose delivery another sender may have claimed by now."""
    leased = [result for result in held if (result.claimed.now() - result.claimed.at).total_seconds() < LEASE_SECONDS]
    if len(leased) < len(held):
        log.warning("webhook_results_lost", **_names([result for result in held if result not in leased]))
    return leased


def _judged(claimed: ClaimedDelivery, outcome: Outcome, *, reads: bool = True) -> DeliveryVerdict:
    """`reads` its answer, if there are rules for that."""
    rules = stored_answer_rules(claimed.answer_rules) if reads and claimed.answer_rules is not None else None
    return judge(
        outcome,
        number=claimed.number,
        once=claimed.again,
        chance=random.uniform(-1, 1),  # noqa: S311
        read=None if rules is None else read_answer(outcome, rules),
        left=claimed.left,
        endless=claimed.is_push and not claimed.again,
    )


def _note(span: tracing.Span, claimed: ClaimedDelivery, outcome: Outcome, verdict: DeliveryVerdict) -> None:
    """Of the address the host alone, which no template can fill."""
    span.note(
        {
            "http.request.method": claimed.method,
            "http.response.status_code": outcome.status,
            "server.address": claimed.host,
            "engage.webhook_id": claimed.webhook_id,
            "engage.enrollment_id": claimed.enrollment_id or None,
            "engage.trigger_id": claimed.trigger_id,
            "engage.request_id": claimed.trail.request_id or None,
            "engage.workspace_id": claimed.workspace_id,
            "engage.attempt": claimed.number,
            "engage.result": verdict.next_state.name.lower(),
        },
        failed=verdict.next_state is not NextState.DELIVERED,
    )


def _signed(claimed: ClaimedDelivery, traceparent: str | None, *, now: datetime) -> Request:
    body = None if claimed.body is None else claimed.body.encode()
    signed = signed_headers(
        webhook_id=claimed.webhook_id,
        timestamp=int(now.timestamp()),
        body=body or b"",
        signing_secrets=claimed.secrets,
    )
    if claimed.trail.request_id:
        signed["webhook-request-id"] = claimed.trail.request_id
    if traceparent and not any(name.lower() == "traceparent" for name in claimed.headers):
        signed["traceparent"] = traceparent
    return Request(method=claimed.method, url=claimed.url, headers=claimed.headers, signed=signed, body=body)

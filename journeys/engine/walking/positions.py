"""Reading what the steps of a batch may refer to: one statement for the enrollments and one for their payloads.

Profiles, payloads and events stay text until it is an enrollment's turn: as objects they take ten times the memory,
and those of a whole batch could be gigabytes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from engage.database.sql import Rows, Statement
from engage.process.request_log import Trail
from journeys.engine.connections.contacts import Contacts
from journeys.engine.enrollments.early_events import Listener
from journeys.engine.enrollments.knowledge import Called, called_by, customer_facts, last_event, payload_of
from journeys.engine.enrollments.transitions import BEGAN_IN, CLAIMED, STILL_CLAIMED, ClaimedEnrollment
from journeys.models import WebhookDelivery
from journeys.steps.contact import Contact
from journeys.steps.context import EarlyEvent, StepContext
from journeys.steps.course import Course
from journeys.steps.events import EventPattern, nothing_known
from journeys.steps.results import Answered, Arrival, First, Heard, TimedOut, Walk
from journeys.steps.surroundings import NOTHING, Surroundings
from journeys.steps.wait_for_event import WaitForEvent
from journeys.steps.wait_until import WaitUntil


@dataclass(kw_only=True)  # frozen, it would take three times as long to make
class Position:
    """The current state of a claimed enrollment. `event_id` is the event that last started or moved it.

    Events with a higher serial than `came_with` came after what brought it to its step: after that event, or at the
    first step after the call that queued its job, or after that was due. None if that is not known. `trail` is that
    call's, and `kept` what its steps kept of answers, once that has been asked for. `began_in` is the revision in which
    its wait began, if it has `moved` since.
    """

    claimed: ClaimedEnrollment
    workspace_id: str
    customer_id: str
    revision_id: int
    step_id: str
    began: bool
    heard: bool
    answer: Answered | None
    steps_begun: int
    error: str
    event_id: str | None
    chain: int
    came_with: int | None
    now: datetime
    trail: Trail
    moved: bool
    began_in: int | None
    _row: dict[str, Any] = field(repr=False)
    _payload: str = field(repr=False)
    kept: Mapping[str, Any] = field(default_factory=dict, repr=False)
    drawn: Mapping[str, int] = field(default_factory=dict, repr=False)

    def context(
        self,
        *,
        early: EarlyEvent | None = None,
        surroundings: Surroundings = NOTHING,
        contact: Contact | None = None,
    ) -> StepContext:
        """What its steps may refer to, built by each call; to be dropped after the walk.

        `early` is what its listener heard.
        """
        row = self._row
        return StepContext(
            journey_id=row["journey_id"],
            journey_name=row["journey_name"],
            enrollment_id=self.claimed.id,
            customer=customer_facts(row, json.loads(row["attributes"])),
            payload=payload_of(self._payload, own=row["own_payload"]),
            event=last_event(row),
            chain=self.chain,
            now=self.now,
            waits_from=row["due_from"],
            early=early,
            waits_until=row["watches_until"],
            entrance=row["entrance"],
            surroundings=surroundings,
            kept=self.kept,
            drawn=self.drawn,
            topic=row["topic"],
            contact=contact,
        )

    def listener(self, course: Course) -> Listener | None:
        """Listens since it came to where it is, if its walk begins a wait before any other step; otherwise None."""
        pattern = self._awaited_ahead(course)
        if pattern is None or self.came_with is None:
            return None
        known = (lambda: self.context().facts()) if pattern.looks_beyond else nothing_known(self.now)
        return Listener(customer_id=self.customer_id, after=self.came_with, patterns=[pattern], known=known)

    def _awaited_ahead(self, course: Course) -> EventPattern | None:
        """What its own step awaits, or the one to which the event that has ended its wait leads."""
        step = course.steps.get(self.step_id)
        if self.began:
            leads_on = self.heard and isinstance(step, WaitForEvent) and step.on_event
            step = course.steps.get(leads_on) if leads_on else None
        return None if step is None else step.awaited

    @property
    def names(self) -> dict[str, str]:
        """What a line of the log names of it."""
        return {"enrollment_id": self.claimed.id, "trigger_id": self._row["trigger_id"], **self.trail.names()}

    @property
    def journey_id(self) -> str:
        return str(self._row["journey_id"])

    @property
    def asks(self) -> bool:
        """Whether its workspace has anything by which writing to people is decided."""
        return bool(self._row["asks"])

    def contact(self, contacts: Contacts) -> Contact | None:
        """What its walk asks, if there is anything."""
        topic, since = self._row["topic"], self._row["step_began_at"]
        return contacts.contact(self.workspace_id, self.customer_id, topic=topic, waiting_since=since)

    @property
    def revision_ids(self) -> tuple[int, ...]:
        """Whose steps its walk may take."""
        return (self.revision_id,) if self.began_in is None else (self.revision_id, self.began_in)

    @property
    def paused(self) -> bool:
        """Whether its journey is held, or it became due meanwhile and is to be released in its turn."""
        paced: datetime | None = self._row["paced"]
        return bool(self._row["held"]) or (paced is not None and datetime.fromisoformat(self.claimed.due_at) < paced)

    def arrival(self, course: Course) -> Arrival:
        """Whether its step is still ahead of it, or how the wait in that step ended."""
        if not self.began:
            return First()
        if self.answer:
            return self.answer
        step = course.steps[self.step_id]
        if isinstance(step, WaitUntil):
            return Heard() if self._row["watches_until"] is None else TimedOut()
        return Heard() if self.heard and step.awaited else TimedOut()


class Walked(NamedTuple):
    """How far one enrollment got."""

    position: Position
    walk: Walk


# Laterals with a limit (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_READ = Statement(
    """
SELECT enrollment.id, enrollment.workspace_id, enrollment.journey_id, journey.name AS journey_name,
       journey.topic, EXISTS (SELECT FROM customers_contactrules WHERE workspace_id = enrollment.workspace_id) AS asks,
       journey.held_at IS NOT NULL AS held,
       CASE WHEN journey.per_minute IS NOT NULL THEN journey.resumed_at END AS paced,
       enrollment.revision_id, enrollment.step_id, enrollment.step_began_at,
       enrollment.awaits_event, enrollment.watches_until, enrollment.chain, enrollment.steps_begun, enrollment.error,
       enrollment.moves IS NOT NULL AS moved, {began_in} AS began_in,
       job.trigger_id, job.payload AS own_payload, job.entrance,
       due.due_from, CASE WHEN due.due_from IS NOT NULL THEN (
           SELECT max(serial) FROM customers_event before
           WHERE before.customer_id = job.customer_id AND before.serial IS NOT NULL AND before.created_at < due.due_from
       ) END AS came_before,
       customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id,
       customer.attributes, event.id AS event_id, event.name AS event_name, event.properties AS event_properties,
       event.message_id AS event_message, event.verified AS event_verified, event.serial AS event_serial,
       delivery.state AS delivery_state, delivery.result AS delivery_result, now()::text AS now
FROM {claimed}
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = claimed.id LIMIT 1) AS enrollment
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = enrollment.journey_id LIMIT 1) AS journey
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1) AS job
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = enrollment.customer_id LIMIT 1) AS customer
CROSS JOIN LATERAL (
    SELECT CASE WHEN job.scheduled_for IS NOT NULL AND enrollment.steps_begun = 0
           THEN greatest(job.scheduled_for, to_timestamp(job.queued_ms / 1000.0)) END AS due_from
) AS due
LEFT JOIN LATERAL (SELECT * FROM customers_event last WHERE last.id = enrollment.event_id LIMIT 1) AS event ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1 LIMIT 1
) AS delivery ON true
WHERE {still_claimed} AND enrollment.state = 'active'
ORDER BY claimed.place
""",
    claimed=Rows("claimed", CLAIMED, place="place"),
    still_claimed=STILL_CLAIMED,
    began_in=BEGAN_IN,
)


def load_positions(claimed: Sequence[ClaimedEnrollment]) -> list[Position]:
    """Those of the claimed enrollments that the claim still holds, as they are now, in the same order.

    Their customers must be locked.
    """
    rows = _READ.records(claimed=[one.key for one in claimed])
    called = called_by({row["trigger_id"] for row in rows})
    by_id = {one.id: one for one in claimed}
    return [_position(by_id[row["id"]], row, called[row["trigger_id"]]) for row in rows]


@lru_cache(maxsize=1)
def _instant(text: str) -> datetime:
    """Cached, because it is the same for all of a batch."""
    return datetime.fromisoformat(text)


def _position(claimed: ClaimedEnrollment, row: dict[str, Any], called: Called) -> Position:
    return Position(
        claimed=claimed,
        workspace_id=row["workspace_id"],
        customer_id=row["customer_id"],
        revision_id=row["revision_id"],
        step_id=row["step_id"],
        began=row["step_began_at"] is not None,
        heard=row["awaits_event"] == "",
        answer=_answer(row),
        steps_begun=row["steps_begun"],
        error=row["error"],
        event_id=row["event_id"],
        chain=row["chain"],
        came_with=_came_with(row, called.serial),
        now=_instant(row["now"]),
        trail=called.trail,
        moved=row["moved"],
        began_in=row["began_in"],
        _row=row,
        _payload=called.payload,
    )


def _came_with(row: dict[str, Any], queued: int | None) -> int | None:
    since: int | None = row["event_serial"]
    if since is not None or row["steps_begun"]:
        return since
    return queued if queued is None else max(queued, row["came_before"] or 0)


def _answer(row: dict[str, Any]) -> Answered | None:
    """The result of the current step's webhook; None if it has none."""
    if row["delivery_state"] is None:
        return None
    state = row["delivery_state"]
    dropped = state == WebhookDelivery.State.DROPPED  # with an enrollment that goes on: it might not be sent any more
    return Answered(ok=state == WebhookDelivery.State.DELIVERED, reason=row["delivery_result"], dropped=dropped)

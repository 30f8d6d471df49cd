"""What must hold of events that were reported before a worker had come.

Two calls are in order if one was answered before the other was sent. Steps are in order with an answer by the clock
that the database and this process share.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.chaos.load import Sending
from tests.chaos.service import Service
from tests.chaos.tenants import LEAVING


@dataclass(frozen=True, kw_only=True)
class Reported:
    """An acknowledged event with its place in its call, which `began` when it was sent for the first time."""

    name: str
    customer: str
    sending: Sending
    began: float
    place: int

    def is_after(self, call: Sending) -> bool:
        return self.began > call.ended

    def follows(self, other: "Reported") -> bool:
        return self.is_after(other.sending) or (self.sending is other.sending and self.place > other.place)

    @property
    def answered_at(self) -> float:
        """Seconds since 1970."""
        return self.sending.ended + time.time() - time.monotonic()


_EVENTS = "SELECT id, name, customer_id FROM customers_event"


def reported(service: Service) -> dict[str, Reported]:
    """Acknowledged events, by their ids."""
    known = {event_id: (name, who) for event_id, name, who in service.ask(_EVENTS)}
    began: dict[str, float] = {}
    for sending in service.load.sendings:
        began[sending.call.name] = min(sending.began, began.get(sending.call.name, sending.began))
    return {
        event_id: Reported(
            name=known[event_id][0], customer=known[event_id][1], sending=sending, began=began[sending.call.name],
            place=place,
        )
        for sending in service.load.succeeded("track", "events")
        for place, event_id in enumerate(_event_ids(sending))
        if event_id in known
    }  # fmt: skip


def _event_ids(sending: Sending) -> list[str]:
    if sending.call.kind == "track":
        return [sending.data["eventId"]]
    return [result["eventId"] for result in sending.data["results"] if "eventId" in result]


def _calls(service: Service) -> dict[str, Sending]:
    """Who was queued by which call, by job id."""
    calls = {sending.data["jobId"]: sending for sending in service.load.succeeded("single")}
    for sending in service.load.succeeded("bulk", "segment"):
        calls |= dict.fromkeys(sending.data["jobIds"], sending)
    return calls


_JOB = "'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms"
_ENTERED = f"""
SELECT {_JOB}, entry.customer_id, entry.state, extract(epoch FROM entry.ended_at)::float,
       extract(epoch FROM max(run.began_at))::float
FROM journeys_enrollment entry
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_journey journey ON journey.id = entry.journey_id
LEFT JOIN journeys_steprun run ON run.enrollment_id = entry.id
WHERE journey.key = 'campaign' GROUP BY job.id, entry.id
"""


def nobody_walks_on_after_leaving(service: Service) -> Iterator[str]:
    """Who left after their call was answered: no step begins once that was answered, and they do not complete."""
    calls, left = _calls(service), [event for event in reported(service).values() if event.name == LEAVING]
    for job_id, customer, state, ended_at, last_step_at in service.ask(_ENTERED):
        call = calls.get(job_id)
        leaves = [event.answered_at for event in left if event.customer == customer and call and event.is_after(call)]
        if not leaves:
            continue
        if last_step_at and last_step_at > min(leaves):
            yield f"{job_id} began a step {last_step_at - min(leaves):.3f} s after its customer had left"
        elif state != "exited" and (ended_at is None or ended_at > min(leaves)):
            yield f"{job_id} is {state}, though its customer has left"


_WAITED = f"""
SELECT {_JOB}, run.step_id, entry.customer_id, earlier.event_id, extract(epoch FROM run.ended_at)::float
FROM journeys_steprun run
JOIN journeys_enrollment entry ON entry.id = run.enrollment_id
JOIN journeys_enrollmentjob job ON job.id = entry.job_id
JOIN journeys_journey journey ON journey.id = entry.journey_id
LEFT JOIN journeys_steprun earlier ON earlier.enrollment_id = run.enrollment_id AND earlier.ordinal = run.ordinal - 1
WHERE journey.key = 'listens_twice' AND run.type = 'wait_for_event' AND run.state = 'done' AND run.event_id IS NULL
"""
_AWAITED = {"first": "signed_up", "second": "looked"}


def nothing_is_missed_while_work_waits(service: Service) -> Iterator[str]:
    """A wait whose time was up: no event came for it, neither since the call nor since the one that ended the other."""
    calls, known = _calls(service), reported(service)
    for job_id, step_id, customer, before, ended_at in service.ask(_WAITED):
        call, earlier = calls.get(job_id), known.get(before)
        for event in known.values():
            if (event.name, event.customer) != (_AWAITED[step_id], customer) or event.answered_at > ended_at:
                continue
            if event.is_after(call) if step_id == "first" and call else earlier is not None and event.follows(earlier):
                yield f"{step_id} of {job_id} missed the event {event.name!r} of {event.sending.call.name}"

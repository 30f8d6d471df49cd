"""The trigger's and the look-ups' answers, as the interface spells them."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from engage.times import iso_utc
from journeys.lookups import JobState, TriggerState
from journeys.trigger import Excluded, QueuedMany, QueuedOne

SINGLE_MESSAGE = "The customer is queued for the journey."
EXCLUDED_MESSAGE = "The customer is on the call's list of exclusions; nothing was queued."
BULK_MESSAGE = "The customers are queued for the journey."
SINGLE_NOTE = "The enrollment is created by a worker after entry-rule validation."
BULK_NOTE = "The enrollments are created by a worker after entry-rule validation."
EXCLUDED_NOTE = "No enrollment will be created."


def single_data(queued: QueuedOne) -> dict[str, Any]:
    return {
        "customerId": queued.customer_id,
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "jobId": queued.job_id,
        "triggerId": queued.trigger.id,
        "note": SINGLE_NOTE,
    }


def excluded_data(excluded: Excluded) -> dict[str, Any]:
    return {
        "customerId": excluded.customer_id,
        "journeyId": excluded.journey_id,
        "status": "excluded",
        "queued": False,
        "jobId": None,
        "triggerId": None,
        "note": EXCLUDED_NOTE,
    }


def bulk_data(queued: QueuedMany) -> dict[str, Any]:
    """All but the two arrays."""
    return {
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "customersEnrolled": queued.trigger.customers,
        "triggerId": queued.trigger.id,
        "note": BULK_NOTE,
    }


def stream_bulk(queued: QueuedMany) -> Iterator[str]:
    """The whole bulk answer in pieces: an audience of a million takes no more memory than one of a thousand."""
    envelope = {"success": True, "message": BULK_MESSAGE, "data": bulk_data(queued)}
    yield _compact(envelope)[:-2]  # without the braces that close `data` and the envelope
    yield from _array("customerIds", queued.pages_of_customer_ids())
    yield from _array("jobIds", queued.pages_of_job_ids())
    yield "}}"


def _array(name: str, pages: Iterable[list[str]]) -> Iterator[str]:
    yield f',"{name}":['
    for number, page in enumerate(pages):
        yield ("," if number else "") + _compact(page)[1:-1]
    yield "]"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def job_data(job: JobState) -> dict[str, Any]:
    return {
        "jobId": job.job_id,
        "triggerId": job.trigger_id,
        "journeyId": job.journey_id,
        "customerId": job.customer_id,
        "status": job.status,
        "result": job.result,
        "reason": job.reason,
        "enrollmentId": job.enrollment_id,
        "queuedAt": iso_utc(job.queued_at),
        "decidedAt": _iso_or_none(job.decided_at),
    }


def trigger_data(trigger: TriggerState) -> dict[str, Any]:
    return {
        "triggerId": trigger.trigger_id,
        "journeyId": trigger.journey_id,
        "customers": trigger.customers,
        "queued": trigger.queued,
        "decided": trigger.decided,
        "failed": trigger.failed,
        "results": dict(trigger.results),
        "queuedAt": iso_utc(trigger.queued_at),
    }


def _iso_or_none(moment: datetime | None) -> str | None:
    return iso_utc(moment) if moment else None

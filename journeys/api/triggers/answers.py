"""The trigger's and the look-ups' answers, as the interface spells them."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NotRequired, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.envelope import Success
from engage.json.compact import ascii_json
from engage.json.keywords import Keywords, OneOf
from journeys.api.triggers.dry_run_answers import DryRunData
from journeys.entering.trigger import Excluded, QueuedMany, QueuedOne

SINGLE_MESSAGE = "The customer is queued for the journey."
EXCLUDED_MESSAGE = "The customer is on the call's list of exclusions; nothing was queued."
BULK_MESSAGE = "The customers are queued for the journey."
NOBODY_MESSAGE = "The call selected nobody: nothing is queued."
SINGLE_NOTE = "The enrollment is created by a worker after entry-rule validation."
BULK_NOTE = "The enrollments are created by a worker after entry-rule validation."
EXCLUDED_NOTE = "No enrollment will be created."


class QueuedOneData(TypedDict):
    """One customer, queued."""

    customerId: Annotated[ObjectId, "The customer's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"]
    queued: Annotated[Literal[True], "False if the customer is excluded, and for a dry run."]
    jobId: Annotated[str, "The id of the job; null if nothing was queued. `GET …/jobs/{jobId}` returns its result."]
    triggerId: Annotated[
        ObjectId,
        "The id of this trigger; null if nothing was queued. `GET …/triggers/{triggerId}` returns its progress.",
    ]
    note: Annotated[
        str, "States that a worker creates the enrollments after checking the entry rules, or creates none."
    ]


class ExcludedOneData(TypedDict):
    """The call excludes its own customer: nothing was queued."""

    customerId: Annotated[ObjectId, "The customer's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["excluded"]
    queued: Literal[False]
    jobId: None
    triggerId: None
    note: Annotated[str, "States that no enrollment will be created."]


class QueuedManyData(TypedDict):
    """Many customers, queued. `Prefer: return=minimal` leaves the two arrays out."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"]
    queued: Literal[True]
    customersEnrolled: Annotated[
        int, "The number of customers queued; 0 if the call selects none.", Keywords(minimum=0)
    ]
    triggerId: Annotated[ObjectId, "The id of this trigger. `GET …/triggers/{triggerId}` returns its progress."]
    note: Annotated[str, "States that a worker creates the enrollments after checking the entry rules."]
    customerIds: NotRequired[Annotated[list[ObjectId], "The ids of the customers queued."]]
    jobIds: NotRequired[Annotated[list[str], "The ids of their jobs, in the same order."]]


Triggered = Annotated[QueuedOneData | QueuedManyData | ExcludedOneData | DryRunData, OneOf("Triggered")]


def single_data(queued: QueuedOne) -> QueuedOneData:
    return {
        "customerId": queued.customer_id,
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "jobId": queued.job_id,
        "triggerId": queued.trigger.id,
        "note": SINGLE_NOTE,
    }


def excluded_data(excluded: Excluded) -> ExcludedOneData:
    return {
        "customerId": excluded.customer_id,
        "journeyId": excluded.journey_id,
        "status": "excluded",
        "queued": False,
        "jobId": None,
        "triggerId": None,
        "note": EXCLUDED_NOTE,
    }


def bulk_data(queued: QueuedMany) -> QueuedManyData:
    """Everything but the two arrays."""
    return {
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "customersEnrolled": queued.trigger.customers,
        "triggerId": queued.trigger.id,
        "note": BULK_NOTE,
    }


def bulk_message(queued: QueuedMany) -> str:
    return BULK_MESSAGE if queued.trigger.customers else NOBODY_MESSAGE


def bulk_pieces(queued: QueuedMany) -> Iterator[str]:
    """The whole bulk answer in pieces: a million customers take no more memory than a thousand."""
    envelope: Success[QueuedManyData] = {"success": True, "message": bulk_message(queued), "data": bulk_data(queued)}
    yield ascii_json(envelope)[:-2]  # without the braces that close `data` and the envelope
    yield from _array("customerIds", queued.pages_of_customer_ids())
    yield from _array("jobIds", queued.pages_of_job_ids())
    yield "}}"


def _array(name: str, pages: Iterable[list[str]]) -> Iterator[str]:
    yield f',"{name}":['
    for number, page in enumerate(pages):
        yield ("," if number else "") + ascii_json(page)[1:-1]
    yield "]"

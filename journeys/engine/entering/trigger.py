"""A trigger, from its call to committed jobs.

    key, limit, body (the view) → journey → segments → customer → one statement that commits → wake the workers

An answer says "queued" only of what is committed. A trigger never creates customers.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from django.db import transaction

from customers.audience.selection import Audience, resolve_segments, select_audience
from customers.identifier_rules import comparable_email, one_spelling
from customers.identity.aliases import led_to
from customers.identity.lookup import CustomerNotFound
from engage.database.keys import id_of_key, named_by, names_of_none
from engage.database.object_ids import ObjectId, is_object_id, row_with_id
from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from engage.errors import Refusal
from engage.json.fields import LEFT_OUT
from journeys.engine import wakeups
from journeys.engine.entering.bulk import pages_of_customer_ids, queue_jobs, queued_customer_ids
from journeys.engine.entering.payloads import require_payload
from journeys.engine.entering.single import IdentifyingColumn, QueueingOutcome, queue_one
from journeys.engine.entering.terms import QueuedTrigger, Request
from journeys.models import CHUNK_SIZE, Journey
from journeys.models.choices import ScheduledFor
from journeys.rules.job_ids import job_id, job_ids

# Each task goes on to the lane's next chunk, so messages beyond what workers can usefully serve at once are waste.
_MOST_WAKEUPS = 16


class JourneyNotFound(Refusal):
    """The key's workspace has no such journey, or it is not active; the answer does not say which."""

    status = 404
    error = "Journey not found"

    def __init__(self, journey_id: str) -> None:
        super().__init__(f"The journey {journey_id[:100]!r} is not found or not active.")


class InvalidJourneyType(Refusal):
    """The journey is not entered by API."""

    error = "Invalid journey type"


@dataclass(frozen=True)
class Recipient:
    """The one identifier by which a single call names its customer."""

    field: Literal["customerId", "external_id", "email"]
    value: str

    def as_stored(self) -> tuple[IdentifyingColumn, str]:
        """The column and the value by which the customer is found."""
        match self.field:
            case "customerId":
                return "id", self.value
            case "external_id":
                return "external_id", one_spelling(self.value)
            case "email":
                return "email", comparable_email(self.value)

    def merged_into(self, workspace_id: str) -> "Recipient":
        """Whom this one, who is not there, was merged into. Raises CustomerNotFound."""
        field, value = self.as_stored()
        into = led_to(workspace_id=workspace_id, field=field, value=value)
        if into is None:
            raise self.not_found()
        return Recipient("customerId", into)

    def not_found(self) -> CustomerNotFound:
        """The refusal if no customer has it."""
        return CustomerNotFound(
            named=f"{self.field}, {self.value[:255]!r}",
            advice="The customer must exist before a journey is triggered for them.",
        )


DUPLICATES = (
    "The entrances that were taken before, of a call with `entranceId`s, with the jobs that have them: 1,000 at most. "
    "The new jobs are decided `duplicate_entrance` unless these end without an enrollment."
)


@dataclass(frozen=True, kw_only=True)
class DuplicateEntrance:
    """An entrance of a customer that an earlier job has."""

    entrance_id: str
    customer_id: Annotated[ObjectId, "The customer's id."]
    job_id: Annotated[str, "The id of the earlier job."]


@dataclass(frozen=True, kw_only=True)
class QueuedOne:
    """One customer, queued."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    journey_id: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"] = "queued"
    queued: Annotated[Literal[True], "False if the customer is excluded, and for a dry run."] = True
    job_id: Annotated[str, "The id of the job; null if nothing was queued. `GET …/jobs/{jobId}` returns its result."]
    trigger_id: Annotated[
        ObjectId,
        "The id of this trigger; null if nothing was queued. `GET …/triggers/{triggerId}` returns its progress.",
    ]
    note: Annotated[
        str, "States that a worker creates the enrollments after checking the entry rules, or creates none."
    ] = "The enrollment is created by a worker after entry-rule validation."
    scheduled_for: ScheduledFor = None
    duplicates: Annotated[Sequence[DuplicateEntrance] | None, DUPLICATES, LEFT_OUT] = None


@dataclass(frozen=True, kw_only=True)
class ExcludedOne:
    """The call excludes its own customer: nothing was queued."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    journey_id: Annotated[ObjectId, "The journey's id."]
    status: Literal["excluded"] = "excluded"
    queued: Literal[False] = False
    job_id: None = None
    trigger_id: None = None
    note: Annotated[str, "States that no enrollment will be created."] = "No enrollment will be created."


@dataclass(frozen=True, kw_only=True)
class QueuedMany:
    """A bulk call, queued. The pages may be read more than once; only the first is held in memory."""

    trigger: QueuedTrigger
    first_page: list[str]
    scheduled_for: datetime | None = None
    duplicates: Sequence[DuplicateEntrance] | None = None

    def pages_of_customer_ids(self) -> Iterator[list[str]]:
        return pages_of_customer_ids(self.trigger, self.first_page)

    def pages_of_job_ids(self) -> Iterator[list[str]]:
        trigger = self.trigger
        return (
            job_ids(journey_id=trigger.journey_id, customer_ids=page, queued_ms=trigger.queued_ms)
            for page in self.pages_of_customer_ids()
        )


def _job_id(trigger: QueuedTrigger, customer_id: str) -> str:
    return job_id(journey_id=trigger.journey_id, customer_id=customer_id, queued_ms=trigger.queued_ms)


def trigger_one(request: Request, recipient: Recipient) -> QueuedOne | ExcludedOne:
    """Queues one customer. Raises JourneyNotFound, InvalidJourneyType, CustomerNotFound, PayloadInvalid."""
    outcome = _queue_past_refusals(request, recipient)
    customer_id, trigger = str(outcome.customer_id), outcome.trigger
    if trigger is None:
        return ExcludedOne(customer_id=customer_id, journey_id=request.journey_id)
    queued = QueuedOne(
        customer_id=customer_id,
        journey_id=request.journey_id,
        job_id=_job_id(trigger, customer_id),
        trigger_id=trigger.id,
        scheduled_for=outcome.scheduled_for,
        duplicates=_named(request.terms.entrance, [(customer_id, outcome.held_by)] if outcome.held_by else []),
    )
    if not request.terms.waits:
        transaction.on_commit(
            lambda: wakeups.wake_for_single(trigger_id=queued.trigger_id, job_id=queued.job_id), robust=True
        )
    return queued


def _queue_past_refusals(request: Request, recipient: Recipient) -> QueueingOutcome:
    """Queues them, once it is known whom they were merged into and that the payload meets the journey's schema."""
    if not is_object_id(request.journey_id):
        raise JourneyNotFound(request.journey_id)
    met = None
    while True:
        outcome = queue_one(request, known_by=recipient.as_stored(), met=met)
        require_api_trigger(outcome.trigger_type, request.journey_id)
        if outcome.customer_id is None:
            recipient = recipient.merged_into(request.workspace_id)
        elif outcome.payload_schema is not None:
            require_payload(outcome.payload_schema, request.payload)
            met = outcome.payload_schema
        else:
            return outcome


def trigger_many(request: Request, audience: Audience) -> QueuedMany:
    """Queues every customer of the audience, which has the exclusions itself.

    Raises JourneyNotFound, InvalidJourneyType, PayloadInvalid, ErrorResolvingSegments.
    """
    workspace_id, terms = request.workspace_id, request.terms
    journey = look_up_journey(workspace_id, request.journey_id)
    require_payload(journey.payload_schema, request.payload)
    segments = resolve_segments(workspace_id=workspace_id, segment_ids=audience.segment_ids or ())
    with longer_statements() if segments else nullcontext():  # a list has two thousand customers at most
        trigger, first_page, held = queue_jobs(
            request,
            select_audience(workspace_id=workspace_id, audience=audience, segments=segments),
            serial=journey.serial,
            segment_ids=[segment.id for segment in segments],
        )
    starts = range(0, len(first_page), CHUNK_SIZE)[:_MOST_WAKEUPS]
    first_jobs = [(start, _job_id(trigger, first_page[start])) for start in starts]
    if not terms.waits:
        transaction.on_commit(lambda: wakeups.wake_for_bulk(trigger_id=trigger.id, first_jobs=first_jobs), robust=True)
    return QueuedMany(
        trigger=trigger,
        first_page=first_page,
        scheduled_for=terms.schedule.instant if terms.schedule else None,
        duplicates=_named(terms.entrance, held),
    )


def _named(entrance: str | None, held: Iterable[tuple[str, str]]) -> list[DuplicateEntrance] | None:
    """Customers and the jobs that have their entrance; None if the call named none."""
    if entrance is None:
        return None
    return [DuplicateEntrance(entrance_id=entrance, customer_id=whose, job_id=job) for whose, job in held]


def queued_before(
    *,
    journey_id: str,
    trigger_id: str,
    customers: int,
    queued_ms: int,
    scheduled_for: str | None = None,
    duplicates: Sequence[Any] | None = None,
) -> QueuedMany:
    """A bulk call that was queued earlier. Raises JourneyNotFound if its jobs were deleted with their journey."""
    trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=customers, queued_ms=queued_ms)
    first_page = queued_customer_ids(trigger_id)
    if customers and not first_page:
        raise JourneyNotFound(journey_id)
    told = None if duplicates is None else [DuplicateEntrance(**one) for one in duplicates]
    due = datetime.fromisoformat(scheduled_for) if scheduled_for else None
    return QueuedMany(trigger=trigger, first_page=first_page, scheduled_for=due, duplicates=told)


_LOOK_UP = Statement("""
SELECT trigger_type, nextval('customers_serial'), payload_schema FROM journeys_journey
WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active
""")


journey_id_of_key = id_of_key("journeys_journey")


def own_journey_ids(workspace_id: str, named: Iterable[str]) -> list[str]:
    """The ids of the workspace's journeys with these ids or keys, active or not. Raises JourneyNotFound."""
    names = sorted(set(named))
    found = list(Journey.objects.filter(named_by(names), workspace_id=workspace_id).only("id", "key"))
    for unknown in names_of_none(names, found):
        raise JourneyNotFound(unknown)
    return sorted(journey.id for journey in found)


def own_journey(*, workspace_id: str, journey_id: str) -> Journey:
    """The workspace's journey, active or not. Raises JourneyNotFound."""
    journey = row_with_id(Journey.objects.filter(workspace_id=workspace_id), journey_id)
    if journey is None:
        raise JourneyNotFound(journey_id)
    return journey


class FoundJourney(NamedTuple):
    """What a call needs to know of its journey, and the call's serial."""

    serial: int
    payload_schema: Any


def look_up_journey(workspace_id: str, journey_id: str) -> FoundJourney:
    """The workspace's active journey, which must be entered by API. Raises JourneyNotFound, InvalidJourneyType.

    Whatever happens to its customers from here on comes after the call, however long it takes to queue them.
    """
    found = _LOOK_UP.rows(workspace_id=workspace_id, journey_id=journey_id) if is_object_id(journey_id) else []
    trigger_type, serial, schema = found[0] if found else (None, 0, None)
    require_api_trigger(trigger_type, journey_id)
    return FoundJourney(serial, schema and json.loads(schema))


def require_api_trigger(trigger_type: str | None, journey_id: str) -> None:
    """Raises JourneyNotFound or InvalidJourneyType unless the journey is active and entered by API.

    `trigger_type` is that of the workspace's active journey, None if it has no such journey.
    """
    if trigger_type is None:
        raise JourneyNotFound(journey_id)
    if trigger_type != Journey.TriggerType.API:
        raise InvalidJourneyType(
            f"The journey is not configured for API triggering; its current trigger type is {trigger_type!r}."
        )

"""What a trigger call would do, and what of it events would, without doing it: nothing is written or queued.

The checks are those of trigger.py, in the same order. The jobs that the call would create are decided as a worker would
decide them when they are due, if nobody is written meanwhile (entering/entry_decisions.py), and the steps are walked by
the same engine, on a virtual clock.

So a decision and a walk are the run itself with nothing kept. Queueing is not: to insert a million jobs and roll them
back would hold up calls that name the same entrances, draw serials, and leave as many dead rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from customers.audience.recipients import SentRecipient, find_recipients
from customers.audience.selection import Audience, LeftOut, NamedCustomer, left_out, pages_of_audience, resolve_segments
from customers.conditions import AnyOf, CustomerFacts
from customers.events import NewEvent
from customers.identity.locks import find_customers_named
from customers.identity.lookup import Reference
from customers.models import Customer
from engage.database.object_ids import row_with_id
from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from journeys.engine.connections.contacts import Contacts
from journeys.engine.connections.surroundings import surroundings_for
from journeys.engine.enrollments.drawn_ways import drawn_ways
from journeys.engine.enrollments.revisions import courses_of
from journeys.engine.entering.entry_conditions import jobs_meeting
from journeys.engine.entering.entry_decisions import decide_jobs
from journeys.engine.entering.payloads import Broken, require_payload, without_broken
from journeys.engine.entering.terms import Request, Terms
from journeys.engine.entering.trigger import JourneyNotFound, Recipient, require_api_trigger
from journeys.engine.entering.waiting_jobs import Supposed, supposed_jobs
from journeys.models import Journey, JourneyRevision
from journeys.models.choices import ElseStoodIn, ScheduledFor, TimezoneOfJob, of_zone
from journeys.rules.entry_rules import Decision, Verdict
from journeys.steps.contact import Contact
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.course import Course
from journeys.steps.rehearsal import Rehearsal, rehearse

_DUE = Statement(
    "SELECT scheduled_for, zone FROM unnest({ids}::text[]) WITH ORDINALITY AS asked (customer_id, place) "
    "CROSS JOIN LATERAL (SELECT {due}) AS due ORDER BY place"
)
_PAGE_SIZE = 5_000
_NO_ENROLLMENT = "0" * 24


@dataclass(frozen=True, kw_only=True)
class Tried(NamedCustomer):
    """A customer whom the call would queue, and what a worker would decide when they are due."""

    schema_name: ClassVar = "TriedCustomer"

    result: Annotated[Verdict, "The result that the job would have."]
    reason: Annotated[str, "The reason for the result, as text."]
    details: Annotated[
        Sequence[str],
        "For `conditions_not_met`: the tests that fail, each with the value that is there and what is wanted. Empty "
        "for other results.",
    ]
    scheduled_for: ScheduledFor = None
    timezone: TimezoneOfJob = None
    else_stood_in: ElseStoodIn = None


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What a call would do. The pages are decided as they are read, and can be read once."""

    journey_id: str
    left_out: LeftOut
    pages: Iterator[Sequence[Tried]]
    rehearsal: Rehearsal | None = None


def dry_run_one(request: Request, recipient: Recipient, *, now: datetime) -> DryRun:
    """What `trigger_one` would do, with the customer's path from `now` on, or when they are due, even if they would not
    enter.

    Raises JourneyNotFound, InvalidJourneyType, CustomerNotFound, PayloadInvalid.
    """
    journey = _journey(request)
    customer = _customer(request.workspace_id, recipient)
    require_payload(journey.payload_schema, request.payload)
    named = NamedCustomer(customer_id=customer.id, external_id=customer.external_id)
    exempt = [Reference("external_id", one) for one in request.excluded if one.strip()]
    if customer.id in find_customers_named(workspace_id=request.workspace_id, references=exempt).values():
        return DryRun(journey_id=journey.id, left_out=LeftOut(excluded=[named]), pages=iter(()))
    return DryRun(
        journey_id=journey.id,
        left_out=LeftOut(),
        pages=iter([try_customers(request, [named])]),
        rehearsal=rehearse_journey(
            journey=journey,
            customer=customer,
            payload=request.payload,
            now=max(now, _due([customer.id], request.terms)[0][0] or now),
            entrance=request.terms.entrance,
        ),
    )


def dry_run_many(request: Request, audience: Audience) -> DryRun:
    """What `trigger_many` would do. Raises what that does."""
    journey, workspace_id = _journey(request), request.workspace_id
    require_payload(journey.payload_schema, request.payload)
    segments = resolve_segments(workspace_id=workspace_id, segment_ids=audience.segment_ids or ())
    pages = pages_of_audience(workspace_id=workspace_id, audience=audience, segments=segments, size=_PAGE_SIZE)
    with longer_statements():
        missing = left_out(workspace_id=workspace_id, audience=audience, segments=segments)
    tried = (try_customers(request, page) for page in pages)
    return DryRun(journey_id=journey.id, left_out=missing, pages=tried)


def dry_run_recipients(request: Request, recipients: Sequence[SentRecipient]) -> tuple[DryRun, list[int], Broken]:
    """What `trigger_recipients` would do; the places, from 0, of those who are somebody named before, and of payloads
    that do not meet the journey's schema. Raises JourneyNotFound, InvalidJourneyType, PayloadInvalid.
    """
    journey = _journey(request)
    recipients, broken = without_broken(journey.payload_schema, request.payload, recipients)
    found, missing = find_recipients(
        workspace_id=request.workspace_id, recipients=recipients, exclude_external_ids=request.excluded
    )
    own = {one.place: one for one in recipients}
    first = [one for one in found if not one.is_second]
    jobs = [Supposed(journey.id, one.customer_id, own[one.place].payload, own[one.place].entrance) for one in first]
    tried = _tried(request, jobs, [one.external_id for one in first])
    run = DryRun(journey_id=journey.id, left_out=missing, pages=iter([tried]))
    return run, [one.place - 1 for one in found if one.is_second], broken


def try_customers(
    request: Request, customers: Sequence[NamedCustomer], *, event_name: str | None = None
) -> list[Tried]:
    """What a worker would decide if these customers, who exist and are listed once each, were queued."""
    jobs = _each(request, [one.customer_id for one in customers], event_name)
    return _tried(request, jobs, [one.external_id for one in customers])


def _each(request: Request, customer_ids: Sequence[str], event_name: str | None = None) -> list[Supposed]:
    entrance = request.terms.entrance
    return [Supposed(request.journey_id, one, entrance=entrance, event_name=event_name) for one in customer_ids]


def _tried(request: Request, jobs: Sequence[Supposed], external_ids: Sequence[str | None]) -> list[Tried]:
    """The decisions about the jobs, in their order; `external_ids` are those of their customers."""
    decisions = decide_jobs(supposed_jobs(request, jobs)).decisions
    due = _due([job.customer_id for job in jobs], request.terms)
    return [
        Tried(
            customer_id=job.customer_id,
            external_id=external_id,
            result=decision.verdict,
            reason=decision.reason,
            details=decision.details,
            scheduled_for=scheduled_for,
            **of_zone(zone),
        )
        for job, external_id, (_, decision), (scheduled_for, zone) in zip(
            jobs, external_ids, decisions, due, strict=True
        )
    ]


def leaving_at_once(request: Request, *, journey: Journey, tried: Sequence[Tried]) -> set[str]:
    """The ids of those who would enter and leave before the first step, because an exit condition holds then."""
    course = _course(journey)
    entering = [one.customer_id for one in tried if one.result is Verdict.ENROLLED]
    if not (entering and course.first and course.exit_rules.conditions):
        return set()
    jobs = supposed_jobs(request, _each(request, entering))
    meeting = jobs_meeting(AnyOf(course.exit_rules.conditions), relation=jobs, journey_id=journey.id)
    return {entering[number - 1] for number in meeting}


def try_entries(
    *, workspace_id: str, entries: Sequence[tuple[str, NewEvent]], ended: Collection[str]
) -> list[Decision]:
    """What a worker would decide now of the jobs that events would create in journeys with these ids, in order.

    `ended` are the enrollments that the events would end before.
    """
    if not entries:
        return []
    jobs = [
        Supposed(journey_id, event.customer_id, event.properties, event.entrance, event.name, event.verified)
        for journey_id, event in entries
    ]
    relation = supposed_jobs(Request(workspace_id=workspace_id, journey_id="", payload={}), jobs)
    return [decision for _, decision in decide_jobs(relation, ended=ended).decisions]


def rehearse_journey(
    *,
    journey: Journey,
    customer: Customer,
    payload: Mapping[str, Any],
    now: datetime,
    event: Occurrence | None = None,
    entrance: str | None = None,
) -> Rehearsal:
    """The customer's path through the journey's current steps, on a virtual clock that begins at `now`.

    There is no enrollment, so its id is all zeros.
    """
    course, key = _course(journey), (customer.id, journey.id)
    context = StepContext(
        journey_id=journey.id,
        journey_name=journey.name,
        enrollment_id=_NO_ENROLLMENT,
        customer=known_of(customer),
        payload=payload,
        event=event,
        chain=0,
        now=now,
        entrance=entrance,
        surroundings=surroundings_for(journey.workspace_id, course),
        topic=journey.topic,
        contact=_contact(journey, customer) if course.asks else None,
        drawn=drawn_ways([key] if course.redrawn else []).get(key, {}),
    )
    return rehearse(course, context)


def _contact(journey: Journey, customer: Customer) -> Contact | None:
    """What the steps ask before they write to the customer; nothing is counted."""
    contacts = Contacts(customers=[(journey.workspace_id, customer.id)], at_once=True)
    return contacts.contact(journey.workspace_id, customer.id, topic=journey.topic)


def _due(customer_ids: Sequence[str], terms: Terms) -> Sequence[tuple[datetime | None, str | None]]:
    """When each of them is due, and by which zone (models/choices.py)."""
    if terms.schedule is None:
        return [(None, None)] * len(customer_ids)
    return _DUE.rows(ids=list(customer_ids), due=terms.scheduled())


def _course(journey: Journey) -> Course:
    """Of its current revision."""
    revision_id = JourneyRevision.objects.values_list("id", flat=True).get(journey=journey, number=journey.revision)
    return courses_of([revision_id]).of(revision_id)


def known_of(customer: Customer) -> CustomerFacts:
    """What steps know of the customer."""
    return CustomerFacts(
        id=customer.id,
        external_id=customer.external_id,
        email=customer.email,
        phone=customer.phone,
        user_id=customer.user_id,
        attributes=customer.attributes,
    )


def _journey(request: Request) -> Journey:
    own = Journey.objects.filter(workspace_id=request.workspace_id, active=True)
    found = row_with_id(own, request.journey_id)
    if found is None:
        raise JourneyNotFound(request.journey_id)
    require_api_trigger(found.trigger_type, found.id)
    return found


def _customer(workspace_id: str, recipient: Recipient) -> Customer:
    column, value = recipient.as_stored()
    found = Customer.objects.filter(workspace_id=workspace_id, **{column: value}).first()
    return found or _customer(workspace_id, recipient.merged_into(workspace_id))

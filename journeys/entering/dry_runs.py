"""What a trigger call would do, and what of it events would, without doing it: nothing is written or queued.

The checks are those of trigger.py, in the same order. The jobs that the call would create are decided as a worker would
decide them when they are due, if nobody is written meanwhile (entering/entry_decisions.py), and the steps are walked by
the same engine, on a virtual clock.
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
from engage.database.sql import Fragment, Statement
from engage.database.statement_limit import longer_statements
from journeys.connections.surroundings import surroundings_for
from journeys.enrollments.drawn_ways import drawn_ways
from journeys.enrollments.revisions import courses_of
from journeys.entering.entry_conditions import jobs_meeting
from journeys.entering.entry_decisions import decide_jobs
from journeys.entering.payloads import Broken, require_payload, without_broken
from journeys.entering.terms import NO_TERMS, Terms
from journeys.entering.trigger import JourneyNotFound, Recipient, require_api_trigger
from journeys.entering.waiting_jobs import supposed_by_events, supposed_jobs, supposed_with_payloads
from journeys.entry_rules import Decision, Verdict
from journeys.models import Journey, JourneyRevision
from journeys.models.choices import ElseStoodIn, ScheduledFor, TimezoneOfJob, of_zone
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.course import Course
from journeys.steps.rehearsal import Rehearsal, rehearse

_DUE = Statement(
    "SELECT scheduled_for, zone FROM unnest({ids}::text[]) WITH ORDINALITY AS named (id, place) "
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


def dry_run_one(
    *,
    workspace_id: str,
    journey_id: str,
    recipient: Recipient,
    exclude_external_ids: Sequence[str],
    payload: Mapping[str, Any],
    now: datetime,
    terms: Terms = NO_TERMS,
) -> DryRun:
    """What `trigger_one` would do, with the customer's path from `now` on, or when they are due, even if they would not
    enter.

    Raises JourneyNotFound, InvalidJourneyType, CustomerNotFound, PayloadInvalid.
    """
    journey = _journey(workspace_id, journey_id)
    customer = _customer(workspace_id, recipient)
    require_payload(journey.payload_schema, payload)
    named = NamedCustomer(customer_id=customer.id, external_id=customer.external_id)
    exempt = [Reference("external_id", one) for one in exclude_external_ids if one.strip()]
    if customer.id in find_customers_named(workspace_id=workspace_id, references=exempt).values():
        return DryRun(journey_id=journey.id, left_out=LeftOut(excluded=[named]), pages=iter(()))
    return DryRun(
        journey_id=journey.id,
        left_out=LeftOut(),
        pages=iter([try_customers(journey=journey, customers=[named], payload=payload, terms=terms)]),
        rehearsal=rehearse_journey(
            journey=journey,
            customer=customer,
            payload=payload,
            now=_begins(customer, now, terms),
            entrance=terms.entrance,
        ),
    )


def dry_run_many(
    *, workspace_id: str, journey_id: str, audience: Audience, payload: Mapping[str, Any], terms: Terms = NO_TERMS
) -> DryRun:
    """What `trigger_many` would do. Raises what that does."""
    journey = _journey(workspace_id, journey_id)
    require_payload(journey.payload_schema, payload)
    segments = resolve_segments(workspace_id=workspace_id, segment_ids=audience.segment_ids or ())
    pages = pages_of_audience(workspace_id=workspace_id, audience=audience, segments=segments, size=_PAGE_SIZE)
    with longer_statements():
        missing = left_out(workspace_id=workspace_id, audience=audience, segments=segments)
    return DryRun(
        journey_id=journey.id,
        left_out=missing,
        pages=(try_customers(journey=journey, customers=page, payload=payload, terms=terms) for page in pages),
    )


def dry_run_recipients(
    *,
    workspace_id: str,
    journey_id: str,
    recipients: Sequence[SentRecipient],
    exclude_external_ids: Sequence[str],
    payload: Mapping[str, Any],
    terms: Terms = NO_TERMS,
) -> tuple[DryRun, list[int], Broken]:
    """What `trigger_recipients` would do; the places, from 0, of those who are somebody named before, and of payloads
    that do not meet the journey's schema. Raises JourneyNotFound, InvalidJourneyType, PayloadInvalid.
    """
    journey = _journey(workspace_id, journey_id)
    recipients, broken = without_broken(journey.payload_schema, payload, recipients)
    found, missing = find_recipients(
        workspace_id=workspace_id, recipients=recipients, exclude_external_ids=exclude_external_ids
    )
    own = {one.place: one for one in recipients}
    first = [one for one in found if not one.is_second]
    entries = [
        (one.customer_id, {**payload, **(own[one.place].payload or {})}, own[one.place].entrance) for one in first
    ]
    jobs = supposed_with_payloads(workspace_id=workspace_id, journey_id=journey.id, entries=entries, terms=terms)
    tried = _tried([NamedCustomer(one.customer_id, one.external_id) for one in first], jobs, terms)
    run = DryRun(journey_id=journey.id, left_out=missing, pages=iter([tried]))
    return run, [one.place - 1 for one in found if one.is_second], broken


def try_customers(
    *,
    journey: Journey,
    customers: Sequence[NamedCustomer],
    payload: Mapping[str, Any],
    event_name: str | None = None,
    terms: Terms = NO_TERMS,
) -> list[Tried]:
    """What a worker would decide if these customers, who exist and are listed once each, were queued."""
    jobs = supposed_jobs(
        workspace_id=journey.workspace_id,
        journey_id=journey.id,
        customer_ids=[customer.customer_id for customer in customers],
        payload=payload,
        event_name=event_name,
        terms=terms,
    )
    return _tried(customers, jobs, terms)


def _tried(customers: Sequence[NamedCustomer], jobs: Fragment, terms: Terms) -> list[Tried]:
    """The decisions about a relation that has a job of each of these customers, in their order."""
    decisions = decide_jobs(jobs).decisions
    due = _due([customer.customer_id for customer in customers], terms)
    return [
        Tried(
            customer_id=customer.customer_id,
            external_id=customer.external_id,
            result=decision.verdict,
            reason=decision.reason,
            details=decision.details,
            scheduled_for=scheduled_for,
            **of_zone(zone),
        )
        for customer, (_, decision), (scheduled_for, zone) in zip(customers, decisions, due, strict=True)
    ]


def leaving_at_once(
    *, journey: Journey, tried: Sequence[Tried], payload: Mapping[str, Any], terms: Terms = NO_TERMS
) -> set[str]:
    """The ids of those who would enter and leave before the first step, because an exit condition holds then."""
    course = _course(journey)
    entering = [one.customer_id for one in tried if one.result is Verdict.ENROLLED]
    if not (entering and course.first and course.exit_rules.conditions):
        return set()
    jobs = supposed_jobs(
        workspace_id=journey.workspace_id, journey_id=journey.id, customer_ids=entering, payload=payload, terms=terms
    )
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
    jobs = supposed_by_events(workspace_id=workspace_id, entries=entries)
    return [decision for _, decision in decide_jobs(jobs, ended=ended).decisions]


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
        drawn=drawn_ways([key] if course.redrawn else []).get(key, {}),
    )
    return rehearse(course, context)


def _begins(customer: Customer, now: datetime, terms: Terms) -> datetime:
    return max(now, _due([customer.id], terms)[0][0] or now)


def _due(customer_ids: Sequence[str], terms: Terms) -> Sequence[tuple[datetime | None, str | None]]:
    """When each of them is due, and by which zone (models/choices.py)."""
    if terms.schedule is None:
        return [(None, None)] * len(customer_ids)
    return _DUE.rows(ids=list(customer_ids), due=terms.scheduled_for("named.id"))


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


def _journey(workspace_id: str, journey_id: str) -> Journey:
    found = row_with_id(Journey.objects.filter(workspace_id=workspace_id, active=True), journey_id)
    if found is None:
        raise JourneyNotFound(journey_id)
    require_api_trigger(found.trigger_type, journey_id)
    return found


def _customer(workspace_id: str, recipient: Recipient) -> Customer:
    column, value = recipient.as_stored()
    found = Customer.objects.filter(workspace_id=workspace_id, **{column: value}).first()
    return found or _customer(workspace_id, recipient.merged_into(workspace_id))

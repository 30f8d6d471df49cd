"""The core of every bridge call: find or create its customer, do what was asked, and record it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from psycopg.types.json import Jsonb

from bridge.caps import count_customer_created, count_journeys_started
from bridge.identity.problems import IdentityTokenMissing
from bridge.identity.proof import proven, unproven
from bridge.interactions.delivered import events_of_delivery
from bridge.models import Interaction
from bridge.requests import BridgeCall
from customers.events import NewEvent, insert_of_event
from customers.identity.claims import is_anonymous
from customers.identity.identifiers import best_match_query, find_or_create_customer
from customers.identity.locks import undisturbed
from customers.identity.proofs import is_claimed
from customers.models import Customer, Event
from customers.profile import check_claim, claim_attributes
from customers.watching import looking_once
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment, Statement, Template
from engage.models import App
from journeys.engine import wakeups
from journeys.engine.entering.by_event import count_of_nothing
from journeys.engine.walking.reactions import record_and_react, unnoticed


@dataclass(frozen=True, kw_only=True)
class MessageEvent:
    """An event to record. `holds_form`: the form's values are among its properties, so they are stored there alone."""

    name: str
    properties: Mapping[str, Any]
    source: Event.Source
    holds_form: bool = False


@dataclass(frozen=True, kw_only=True)
class NewAttributes:
    """Attributes to write; `field` is the request's field that holds them."""

    values: Mapping[str, Any]
    field: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedInteraction:
    """A recorded interaction: the result of the call."""

    id: str = field(default_factory=new_object_id)
    kind: Interaction.Kind
    event_id: str | None = None
    attributes_written: list[str] = field(default_factory=list)
    created_customer: bool = False


def record_interaction(
    *,
    app: App,
    call: BridgeCall,
    kind: Interaction.Kind,
    event: MessageEvent | None = None,
    attributes: NewAttributes | None = None,
    now: datetime,
) -> RecordedInteraction:
    """Records the call, its event with what that leads to, and its attributes, in one transaction.

    The customer is found by the call's identifiers in the app's workspace, or created with them. The interaction
    contains its event, the names of the attributes written, and whether the customer is new.

    If this address has started as many journeys as it may, the event starts none; all else is as usual.

    Raises InvalidRequest for attributes that cannot be written, CustomerErased, DeliveryNotFound, TooManyAtOnce and
    CustomersCreatedLimitExceeded; then nothing is written, and no customer is created. So it is, without a refusal, if
    only the e-mail address or the phone number of somebody erased would lead to a new customer.
    """
    call = proven(app=app, call=call, attributes=attributes.values if attributes else None)
    if attributes:
        check_claim(attributes.values, field=attributes.field)
    if event and event.holds_form:
        call = replace(call, form_data={})
    at_once = (
        None
        if attributes or call.delivery_id or (call.must_be_anonymous and event is None)
        else _record_at_once(app, call, kind, event, now=now)
    )
    # Again after a deadlock: whoever makes somebody, and sees that their name has become an alias, holds that name, for
    # which may wait who holds the customer to whom it leads.
    return at_once or undisturbed(lambda: _record_step_by_step(app, call, kind, event, attributes, now=now))


def _record_step_by_step(
    app: App,
    call: BridgeCall,
    kind: Interaction.Kind,
    event: MessageEvent | None,
    attributes: NewAttributes | None,
    *,
    now: datetime,
) -> RecordedInteraction:
    with looking_once():
        found = find_or_create_customer(workspace_id=app.workspace_id, known_by=call.known_by, is_proven=call.is_proven)
        customer, written = found.customer, []
        if call.must_be_anonymous and not is_anonymous(customer, str(call.known_by.user_id)):
            call = unproven(app=app, call=call, refusal=IdentityTokenMissing())
        if attributes:
            written = claim_attributes(customer=customer, attributes=attributes.values)
    done = events_of_delivery(call, found, kind=kind, now=now)
    if found.created:  # counted only now: attributes that cannot be written leave no customer behind
        count_customer_created(app_id=app.id, address=call.address)
    interaction = RecordedInteraction(
        kind=kind,
        event_id=_record(event, customer, app=app, call=call, now=now, done=done),
        attributes_written=written,
        created_customer=found.created,
    )
    _insert(interaction, app, call, Fragment("SELECT %s::text AS id", [customer.id]))
    if not found.kept:
        transaction.set_rollback(True)
    return interaction


# Find first, then lock: SKIP LOCKED skips a locked row, and must not lead to the second-best match. And lock before the
# check for what the event leads to.
_KNOWN = Template("""
WITH held AS MATERIALIZED (
    SELECT known.id, known.workspace_id FROM ({match}) AS best
    JOIN customers_customer known ON known.id = best.id {who} FOR NO KEY UPDATE OF known SKIP LOCKED
)
SELECT customer.id, customer.workspace_id FROM held AS customer WHERE {unnoticed}
""")
_ANYBODY = Fragment("")
_ANONYMOUS = Fragment(
    "WHERE known.external_id IS NULL AND known.email IS NULL AND known.phone IS NULL"
    " AND 'user_id' = ANY(known.claimed_identifiers)"
)
_NOT_CLAIMED = Template("{match} AND NOT ({claimed})")


def _record_at_once(
    app: App, call: BridgeCall, kind: Interaction.Kind, event: MessageEvent | None, *, now: datetime
) -> RecordedInteraction | None:
    """If nothing else needs to be done, finds the customer and records the call in one statement.

    Returns None if there is no such customer, if what is proven was only claimed by anybody, if the event leads to
    something, or if another transaction holds the customer's row (and might start to wait for the event). The
    customer's row is locked as it is elsewhere.
    """
    match = best_match_query(workspace_id=app.workspace_id, known_by=call.known_by, is_proven=call.is_proven)
    if call.is_proven:  # else claims are to be confirmed, or taken away
        claimed = is_claimed(workspace_id=app.workspace_id, identifiers=call.known_by.present())
        match = _NOT_CLAIMED.filled(match=match, claimed=claimed)
    if event is None:
        interaction = RecordedInteraction(kind=kind)
        known = Fragment(f"{match.sql} FOR KEY SHARE", match.params)
        return interaction if _insert(interaction, app, call, known) else None
    known = _KNOWN.filled(
        match=match,
        who=_ANONYMOUS if call.must_be_anonymous else _ANYBODY,
        unnoticed=unnoticed(event.name),
    )
    event_id = new_object_id()
    interaction = RecordedInteraction(kind=kind, event_id=event_id)
    of_event = insert_of_event(
        event_id=event_id,
        name=event.name,
        properties=event.properties,
        source=event.source,
        at=now,
        message_id=call.message_id,
        verified=call.marks.verified,
    )
    with_event = _WITH_EVENT.filled(event=of_event, missed=count_of_nothing(event.name))
    return interaction if _insert(interaction, app, call, known, with_event) else None


# Written as SQL because every call needs it: building the statement with the ORM takes three times as long as
# executing it. An event is another insert for the same customer.
_INSERT = Statement("""
WITH customer AS ({customer}) {with_event}
INSERT INTO bridge_interaction
    (id, workspace_id, app_id, customer_id, event_id, message_id, kind, form_data, attributes_written, created_customer,
     created_at, action_id, message_problems, verified, identity_problem, origin)
SELECT {id}, {workspace_id}, {app_id}, customer.id, {event_id}, {message_id}, {kind}, {form_data}, {attributes_written},
    {created_customer}, coalesce({occurred_at}::timestamptz, statement_timestamp()), {action_id}, {message_problems},
    {verified}, {identity_problem}, {origin}
FROM customer
""")
_WITH_EVENT = Template(", event AS ({event}), missed AS ({missed})")
_NO_EVENT = Fragment("")


def insert_interaction(interaction: RecordedInteraction, *, app: App, call: BridgeCall, customer_id: str) -> None:
    """Records a call that is about no message, for a customer whose row is locked."""
    _insert(interaction, app, call, Fragment("SELECT %s::text AS id", [customer_id]))


def _insert(
    interaction: RecordedInteraction, app: App, call: BridgeCall, customer: Fragment, with_event: Fragment = _NO_EVENT
) -> bool:
    """Records the interaction for the customer that the fragment selects. Returns False if it selects none.

    `with_event` are other inserts for the same `customer`.
    """
    marks = call.marks
    inserted = _INSERT.execute(
        customer=customer,
        with_event=with_event,
        id=interaction.id,
        workspace_id=app.workspace_id,
        app_id=app.id,
        event_id=interaction.event_id,
        message_id=call.message_id,
        kind=interaction.kind,
        form_data=Jsonb(call.form_data),
        attributes_written=Jsonb(interaction.attributes_written),
        created_customer=interaction.created_customer,
        occurred_at=call.occurred_at,
        action_id=marks.action_id,
        message_problems=None if marks.message_problems is None else Jsonb(marks.message_problems),
        verified=marks.verified,
        identity_problem=marks.identity_problem,
        origin=marks.origin,
    )
    return bool(inserted)


def record_shown(*, app: App, call: BridgeCall, now: datetime) -> None:
    """Records that the delivery was shown, in one transaction; nothing else is kept of the call.

    Raises DeliveryNotFound, CustomerErased, TooManyAtOnce and the refusals of identity tokens.
    """
    call = proven(app=app, call=call, attributes=None)
    undisturbed(lambda: _shown(app, call, now))


def _shown(app: App, call: BridgeCall, now: datetime) -> None:
    found = find_or_create_customer(workspace_id=app.workspace_id, known_by=call.known_by, is_proven=call.is_proven)
    if call.must_be_anonymous and not is_anonymous(found.customer, str(call.known_by.user_id)):
        call = unproven(app=app, call=call, refusal=IdentityTokenMissing())
    _react(events_of_delivery(call, found, kind=None, now=now), app=app, call=call)


def _record(
    event: MessageEvent | None,
    customer: Customer,
    *,
    app: App,
    call: BridgeCall,
    now: datetime,
    done: Sequence[NewEvent],
) -> str | None:
    """Records the event, and what was done with a delivery, with what they lead to; returns the event's id."""
    if event is None:
        _react(done, app=app, call=call)
        return None
    recorded = NewEvent(
        workspace_id=customer.workspace_id,
        customer_id=customer.id,
        name=event.name,
        properties=event.properties,
        source=event.source,
        occurred_at=now,
        message_id=call.message_id,
        verified=call.marks.verified,
    )
    _react([recorded, *done], app=app, call=call)
    return recorded.id


def _react(events: Sequence[NewEvent], *, app: App, call: BridgeCall) -> None:
    """Workers are woken after the commit."""
    if not events:
        return
    due = record_and_react(
        events, may_start=lambda number: count_journeys_started(app_id=app.id, address=call.address, number=number)
    )
    transaction.on_commit(lambda: wakeups.wake(due), robust=True)

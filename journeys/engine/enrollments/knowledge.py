"""What enrollments know, for conditions that are asked outside of their walks: customer, payload, the last event.

Profiles and payloads stay text until a condition asks for them. Payloads are read once for each trigger: those whom a
call for many has enrolled share one. What was sent for one of them alone goes over it.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from customers.conditions import CustomerFacts, Facts
from engage.database.sql import Statement
from engage.process.request_log import Trail
from journeys.engine.enrollments.kept_answers import KEPT
from journeys.steps.context import Occurrence, with_event
from journeys.steps.events import Known

_CUSTOMER = (
    "customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id, "
    "customer.attributes"
)
_EVENT = (
    "event.name AS event_name, event.properties AS event_properties, event.message_id AS event_message, "
    "event.verified AS event_verified"
)
# Laterals with a limit (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_OF_ENROLLMENTS = Statement(
    """
SELECT asked.id, job.trigger_id, job.payload AS own_payload, job.entrance, {customer}, {event}, {kept}::text AS kept
FROM unnest({enrollment_ids}::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS enrollment
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1) AS job
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = enrollment.customer_id LIMIT 1) AS customer
LEFT JOIN LATERAL (SELECT * FROM customers_event last WHERE last.id = enrollment.event_id LIMIT 1) AS event ON true
""",
    customer=_CUSTOMER,
    event=_EVENT,
    kept=KEPT.replace("{enrollment_id}", "asked.id"),
)
_OF_CUSTOMERS = Statement(
    """
SELECT {customer}, NULL AS event_name, NULL AS kept
FROM customers_customer customer WHERE id = ANY({customer_ids}::text[])
""",
    customer=_CUSTOMER,
)
_CALLED = Statement("""
SELECT id, payload, serial, request_id, traceparent FROM journeys_trigger WHERE id = ANY({trigger_ids}::text[])
""")
_PAYLOADS_AND_OWN = Statement("""
SELECT id, payload FROM journeys_trigger WHERE id = ANY({trigger_ids}::text[])
UNION ALL
SELECT id::text, payload FROM journeys_enrollmentjob WHERE id = ANY({job_ids}::bigint[]) AND payload IS NOT NULL
""")


def known_to(enrollment_ids: Collection[str], *, now: datetime) -> dict[str, Known]:
    """What each enrollment, which exists and is active, knows at this moment, in two statements."""
    rows = _OF_ENROLLMENTS.records(enrollment_ids=list(enrollment_ids))
    called = called_by({row["trigger_id"] for row in rows})
    return {row["id"]: partial(_facts, row, called[row["trigger_id"]].payload, now) for row in rows}


def known_at_entry(entries: Mapping[int, tuple[str, str, str | None]], *, now: datetime) -> dict[int, Known]:
    """The same for those that are about to begin: each job's customer, trigger and entrance. In two statements."""
    ids = {customer_id for customer_id, _, _ in entries.values()}
    customers = {row["customer_id"]: row for row in _OF_CUSTOMERS.records(customer_ids=sorted(ids))}
    trigger_ids = {trigger_id for _, trigger_id, _ in entries.values()}
    payloads = dict(_PAYLOADS_AND_OWN.rows(trigger_ids=list(trigger_ids), job_ids=list(entries)))
    return {
        job_id: partial(
            _facts,
            customers[customer_id] | {"own_payload": payloads.get(str(job_id)), "entrance": entrance},
            payloads[trigger_id],
            now,
        )
        for job_id, (customer_id, trigger_id, entrance) in entries.items()
        if customer_id in customers
    }


class Called(NamedTuple):
    """What a trigger gives to all whom it enrolls: the payload, as text, its serial, and the trail of its call."""

    payload: str
    serial: int | None
    trail: Trail


def called_by(trigger_ids: Collection[str]) -> dict[str, Called]:
    """The same of each trigger, by its id."""
    found = _CALLED.rows(trigger_ids=list(trigger_ids))
    return {trigger_id: Called(payload, serial, Trail(*trail)) for trigger_id, payload, serial, *trail in found}


def payload_of(text: str, *, own: str | None) -> Mapping[str, Any]:
    """A trigger's payload, and over it what was sent for the one customer alone; both as text."""
    return _parsed_payload(text) if own is None else _parsed_payload(text) | json.loads(own)


@lru_cache(maxsize=8)
def _parsed_payload(text: str) -> dict[str, Any]:
    """Cached, because the enrollments of a call for many share its payload."""
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def customer_facts(row: Mapping[str, Any], attributes: Mapping[str, Any]) -> CustomerFacts:
    """The customer in a row with their identifiers."""
    return CustomerFacts(
        id=row["customer_id"],
        external_id=row["external_id"],
        email=row["email"],
        phone=row["phone"],
        user_id=row["user_id"],
        attributes=attributes,
    )


def last_event(row: Mapping[str, Any]) -> Occurrence | None:
    """The event in a row with these columns; None if it has none."""
    if row["event_name"] is None:
        return None
    return Occurrence(
        name=row["event_name"],
        properties=json.loads(row["event_properties"]),
        message=row["event_message"],
        verified=row["event_verified"],
    )


@lru_cache(maxsize=2)
def _profile(text: str) -> dict[str, Any]:
    """Cached, because many events may be of one customer."""
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def _facts(row: Mapping[str, Any], payload: str, now: datetime) -> Facts:
    known = Facts(
        customer=customer_facts(row, _profile(row["attributes"])),
        payload=payload_of(payload, own=row["own_payload"]),
        kept=json.loads(row["kept"] or "{}"),
        entrance=row["entrance"],
        now=now,
    )
    event = last_event(row)
    return known if event is None else with_event(known, event)

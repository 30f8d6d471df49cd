"""One customer's path through a journey as it is now, on a virtual clock: would they enter, and what would follow?

Unlike a dry run of a call it takes any journey, also one that is switched off or that events start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.audience.selection import NamedCustomer
from customers.identifier_rules import one_spelling
from customers.identity.lookup import CustomerNotFound
from customers.models import Customer
from engage.database.object_ids import is_object_id, row_with_id
from engage.errors import Refusal
from journeys.engine.entering.dry_runs import Tried, rehearse_journey, try_customers
from journeys.engine.entering.terms import Request, Schedule, Terms
from journeys.models import Journey
from journeys.rules.entry_rules import Verdict
from journeys.steps.context import Occurrence
from journeys.steps.events import nothing_known, stored_pattern
from journeys.steps.rehearsal import Rehearsal


class UnknownJourney(Refusal):
    """No journey has this id or key."""

    status = 404
    error = "Unknown journey"


class AmbiguousJourney(Refusal):
    """More than one workspace has a journey with this key."""

    status = 409
    error = "Ambiguous journey"


@dataclass(frozen=True, kw_only=True)
class WalkThrough:
    """What would happen.

    `why_not_started` says why the event would not start the journey; None if it would, or if the journey needs none.
    """

    journey: Journey
    why_not_started: str | None
    tried: Tried
    rehearsal: Rehearsal

    @property
    def enters(self) -> bool:
        return self.why_not_started is None and self.tried.result is Verdict.ENROLLED


def walk_through(*, journey: Journey, customer: Customer, payload: Mapping[str, Any], now: datetime) -> WalkThrough:
    """The customer's path if they entered with this payload, or in an event journey by an event with these properties.

    The event is taken to be one that counts wherever the journey listens: not from the bridge.

    The steps begin at `now`; if that is to come, the entry is decided as of then as well.
    """
    event = None
    if journey.trigger_type == Journey.TriggerType.EVENT:
        event = Occurrence(name=journey.event_name, properties=payload)
    named = NamedCustomer(customer_id=customer.id, external_id=customer.external_id)
    request = Request(
        workspace_id=journey.workspace_id,
        journey_id=journey.id,
        payload=payload,
        terms=Terms(schedule=Schedule(at=now)),
    )
    (tried,) = try_customers(request, [named], event_name=event.name if event else None)
    return WalkThrough(
        journey=journey,
        why_not_started=_why_not_started(journey, event, now) if event else None,
        tried=tried,
        rehearsal=rehearse_journey(journey=journey, customer=customer, payload=payload, now=now, event=event),
    )


def _why_not_started(journey: Journey, event: Occurrence, now: datetime) -> str | None:
    pattern = stored_pattern(name=journey.event_name, where=journey.event_where, from_bridge=journey.event_from_bridge)
    if pattern.matches(event, from_bridge=False, known=nothing_known(now)):
        return None
    return f"An event {event.name!r} with these properties does not start the journey: its `where` does not hold."


def journey_known_as(*, name: str, workspace_key: str | None) -> Journey:
    """The journey with this id or key, in this workspace or in any. Raises UnknownJourney, AmbiguousJourney."""
    journeys = Journey.objects.select_related("workspace").order_by("workspace__key")
    if workspace_key is not None:
        journeys = journeys.filter(workspace__key=workspace_key)
    found = list(journeys.filter(id=name)) if is_object_id(name) else []
    found = found or list(journeys.filter(key=name))
    if not found:
        where = "" if workspace_key is None else f" in the workspace {workspace_key!r}"
        raise UnknownJourney(f"There is no journey with the id or key {name!r}{where}.")
    if len(found) > 1:
        keys = ", ".join(journey.workspace.key for journey in found)
        raise AmbiguousJourney(
            f"Several workspaces have a journey {name!r}: {keys}. Say which one with --workspace KEY."
        )
    return found[0]


def customer_known_as(*, workspace_id: str, name: str) -> Customer:
    """The workspace's customer with this id, else with this external id. Raises CustomerNotFound."""
    own = Customer.objects.filter(workspace_id=workspace_id)
    found = row_with_id(own, name) or own.filter(external_id=one_spelling(name)).first()
    if found is None:
        raise CustomerNotFound(named=f"customerId or external_id, {name[:255]!r}")
    return found

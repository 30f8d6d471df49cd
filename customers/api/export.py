"""The call that tells all that is stored of a customer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any

from django.utils import timezone

from customers.api.path_ids import ADA, CUSTOMER_ID
from customers.identity.lookup import CustomerNotFound
from customers.personal import Records, time_for_all_of
from customers.personal import export_customer as export
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.database.object_ids import ObjectId
from engage.database.snapshot import snapshot
from engage.database.statement_limit import LargeWorkInProgress
from engage.http.long_answers import LongAnswer, finished_answer
from engage.http.views import AllJourneysNeeded
from engage.json.compact import ascii_json
from engage.json.fields import camel_case
from engage.json.instants import iso_utc
from engage.scopes import Scope

_EXPORTED = "All that is stored of the customer."


@dataclass(frozen=True, kw_only=True)
class CustomerExport:
    """Everything that is stored of a customer, as of one moment."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    exported_at: datetime
    records: Annotated[
        Mapping[str, list[Mapping[str, Any]]],
        "By kind: `customer` (one), `segments`, `aliases`, `events`, `interactions`, `jobs`, `enrollments`, `steps`, "
        "`webhooks`, `webhookAttempts`, `goals`, `holdOuts`, `inAppDeliveries` and `unmatchedCalls` (calls that named "
        "the external id before it was there). A record has the fields that are stored, and may gain some.",
    ]


def _export_pieces(customer_id: str, records: Records, *, now: datetime) -> Iterator[str]:
    """The answer in pieces, a record each."""
    yield f'{{"success":true,"message":{ascii_json(_EXPORTED)},"data":{{"customerId":"{customer_id}",'
    yield f'"exportedAt":"{iso_utc(now)}","records":{{'
    name_of = cache(camel_case)  # a few columns, in a million rows
    for number, (kind, rows) in enumerate(records):
        yield f'{"," if number else ""}"{kind}":['
        for place, row in enumerate(rows):
            named = {name_of(name): value for name, value in row.items()}
            yield ("," if place else "") + ascii_json(named)
        yield "]"
    yield "}}}"


_EXPORT = CustomerExport(
    customer_id=ADA,
    exported_at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
    records={
        "customer": [{"id": ADA, "externalId": "ada", "email": "ada@example.com", "attributes": {"plan": "pro"}}],
        "events": [
            {
                "id": "68a1f0c2e4b0a1d2c3e4f5d0",
                "name": "bought",
                "properties": {"price": 30},
                "source": "api",
                "occurredAt": "2026-11-20T19:07:12+00:00",
            }
        ],
    },
)


@get(
    path="customers/{workspaceId}/{customerId}/export",
    ids=[CUSTOMER_ID],
    scope=Scope.CUSTOMERS_EXPORT,
    policy="customers",
    tag="Customers",
    says=_EXPORTED,
    answer=_EXPORTED,
    examples={"Exported": _EXPORT},
    refuses=[CustomerNotFound(named="customerId"), AllJourneysNeeded(), LargeWorkInProgress()],
    of_all_journeys=True,
)
def export_customer(asked: Asked[None, None], customer_id: str) -> CustomerExport | LongAnswer:
    """Export all that is stored of a customer

    Returns every record about the customer, from all parts of the service, as of one moment. Credentials of webhooks'
    receivers are left out, and what is not about one customer alone: payloads of calls for many, and segments whose
    conditions the customer meets. A key that is for certain journeys only may not export. That somebody exported it is
    noted in the audit.
    """
    with snapshot():
        own_id, records = export(workspace_id=asked.workspace_id, customer_id=customer_id)
        with time_for_all_of(workspace_id=asked.workspace_id, customer_id=own_id):
            return finished_answer(_export_pieces(own_id, records, now=timezone.now()))

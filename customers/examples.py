"""Example requests and answers about customers, for the OpenAPI document."""

from customers.answers import (
    BatchResult,
    CustomerErased,
    CustomerExport,
    CustomerRecord,
    ItemDone,
    ItemSent,
    MembersChanged,
    item_failed,
)
from customers.identity.roster import IdentifierConflict

ADA, BOB = "68a1f0c2e4b0a1d2c3e4f5a1", "68a1f0c2e4b0a1d2c3e4f5a2"

UPSERTS = {
    "Create or update": {
        "external_id": "ada",
        "email": "ada@example.com",
        "attributes": {"plan": "pro", "trial_ends": None},
    },
    "Give another external id": {"customerId": ADA, "external_id": "ada-2"},
}
BATCHES = {
    "Two customers": {
        "customers": [
            {"external_id": "ada", "attributes": {"plan": "pro"}},
            {"external_id": "eve", "email": "bob@example.com"},
        ]
    }
}
MEMBERS = {"One in, one out": {"add": ["ada", "nobody"], "remove": ["bob"]}}

RECORD = CustomerRecord(
    customerId=ADA,
    external_id="ada",
    email="ada@example.com",
    phone=None,
    userId=None,
    attributes={"plan": "pro"},
    createdAt="2026-11-20T19:08:00.123Z",
    updatedAt="2026-11-20T19:08:00.123Z",
)
CONFLICT = IdentifierConflict(
    f"email belongs to customer {BOB}, who has another external_id. To change that external_id, send the customerId.",
    details=[{"field": "email", "customerId": BOB}],
)
BATCH = BatchResult(
    created=1,
    updated=0,
    failed=1,
    results=[
        ItemDone(index=0, external_id="ada", status="created", customerId=ADA),
        item_failed(CONFLICT, ItemSent(index=1, external_id="eve")),
    ],
)
ERASED = CustomerErased(
    customerId=ADA,
    deleted=True,
    receipt={
        "receiptId": "68a1f0c2e4b0a1d2c3e4f5c9",
        "erasedAt": "2026-11-20T19:08:00.000Z",
        "rows": {"customer": 1, "segments": 2, "events": 14, "interactions": 3, "enrollments": 1, "steps": 4},
    },
)
EXPORT = CustomerExport(
    customerId=ADA,
    exportedAt="2026-11-20T19:08:00.000Z",
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
CHANGED_MEMBERS = MembersChanged(added=1, removed=1, unknown=["nobody"])

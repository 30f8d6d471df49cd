"""Erasing a person.

Everything that belongs to a customer is deleted with the row, by the database's own cascades: segment memberships,
events, interactions, enrollments and their history. Personal data that the journeys keep elsewhere is also erased in
the database (journeys/migrations), because nothing here knows of journeys. So this holds however the row is deleted.

What remains is an entry of the audit, which is the receipt: whose id, when, by whom, and how much it was. And keyed
digests of addresses that are not to be written to: else whoever imports them again would write to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.db import transaction

from customers.contact.reach import keep_opt_outs
from customers.identity.lookup import IDENTIFIER_NAMES, CustomerNotFound
from customers.models import Customer
from customers.personal import counts_of, time_for_all_of
from customers.tombstones import delete_and_leave_tombstone
from engage.audit.recording import Change, record
from engage.database.object_ids import ObjectId, is_object_id
from engage.json.fields import LEFT_OUT
from engage.models import AuditEntry


@dataclass(frozen=True, kw_only=True)
class ErasureReceipt:
    """What an erasure leaves behind, without anything personal."""

    receipt_id: Annotated[ObjectId, "The id of the audit's entry, which is kept as long as the audit is."]
    erased_at: datetime
    rows: Annotated[Mapping[str, int], "How many records were erased, by their kind in an export."]
    suppressions: Annotated[
        int | None, "How many of their addresses stay as digests, so that these are not written to again.", LEFT_OUT
    ] = None


def erase_customer(*, workspace_id: str, customer_id: str) -> ErasureReceipt:
    """Deletes the customer and everything that is personal to them, and leaves a tombstone.

    Raises CustomerNotFound and LargeWorkInProgress.
    """
    if not is_object_id(customer_id):
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])
    with transaction.atomic():
        # Whoever adds something to the customer waits, so nothing is erased that was not counted.
        own = Customer.objects.select_for_update().filter(workspace_id=workspace_id, id=customer_id)
        kept = sum(keep_opt_outs(customer) for customer in own.only("id", "workspace_id", "email", "phone"))
        with time_for_all_of(workspace_id=workspace_id, customer_id=customer_id):
            rows = counts_of(workspace_id=workspace_id, customer_id=customer_id)
            there = delete_and_leave_tombstone(workspace_id=workspace_id, customer_id=customer_id)
        if not there:
            raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])
        counted = {kind: (number, 0) for kind, number in rows.items()}
        if kept:
            counted["suppressions"] = (kept, kept)
        erased = Change(
            action=AuditEntry.Action.ERASED,
            workspace_id=workspace_id,
            kind="customer",
            id=customer_id,
            changes=counted,
        )
        (entry,) = record(erased)
    return ErasureReceipt(receipt_id=entry.id, erased_at=entry.at, rows=rows, suppressions=kept or None)

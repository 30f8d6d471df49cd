"""Everything that is stored of a person, for them to have."""

from collections.abc import Iterator
from typing import Any

from customers.lookup import customer_by_id
from customers.personal import PERSONAL, rows_of
from engage.audit.recording import Deed, record
from engage.models import AuditEntry

Records = Iterator[tuple[str, Iterator[dict[str, Any]]]]


def export_customer(*, workspace_id: str, customer_id: str) -> Records:
    """Each kind of record with its rows, to be read in this order inside the transaction. Raises CustomerNotFound."""
    customer = customer_by_id(workspace_id=workspace_id, customer_id=customer_id)
    told = Deed(action=AuditEntry.Action.EXPORTED, workspace_id=workspace_id, kind="customer", id=customer.id)
    record(told)
    return (
        (name, rows_of(kept, workspace_id=workspace_id, customer_id=customer.id)) for name, kept in PERSONAL.items()
    )

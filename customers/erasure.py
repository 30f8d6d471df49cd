"""Erasing a person.

Everything that belongs to a customer is deleted with the row, by the database's own cascades: segment memberships,
events, interactions, enrollments and their history. Personal data that the journeys keep elsewhere is also erased in
the database (journeys/migrations), because nothing here knows of journeys. So this holds however the row is deleted.
"""

from customers.lookup import IDENTIFIER_NAMES, CustomerNotFound
from customers.tombstones import delete_and_leave_tombstone
from engage.database.object_ids import is_object_id


def erase_customer(*, workspace_id: str, customer_id: str) -> None:
    """Deletes the customer and everything that is personal to them, and leaves a tombstone. Raises CustomerNotFound."""
    if not is_object_id(customer_id) or not delete_and_leave_tombstone(
        workspace_id=workspace_id, customer_id=customer_id
    ):
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])

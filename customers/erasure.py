"""Erasing a person.

Everything that belongs to a customer is deleted with the row, by the database's own cascades: segment memberships,
events, interactions, enrollments and their history. Personal data that the journeys keep elsewhere is also erased in
the database (journeys/migrations), because nothing here knows of journeys. So this holds however the row is deleted.
"""

from customers.lookup import IDENTIFIER_NAMES, CustomerNotFound
from customers.models import Customer
from engage.object_ids import is_object_id


def erase_customer(*, workspace_id: str, customer_id: str) -> None:
    """Deletes the customer and everything that is personal to them. Raises CustomerNotFound."""
    erased = 0
    if is_object_id(customer_id):
        erased, _ = Customer.objects.filter(workspace_id=workspace_id, id=customer_id).delete()
    if not erased:
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])

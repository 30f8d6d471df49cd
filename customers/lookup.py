"""Reading one customer of a workspace."""

from typing import Final

from customers.identity import Identifiers
from customers.models import Customer
from engage.errors import Refusal
from engage.object_ids import is_object_id

# A customer's field to its name in the interface; in the order in which a server's call trusts them.
IDENTIFIER_NAMES: Final = {
    "id": "customerId",
    "external_id": "external_id",
    "email": "email",
    "phone": "phone",
    "user_id": "userId",
}


class CustomerNotFound(Refusal):
    """Nobody in the workspace is known by what was sent."""

    status = 404
    error = "Customer not found"
    code = "customer_not_found"

    def __init__(self, *, named: str, advice: str = "") -> None:
        super().__init__(f"This workspace has no customer with this {named}. {advice}".strip())


def customer_by_id(*, workspace_id: str, customer_id: str) -> Customer:
    """The customer with this id. Raises CustomerNotFound, also for a customer of another workspace."""
    in_workspace = Customer.objects.filter(workspace_id=workspace_id)
    found = in_workspace.filter(id=customer_id).first() if is_object_id(customer_id) else None
    if found is None:
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])
    return found


def customer_known_by(*, workspace_id: str, known_by: Identifiers) -> Customer:
    """The customer who has all of these identifiers. Raises CustomerNotFound, which names them without their values."""
    sent = known_by.present()
    found = Customer.objects.filter(workspace_id=workspace_id, **sent).first()
    if found is None:
        raise CustomerNotFound(named=" and ".join(IDENTIFIER_NAMES[field] for field in sent))
    return found

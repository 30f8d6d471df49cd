"""Aliases: user ids, and ids of customers who were merged, that lead to another customer.

A customer's own user id comes first, so nobody asks here before they have looked there.
"""

from customers.models import Alias
from customers.tombstones import CustomerErased, digest_of
from engage.database.object_ids import is_object_id
from engage.database.sql import Statement

_LEADS_TO = Statement("""
SELECT (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND user_id = {user_id}),
       EXISTS (SELECT FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = {digest})
""")


def customer_behind(*, workspace_id: str, user_id: str) -> str | None:
    """The id of the customer to whom this alias leads; None if it is none.

    Raises CustomerErased if a customer with this user id or alias was erased a while ago.
    """
    digest = digest_of(workspace_id=workspace_id, user_id=user_id)
    ((customer_id, erased),) = _LEADS_TO.rows(workspace_id=workspace_id, user_id=user_id, digest=digest)
    if customer_id is None and erased:
        raise CustomerErased
    return str(customer_id) if customer_id else None


def merged_into(*, workspace_id: str, customer_id: str) -> str | None:
    """The id of the customer into whom the one with this id was merged; None if they were not."""
    if not is_object_id(customer_id):
        return None
    merged = Alias.objects.filter(workspace_id=workspace_id, id=customer_id)
    return merged.values_list("customer_id", flat=True).first()

"""Aliases: user ids, and ids of customers who were merged, that lead to another customer.

A customer's own user id comes first, so nobody asks here before they have looked there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from customers.models import Alias, Customer
from customers.tombstones import CustomerErased, digests_of
from engage.database.object_ids import is_object_id, new_object_id
from engage.database.sql import Statement

_LEADS_TO = Statement("""
SELECT (
           SELECT customer_id FROM customers_alias
           WHERE workspace_id = {workspace_id} AND user_id = {user_id} AND NOT (claimed AND {is_proven})
       ),
       ARRAY(
           SELECT sent.digest FROM unnest({digests}::text[]) AS sent (digest) CROSS JOIN LATERAL (
               SELECT FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = sent.digest LIMIT 1
           ) AS erased
       )
""")


@dataclass(frozen=True, kw_only=True)
class Behind:
    """Of identifiers that no customer has: to whom the user id leads, and which were somebody's who is erased."""

    alias_of: str | None
    erased: frozenset[str]

    def customer_id(self) -> str | None:
        """The id of the customer to whom the user id leads. Raises CustomerErased if nobody may be made instead."""
        if "user_id" in self.erased:
            raise CustomerErased
        if self.alias_of is None and "external_id" in self.erased:
            raise CustomerErased
        return self.alias_of


def behind(*, workspace_id: str, identifiers: Mapping[str, str], is_proven: bool = False) -> Behind:
    """Of identifiers (model field to value) that no customer has.

    What is proven is of nobody erased, and no alias that only a page has made.
    """
    digests = {} if is_proven else digests_of(workspace_id=workspace_id, identifiers=identifiers)
    ((customer_id, erased),) = _LEADS_TO.rows(
        workspace_id=workspace_id,
        user_id=identifiers.get("user_id"),
        is_proven=is_proven,
        digests=list(digests),
    )
    return Behind(
        alias_of=str(customer_id) if customer_id else None, erased=frozenset(map(digests.__getitem__, erased))
    )


NOTHING_LEFT = Behind(alias_of=None, erased=frozenset())

_LEAVE = Statement("""
INSERT INTO customers_alias (id, workspace_id, user_id, customer_id, claimed)
VALUES ({alias_id}, {workspace_id}, {user_id}, {customer_id}, {claimed})
ON CONFLICT (workspace_id, user_id)
DO UPDATE SET id = excluded.id, customer_id = excluded.customer_id, claimed = excluded.claimed
""")


def leave_alias(customer: Customer, *, user_id: str, claimed: bool, alias_id: str | None = None) -> None:
    """From now on the user id leads to the customer. `alias_id`: so does the id of this customer, who was merged.

    `claimed`: only a page has said so.
    """
    _LEAVE.execute(
        alias_id=alias_id or new_object_id(),
        workspace_id=customer.workspace_id,
        user_id=user_id,
        customer_id=customer.id,
        claimed=claimed,
    )


def merged_into(*, workspace_id: str, customer_id: str) -> str | None:
    """The id of the customer into whom the one with this id was merged; None if they were not."""
    if not is_object_id(customer_id):
        return None
    merged = Alias.objects.filter(workspace_id=workspace_id, id=customer_id)
    return merged.values_list("customer_id", flat=True).first()

"""Write what is known of customers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from customers.attribute_rules import check_attribute_names, check_attributes_size
from customers.models import Customer

# Merged in the database and not in here: two calls that write different attributes at once must both survive. The time
# is the statement's, as it is of a customer whom the same transaction has created just before.
_MERGE = """
    UPDATE customers_customer
    SET attributes = (attributes || %(written)s::jsonb) - %(deleted)s::text[], updated_at = statement_timestamp()
    WHERE workspace_id = %(workspace_id)s AND id = %(customer_id)s
    RETURNING attributes
"""


def write_attributes(*, customer: Customer, attributes: Mapping[str, Any], field: str = "attributes") -> list[str]:
    """Merges the attributes into the customer's, key by key (None deletes one), and gives the names written.

    Gives no names where the customer has been erased. Raises InvalidRequest for a name that no attribute may have (the
    message then names the request's `field`), and where the profile would grow too big; then nothing is written.
    The `customer` in memory stays as it was.
    """
    check_attribute_names(attributes, field=field)
    if not attributes:
        return []
    # Without a savepoint: who is refused gives up the whole transaction.
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(
            _MERGE,
            {
                "workspace_id": customer.workspace_id,
                "customer_id": customer.id,
                "written": json.dumps(dict(attributes)),
                "deleted": [name for name, value in attributes.items() if value is None],
            },
        )
        if (merged := cursor.fetchone()) is None:
            return []
        check_attributes_size(json.loads(merged[0]))
    return list(attributes)


_MERGE_MANY = """
    UPDATE customers_customer customer
    SET attributes = (customer.attributes || written.attributes)
            - ARRAY(SELECT jsonb_array_elements_text(written.deleted)),
        updated_at = statement_timestamp()
    FROM unnest(%s::text[], %s::text[], %s::jsonb[], %s::jsonb[]) AS written(workspace_id, id, attributes, deleted)
    WHERE customer.workspace_id = written.workspace_id AND customer.id = written.id
"""


@dataclass(frozen=True, kw_only=True)
class ProfileChange:
    """Attributes to merge into one customer's; None deletes one. Names and size were checked by who made it."""

    workspace_id: str
    customer_id: str
    attributes: Mapping[str, Any]


def merge_attributes(changes: Sequence[ProfileChange]) -> None:
    """Merges checked attributes into their customers', in one statement; each customer stands there once at most."""
    if not changes:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _MERGE_MANY,
            [
                [change.workspace_id for change in changes],
                [change.customer_id for change in changes],
                [json.dumps(dict(change.attributes)) for change in changes],
                [
                    json.dumps([name for name, value in change.attributes.items() if value is None])
                    for change in changes
                ],
            ],
        )

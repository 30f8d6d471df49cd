"""Writes customers' attributes: what in-app messages claim, and what journeys know."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from customers.attribute_rules import check_attribute_names, check_claimed_size
from customers.models import Customer
from customers.watching import let_look, let_look_at
from engage.database.sql import Rows, Statement

# Merged in the database, not here: concurrent writes of different attributes must both survive. The time is the
# statement's, as it is for a customer that the same transaction has just created.
_CLAIM = Statement("""
    UPDATE customers_customer
    SET attributes = (attributes || {written}::jsonb) - {deleted}::text[],
        claimed_attributes = ARRAY(
            SELECT unnest(claimed_attributes || {names}::text[]) EXCEPT SELECT unnest({deleted}::text[])
        ),
        updated_at = statement_timestamp()
    WHERE workspace_id = {workspace_id} AND id = {customer_id}
    RETURNING (
        SELECT jsonb_object_agg(name, value) FROM jsonb_each(attributes) AS attribute (name, value)
        WHERE name = ANY(claimed_attributes)
    )
""")


def check_claim(attributes: Mapping[str, Any], *, field: str = "attributes") -> None:
    """Raises InvalidRequest for what no customer can be said to have: a name that is not allowed, or too much.

    A message about a name also names the request's `field`. To be called before the customer is looked up: how long a
    refusal takes must not tell whether there is one.
    """
    check_attribute_names(attributes, field=field)
    check_claimed_size({name: value for name, value in attributes.items() if value is not None})


def claim_attributes(*, customer: Customer, attributes: Mapping[str, Any]) -> list[str]:
    """Merges what an in-app message says of the customer, key by key (None deletes), and returns the names written.

    They have passed `check_claim`. Must run in a transaction that holds the customer's row lock. Raises InvalidRequest
    if the customer's claimed attributes would become too many; then the transaction must be rolled back. The `customer`
    in memory is not changed.
    """
    if not attributes:
        return []
    (claimed,) = _CLAIM.column(
        workspace_id=customer.workspace_id,
        customer_id=customer.id,
        written=json.dumps(dict(attributes)),
        names=list(attributes),
        deleted=[name for name, value in attributes.items() if value is None],
    )
    check_claimed_size(json.loads(claimed or "{}"))
    let_look([customer])
    return list(attributes)


# The conditions leave the planner no choice but to look each row up by its id, whatever its statistics say:
# with `|| ''` no index leads to all of the workspace's.
_MERGE_MANY = Statement(
    """
WITH merged AS (
    UPDATE customers_customer customer
    SET attributes = (customer.attributes || written.attributes)
            - ARRAY(SELECT jsonb_array_elements_text(written.deleted)),
        claimed_attributes = CASE WHEN customer.claimed_attributes = '{}' THEN '{}' ELSE ARRAY(
            SELECT unnest(customer.claimed_attributes) EXCEPT SELECT jsonb_object_keys(written.attributes)
        ) END,
        updated_at = statement_timestamp()
    FROM {changes}
    WHERE customer.id = ANY(ARRAY[written.id]) AND customer.workspace_id || '' = written.workspace_id
    RETURNING customer.id, customer.watched
)
SELECT id FROM merged WHERE watched
""",
    changes=Rows("written", {"workspace_id": "text", "id": "text", "attributes": "jsonb", "deleted": "jsonb"}),
)


@dataclass(frozen=True, kw_only=True)
class ProfileChange:
    """Attributes to merge into one customer's; None deletes one. Its creator has checked names and size."""

    workspace_id: str
    customer_id: str
    attributes: Mapping[str, Any]


def merge_attributes(changes: Sequence[ProfileChange]) -> None:
    """Merges checked attributes into their customers', in one statement; at most one change per customer."""
    if changes:
        let_look_at(_MERGE_MANY.column(changes=[_written(change) for change in changes]))


def _written(change: ProfileChange) -> tuple[str, str, str, str]:
    deleted = [name for name, value in change.attributes.items() if value is None]
    return (
        change.workspace_id,
        change.customer_id,
        json.dumps(dict(change.attributes)),
        json.dumps(deleted) if deleted else "[]",
    )

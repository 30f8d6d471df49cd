"""Customers whom a call names one by one, each by an identifier of one kind or another.

The tables are those of a Selection (selection.py); `named` has what was sent with each as well.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from customers.audience.selection import LeftOut, NamedCustomer, Selection, exempted
from engage.database.sql import Fragment, Rows, Statement, Template, compose
from engage.json.compact import unicode_json


class SentRecipient(NamedTuple):
    """One customer and what is sent for them alone; `place` is theirs in the call, from 1.

    `column` and `value` are what they are found by. `payload` is None if there is none of their own. The same
    person may be named with several entrances.
    """

    place: int
    column: str
    value: str
    payload: Mapping[str, Any] | None
    entrance: str | None = None


_SENT = Rows("sent", {"place": "int", "kind": "text", "value": "text", "payload": "jsonb", "entrance": "text"})
# Each is looked up by the one index that their kind has: the other branches are not executed. Whoever was merged is
# found by their id as before.
_NAMED = Template(
    """
SELECT sent.place, CASE WHEN sent.kind = 'external_id' THEN sent.value END AS external_id, sent.payload, sent.entrance,
       known.id AS customer_id, true AS belongs
FROM {sent}
LEFT JOIN LATERAL (
    SELECT id FROM customers_customer
    WHERE sent.kind = 'external_id' AND workspace_id = {workspace_id} AND external_id = sent.value
    UNION ALL
    SELECT id FROM customers_customer
    WHERE sent.kind = 'email' AND workspace_id = {workspace_id} AND email = sent.value
    UNION ALL
    SELECT id FROM customers_customer WHERE sent.kind = 'id' AND workspace_id = {workspace_id} AND id = sent.value
    UNION ALL
    SELECT customer_id FROM customers_alias
    WHERE sent.kind = 'id' AND workspace_id = {workspace_id} AND id = sent.value
    LIMIT 1
) AS known ON true
""",
    sent=_SENT,
)
_CHOSEN = Fragment("SELECT customer_id AS id FROM named WHERE customer_id IS NOT NULL")


def select_recipients(
    *, workspace_id: str, recipients: Sequence[SentRecipient], exclude_external_ids: Sequence[str]
) -> Selection:
    """The audience has the excluded as well, and whoever is named twice as often."""
    rows = [
        (one.place, one.column, one.value, None if one.payload is None else unicode_json(one.payload), one.entrance)
        for one in recipients
    ]
    tables = compose(
        "named AS MATERIALIZED ({}), exempt AS MATERIALIZED ({})",
        _NAMED.filled(sent=rows, workspace_id=workspace_id),
        exempted(workspace_id, exclude_external_ids),
    )
    excluded = "(customer_id IN (SELECT customer_id FROM named)) IS TRUE"
    return Selection(tables=tables, audience=_CHOSEN, excluded=excluded)


class FoundRecipient(NamedTuple):
    """Who a recipient is, and whether an earlier one is the same."""

    place: int
    customer_id: str
    external_id: str | None
    is_second: bool


_FOUND = Statement("""
WITH {tables}
SELECT named.place, named.customer_id, coalesce(customer.external_id, named.external_id) AS external_id,
       named.customer_id IN (SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL) AS is_excluded,
       row_number() OVER (PARTITION BY named.customer_id, named.entrance ORDER BY named.place) > 1 AS is_second
FROM named LEFT JOIN LATERAL (
    SELECT external_id FROM customers_customer known WHERE known.id = named.customer_id LIMIT 1
) AS customer ON true
ORDER BY named.place
""")


def find_recipients(
    *, workspace_id: str, recipients: Sequence[SentRecipient], exclude_external_ids: Sequence[str]
) -> tuple[list[FoundRecipient], LeftOut]:
    """Whom a call with these recipients would address, in order, and whom not."""
    selection = select_recipients(
        workspace_id=workspace_id, recipients=recipients, exclude_external_ids=exclude_external_ids
    )
    found, unknown, excluded = list[FoundRecipient](), list[str](), list[NamedCustomer]()
    for place, customer_id, external_id, is_excluded, is_second in _FOUND.rows(tables=selection.tables):
        if customer_id is None:
            unknown += [external_id] if external_id else []
        elif is_excluded:
            excluded += [] if is_second else [NamedCustomer(customer_id, external_id)]
        else:
            found.append(FoundRecipient(place, customer_id, external_id, is_second))
    return found, LeftOut(unknown=unknown, excluded=excluded)

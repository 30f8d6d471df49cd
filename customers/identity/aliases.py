"""Aliases: identifiers and ids of customers who were merged, that lead to another customer.

A customer's own identifier comes first, so nobody asks here before they have looked there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from customers.identifier_rules import SPELLINGS
from customers.models import Alias, Customer
from customers.tombstones import CustomerErased, digests_of
from engage.database.object_ids import is_object_id, new_object_id
from engage.database.sql import Fragment, Statement, Template

_KNOWN = "SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id}"
_LED = """coalesce(
           ({known} AND user_id = {user_id} AND NOT (claimed AND {is_proven})),
           ({known} AND external_id = {external_id} LIMIT 1),
           ({known} AND email = {email} LIMIT 1),
           ({known} AND phone = {phone} LIMIT 1)
       )"""
_LEADS_TO = Statement(
    """
SELECT {led},
       ARRAY(
           SELECT sent.digest FROM unnest({digests}::text[]) AS sent (digest) CROSS JOIN LATERAL (
               SELECT FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = sent.digest LIMIT 1
           ) AS erased
       )
""",
    led=_LED,
    known=_KNOWN,
)
_LED_TO = Template(_LED, known=_KNOWN)


@dataclass(frozen=True, kw_only=True)
class Behind:
    """Of identifiers that no customer has: to whom the first alias leads, and which were somebody's who is erased."""

    alias_of: str | None
    erased: frozenset[str]

    def customer_id(self) -> str | None:
        """The id of the customer to whom an alias leads. Raises CustomerErased if nobody may be made instead."""
        if "user_id" in self.erased:
            raise CustomerErased
        if self.alias_of is None and "external_id" in self.erased:
            raise CustomerErased
        return self.alias_of


def behind(*, workspace_id: str, identifiers: Mapping[str, str], is_proven: bool = False) -> Behind:
    """Of identifiers (model field to value) that no customer has.

    What is proven is of nobody erased, and no alias that only a page has made.
    """
    digests = {} if is_proven else digests_of(workspace_id=workspace_id, identifiers=identifiers.items())
    ((customer_id, erased),) = _LEADS_TO.rows(
        workspace_id=workspace_id,
        **{field: identifiers.get(field) for field in SPELLINGS},
        is_proven=is_proven,
        digests=list(digests),
    )
    return Behind(
        alias_of=str(customer_id) if customer_id else None, erased=frozenset(map(digests.__getitem__, erased))
    )


def query_of_alias(*, workspace_id: str, identifiers: Mapping[str, str], is_proven: bool) -> Fragment:
    """The same, as an expression in SQL: the customer's id, or null. Whoever was erased is not asked for."""
    sent = {field: identifiers.get(field) for field in SPELLINGS}
    return _LED_TO.filled(workspace_id=workspace_id, is_proven=is_proven, **sent)


NOTHING_LEFT = Behind(alias_of=None, erased=frozenset())

# The row that a name is taken from stays: its id is that of somebody who was merged before, and leads on to where they
# led.
_LEAVE = Statement(
    """
WITH freed AS (
    UPDATE customers_alias SET user_id = nullif(user_id, {user_id}), external_id = nullif(external_id, {external_id}),
        email = nullif(email, {email}), phone = nullif(phone, {phone})
    WHERE id = ANY(ARRAY(
        {known} AND user_id = {user_id} UNION ALL {known} AND external_id = {external_id}
        UNION ALL {known} AND email = {email} UNION ALL {known} AND phone = {phone}
    ))
    RETURNING 1
)
INSERT INTO customers_alias (id, workspace_id, user_id, external_id, email, phone, customer_id, claimed)
SELECT {alias_id}, {workspace_id}, {user_id}, {external_id}, {email}, {phone}, {customer_id}, {claimed}
FROM (SELECT count(*) FROM freed) AS first
""",
    known="SELECT id FROM customers_alias WHERE workspace_id = {workspace_id}",
)


def leave_alias(customer: Customer, *, claimed: bool, alias_id: str | None = None, **names: str) -> None:
    """From now on these identifiers lead to the customer. `alias_id`: so does the id of this customer, who was merged.

    `claimed`: only a page has said so. Must run in `undisturbed`.
    """
    if alias_id is None:
        known = Alias.objects.filter(workspace_id=customer.workspace_id, customer_id=customer.id, **names)
        if known.exists() if claimed else known.update(claimed=False):
            return
    values: dict[str, str | None] = {"workspace_id": customer.workspace_id, **dict.fromkeys(SPELLINGS), **names}
    _LEAVE.execute(**values, alias_id=alias_id or new_object_id(), customer_id=customer.id, claimed=claimed)


# In the order of the digests, as they are written: whoever does either waits for the other at the first of them.
_WRITTEN = Statement(
    """
WITH lifted AS (
    DELETE FROM customers_tombstone WHERE id IN (
        SELECT erased.id FROM unnest({digests}::text[]) AS sent (digest) CROSS JOIN LATERAL (
            SELECT id FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = sent.digest LIMIT 1
        ) AS erased ORDER BY sent.digest
    )
)
SELECT EXISTS (
    SELECT FROM unnest({fields}::text[], {values}::text[]) AS alone (field, value) CROSS JOIN LATERAL (
        {known} AND user_id = CASE field WHEN 'user_id' THEN value END
        UNION ALL {known} AND external_id = CASE field WHEN 'external_id' THEN value END
        UNION ALL {known} AND email = CASE field WHEN 'email' THEN value END
        UNION ALL {known} AND phone = CASE field WHEN 'phone' THEN value END
    ) AS led
)
""",
    known="SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND NOT claimed",
)


def written_by_servers(
    *, workspace_id: str, names: Iterable[tuple[str, str]], alone: Sequence[tuple[str, str]]
) -> bool:
    """Forgets that whoever had one of these (model field and value) was erased: a server has written it.

    Whether one of those that new customers have `alone` is an alias, which a server has made meanwhile.
    """
    digests = sorted(digests_of(workspace_id=workspace_id, identifiers=names))
    if not digests:
        return False
    fields, values = ([name[part] for name in alone] for part in (0, 1))
    (led,) = _WRITTEN.column(workspace_id=workspace_id, digests=digests, fields=fields, values=values)
    return bool(led)


def led_to(*, workspace_id: str, field: str, value: str) -> str | None:
    """The id of the customer to whom this identifier or id leads, which no customer has; None if it is no alias."""
    if field == "id" and not is_object_id(value):
        return None
    aliases = Alias.objects.filter(workspace_id=workspace_id, **{field: value})
    return aliases.values_list("customer_id", flat=True).first()

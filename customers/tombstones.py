"""What is left of a person who was erased: digests of their identifiers, for a while.

A page still knows who its visitor was, and its next call would make the person anew. So such a call is refused, by
`userId` and by `external_id`, until the digest is pruned (aliases.py) or a proof says that they are back. Whom an
e-mail address or a phone number names, a stranger could find out: such a call is answered like that of somebody
unknown, and nothing of it is kept. A server that writes an identifier lifts what is left of it.
"""

import hashlib
from collections.abc import Iterable

from django.utils.crypto import salted_hmac
from psycopg.types.json import Jsonb

from customers.identifier_rules import SPELLINGS
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.feed import telling


class CustomerErased(Refusal):
    """The person with this user id or external id was erased, and is not made anew by a page that still knows it."""

    status = 410
    error = "Customer erased"
    says = "The customer with this userId or external_id was erased. Use another one for whoever is there now."


_ERASE = Statement(
    """
WITH erased AS (
    DELETE FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {customer_id}
    RETURNING id, workspace_id, external_id, email, phone, user_id
), known_as AS (
    SELECT workspace_id, named.field, named.value
    FROM erased CROSS JOIN LATERAL (
        VALUES ('external_id', external_id), ('email', email), ('phone', phone), ('user_id', user_id)
    ) AS named (field, value)
    WHERE named.value IS NOT NULL
    UNION SELECT workspace_id, named.field, named.value
    FROM customers_alias alias CROSS JOIN LATERAL (
        VALUES ('external_id', external_id), ('email', email), ('phone', phone), ('user_id', user_id)
    ) AS named (field, value)
    WHERE alias.workspace_id = {workspace_id} AND alias.customer_id = {customer_id} AND named.value IS NOT NULL
), left_behind AS (
    INSERT INTO customers_tombstone (id, workspace_id, digest)
    SELECT lpad(to_hex(extract(epoch FROM statement_timestamp())::bigint), 8, '0')
           || left(replace(gen_random_uuid()::text, '-', ''), 16), workspace_id,
           encode(sha256(convert_to(({keys}::jsonb ->> field) || value, 'UTF8')), 'hex') AS digest
    FROM known_as ORDER BY digest
    ON CONFLICT (workspace_id, digest) DO UPDATE SET erased_at = statement_timestamp()
), told AS ({tell})
SELECT count(*) FROM erased
""",
    tell=telling(
        "(SELECT 'customer.erased' AS type, NULL::text AS journey_id, * FROM erased) AS gone",
        customer_ids="id",
        external_ids="external_id",
    ),
)


def delete_and_leave_tombstone(*, workspace_id: str, customer_id: str) -> bool:
    """Deletes the customer, in one statement. Whether there was one. Aliases are identifiers, too."""
    (erased,) = _ERASE.column(workspace_id=workspace_id, customer_id=customer_id, keys=Jsonb(_keys(workspace_id)))
    return bool(erased)


def digests_of(*, workspace_id: str, identifiers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What would be left of somebody with one of these (model field and value), to its field."""
    keys = _keys(workspace_id)
    return {_digest(keys[field], value): field for field, value in identifiers}


def _digest(key: str, value: str) -> str:
    return hashlib.sha256(f"{key}{value}".encode()).hexdigest()


def _keys(workspace_id: str) -> dict[str, str]:
    return {field: _key(workspace_id, field) for field in SPELLINGS}


def _key(workspace_id: str, field: str) -> str:
    """The digests are keyed, because identifiers may be few enough to try them all; and each field has its own."""
    named = workspace_id if field == "user_id" else f"{workspace_id} {field}"
    return salted_hmac("customers.tombstones", named, algorithm="sha256").hexdigest()

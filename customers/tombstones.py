"""What is left of a person who was erased: a digest of their user ids, for a while.

A page still knows the user id of its visitor, and its next call would make the person anew. So such a call is refused
until the digest is pruned (aliases.py). No other identifier is kept: with those, somebody may mean to come back.
"""

import hashlib

from django.utils.crypto import salted_hmac

from engage.database.pruning import Prunable
from engage.database.sql import Statement
from engage.errors import Refusal

TOMBSTONES = Prunable(
    what="tombstones of erased customers",
    table="customers_tombstone",
    key=("id",),
    may_go="old.erased_at < %(before)s",
)


class CustomerErased(Refusal):
    """The person with this user id was erased, and is not made anew by a page that still knows it."""

    status = 410
    error = "Customer erased"
    says = "The customer with this userId was erased. Use another userId for whoever is there now."


_ERASE = Statement("""
WITH erased AS (
    DELETE FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {customer_id}
    RETURNING workspace_id, user_id
), known_as AS (
    SELECT workspace_id, user_id FROM erased WHERE user_id IS NOT NULL
    UNION SELECT workspace_id, user_id FROM customers_alias
    WHERE workspace_id = {workspace_id} AND customer_id = {customer_id}
), left_behind AS (
    INSERT INTO customers_tombstone (id, workspace_id, digest)
    SELECT lpad(to_hex(extract(epoch FROM statement_timestamp())::bigint), 8, '0')
           || left(replace(gen_random_uuid()::text, '-', ''), 16), workspace_id,
           encode(sha256(convert_to({key} || user_id, 'UTF8')), 'hex')
    FROM known_as ORDER BY user_id
    ON CONFLICT (workspace_id, digest) DO UPDATE SET erased_at = statement_timestamp()
)
SELECT count(*) FROM erased
""")


def delete_and_leave_tombstone(*, workspace_id: str, customer_id: str) -> bool:
    """Deletes the customer, in one statement. Whether there was one. Aliases are user ids, too."""
    (erased,) = _ERASE.column(workspace_id=workspace_id, customer_id=customer_id, key=_key(workspace_id))
    return bool(erased)


def digest_of(*, workspace_id: str, user_id: str) -> str:
    """What would be left of somebody with this user id."""
    return hashlib.sha256(f"{_key(workspace_id)}{user_id}".encode()).hexdigest()


def _key(workspace_id: str) -> str:
    """The digests are keyed, because user ids may be few enough to try them all."""
    return salted_hmac("customers.tombstones", workspace_id, algorithm="sha256").hexdigest()

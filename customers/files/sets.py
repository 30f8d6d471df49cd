"""Writes thousands of customers with a few statements, and leaves what takes thought to identity/upsert.py.

The rows are copied into a temporary table, and who has their identifiers is looked up once. Then

1. a row that names nobody who is there, and no alias, makes a customer;
2. a row whose every identifier is of one and the same customer, of whom no page has claimed anything, writes their
   attributes, if they differ;
3. every other row goes, in the order of the file, through the same rules as a call's items: it has new identifiers for
   somebody, takes something away, or has an identifier or a customer in common with another row.

So no row of the first two kinds has anything to do with another one, and their order does not matter.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection
from django.utils import timezone

from customers.attribute_rules import MAX_ATTRIBUTES_BYTES
from customers.files.reading import Row
from customers.identifier_rules import SPELLINGS
from customers.identity.aliases import written_by_servers
from customers.identity.identifiers import phones_held
from customers.identity.locks import CustomersMoved, undisturbed
from customers.identity.roster import CustomerData
from customers.identity.upsert import upsert_customers
from customers.watching import let_look_at
from engage.database.object_ids import new_object_ids
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.json.compact import ascii_json

_ITEMS_OF_A_CALL = 1000

_SENT = Statement("""
DROP TABLE IF EXISTS pg_temp.customers_sent, pg_temp.customers_meant;
CREATE TEMPORARY TABLE customers_sent (
    number int, id text, external_id text, email text, phone text, user_id text, attributes jsonb
) ON COMMIT DROP;
CREATE TEMPORARY TABLE customers_meant (number int, owners text[], names int, led text[]) ON COMMIT DROP
""")
_COPY = "COPY customers_sent (number, id, external_id, email, phone, user_id, attributes) FROM STDIN"
# Each identifier by its index, whatever the planner thinks of tables that are growing (docs/sql.md).
_MEANT = Statement(
    """
INSERT INTO customers_meant
SELECT sent.number, known.owners, known.names, former.led
FROM customers_sent sent
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT id) AS owners, count(*) AS names FROM (
        ({own} AND external_id = sent.external_id LIMIT 1) UNION ALL ({own} AND email = sent.email LIMIT 1)
        UNION ALL ({own} AND phone = sent.phone LIMIT 1) UNION ALL ({own} AND user_id = sent.user_id LIMIT 1)
    ) AS owner
) AS known
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT customer_id) AS led FROM (
        ({alias} AND external_id = sent.external_id LIMIT 1) UNION ALL ({alias} AND email = sent.email LIMIT 1)
        UNION ALL ({alias} AND phone = sent.phone LIMIT 1) UNION ALL ({alias} AND user_id = sent.user_id LIMIT 1)
    ) AS alias
) AS former
""",
    own="SELECT id FROM customers_customer WHERE workspace_id = {workspace_id}",
    alias="SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id}",
)
# Of tables of which nothing is known, a plan would compare each row with each.
_ANALYZE = Statement("ANALYZE customers_sent, customers_meant")
# Locked in the order of their ids, as everywhere, and as they are once they are locked.
_KNOWN = Statement("""
WITH shared AS (
    SELECT owner FROM customers_meant CROSS JOIN unnest(owners || led) AS owner GROUP BY owner HAVING count(*) > 1
), one AS MATERIALIZED (
    SELECT sent.*, meant.owners[1] AS owner FROM customers_meant meant JOIN customers_sent sent USING (number)
    WHERE number = ANY({plain}::int[]) AND cardinality(meant.owners) = 1 AND meant.led IS NULL
        AND meant.names = num_nonnulls(external_id, email, phone, user_id)
        AND meant.owners[1] NOT IN (SELECT owner FROM shared)
), held AS MATERIALIZED (
    SELECT id, external_id, email, phone, user_id, attributes, watched FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT owner FROM one)) AND claimed_identifiers = '{}' AND claimed_attributes = '{}'
    ORDER BY id FOR NO KEY UPDATE
)
SELECT one.number, held.id AS customer_id, held.watched,
       held.attributes || one.attributes IS DISTINCT FROM held.attributes AS differs
FROM one JOIN held ON held.id = one.owner
WHERE octet_length((held.attributes || one.attributes)::text) <= {most_bytes}
    AND coalesce(one.external_id = held.external_id, one.external_id IS NULL)
    AND coalesce(one.email = held.email, one.email IS NULL)
    AND coalesce(one.phone = held.phone, one.phone IS NULL)
    AND coalesce(one.user_id = held.user_id, one.user_id IS NULL)
""")
_CHANGE = Statement("""
UPDATE customers_customer AS customer
SET attributes = customer.attributes || sent.attributes, updated_at = statement_timestamp()
FROM customers_sent sent JOIN customers_meant meant USING (number)
WHERE number = ANY({numbers}::int[]) AND customer.id = ANY(ARRAY[meant.owners[1]])
""")
_CREATE = Statement("""
INSERT INTO customers_customer (id, workspace_id, external_id, email, phone, user_id, attributes)
SELECT id, {workspace_id}, external_id, email, phone, user_id, attributes
FROM customers_sent JOIN customers_meant USING (number)
WHERE number = ANY({plain}::int[]) AND owners IS NULL AND led IS NULL
ORDER BY coalesce(external_id, '') COLLATE "C", coalesce(email, '') COLLATE "C", coalesce(phone, '') COLLATE "C",
    coalesce(user_id, '') COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING id
""")


@dataclass(kw_only=True)
class Written:
    """What became of some rows, by their numbers: whose customers are new and whose were there; the refusals."""

    created: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    customer_ids: list[str] = field(default_factory=list)
    refused: dict[int, Refusal] = field(default_factory=dict)


def write_customers(*, workspace_id: str, rows: Iterable[Row]) -> Written:
    """Creates or updates the customers of the rows, as if each were sent after the other.

    In several transactions, and safe to repeat. Raises TooManyAtOnce.
    """
    written = Written()
    valid: dict[int, CustomerData] = {}
    for row in rows:
        if isinstance(row.data, Refusal):
            written.refused[row.number] = row.data
        elif row.data:
            valid[row.number] = row.data
    _keep_known_spellings(workspace_id, valid)
    _write_plain(workspace_id, valid, written)
    numbers = list(valid)
    for start in range(0, len(numbers), _ITEMS_OF_A_CALL):
        some = numbers[start : start + _ITEMS_OF_A_CALL]
        items = [valid[number] for number in some]
        outcomes = upsert_customers(workspace_id=workspace_id, items=items, now=timezone.now())
        for number, outcome in zip(some, outcomes, strict=True):
            if isinstance(outcome, Refusal):
                written.refused[number] = outcome
            else:
                (written.created if outcome.created else written.found).append(number)
                written.customer_ids.append(outcome.customer_id)
    return written


def _keep_known_spellings(workspace_id: str, valid: dict[int, CustomerData]) -> None:
    """Forgets the old spellings of phone numbers that nobody has."""
    spelled = {number: data for number, data in valid.items() if data.known_by.other_phone}
    held = phones_held(workspace_id=workspace_id, phones=[str(one.known_by.other_phone) for one in spelled.values()])
    for number, data in spelled.items():
        if data.known_by.other_phone not in held:
            valid[number] = replace(data, known_by=replace(data.known_by, other_phone=None))


def _write_plain(workspace_id: str, valid: dict[int, CustomerData], written: Written) -> None:
    """Writes the rows of the first two kinds, and takes them out of the valid ones."""
    if not valid or any(data.customer_id for data in valid.values()):  # who has such an id is not looked up here
        return
    named = {number: _names(data) for number, data in valid.items()}
    texts = {number: ascii_json(valid[number].attributes) for number in named}
    plain = _plain(valid, named, texts)
    ids = dict(zip(named, new_object_ids(len(named)), strict=True))

    def write() -> tuple[list[dict[str, Any]], set[str]]:
        _SENT.execute()
        _copy((number, ids[number], *map(names.get, SPELLINGS), texts[number]) for number, names in named.items())
        _MEANT.execute(workspace_id=workspace_id)
        _ANALYZE.execute()
        known = _KNOWN.records(plain=plain, most_bytes=MAX_ATTRIBUTES_BYTES)
        if differing := [one["number"] for one in known if one["differs"]]:
            _CHANGE.execute(numbers=differing)
            let_look_at([one["customer_id"] for one in known if one["differs"] and one["watched"]])
        return known, _created(workspace_id, plain, named, ids)

    known, created = undisturbed(write)
    done = [number for number in plain if ids[number] in created]
    written.created += done
    written.found += [one["number"] for one in known]
    written.customer_ids += [ids[number] for number in done] + [one["customer_id"] for one in known]
    for number in [*written.created, *written.found]:
        del valid[number]


_Names = Mapping[int, Mapping[str, str]]


def _names(data: CustomerData) -> dict[str, str]:
    """What the customer is looked up by: an old spelling is somebody's."""
    old = data.known_by.other_phone
    return data.known_by.present() | ({"phone": old} if old else {})


def _plain(valid: Mapping[int, CustomerData], named: _Names, texts: Mapping[int, str]) -> list[int]:
    """Rows that take nothing away and share no identifier."""
    times = Counter(name for names in named.values() for name in names.items())
    return [
        number
        for number, names in named.items()
        if names
        and not valid[number].removed
        and not valid[number].known_by.other_phone
        and None not in valid[number].attributes.values()
        and len(texts[number]) <= MAX_ATTRIBUTES_BYTES
        and all(times[name] == 1 for name in names.items())
    ]


def _copy(rows: Iterable[Sequence[Any]]) -> None:
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        for row in rows:
            copy.write_row(row)


def _created(workspace_id: str, plain: Collection[int], named: _Names, ids: Mapping[int, str]) -> set[str]:
    """The ids of new customers. Raises CustomersMoved if somebody has become an alias meanwhile."""
    created = set(_CREATE.column(workspace_id=workspace_id, plain=plain))
    fresh = [[*named[number].items()] for number in plain if ids[number] in created]
    names = [name for one in fresh for name in one]
    if written_by_servers(workspace_id=workspace_id, names=names, alone=[one[0] for one in fresh if len(one) == 1]):
        raise CustomersMoved
    return created

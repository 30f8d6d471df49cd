"""Locking customers, and looking again until it is certain who they are.

Whoever waits for a customer's row may find that they were merged or erased meanwhile, or that an identifier is another
one's now. Then what was looked up before does not hold, and somebody else would have to be locked, perhaps before those
who are locked already. So the whole transaction is done again, without any lock, until nobody has moved
(`undisturbed`). Where nobody waited, that costs nothing: the statement that locks also tells whom it had looked up.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, UniqueViolation

from customers.identifier_rules import SPELLINGS
from customers.identity.lookup import Reference, names_of
from customers.models import Customer
from engage.database.sql import Fragment, Statement, Template, compose
from engage.errors import Refusal

T = TypeVar("T")
_ATTEMPTS = 20


class TooManyAtOnce(Refusal):
    """Other calls took the same identifiers first, again and again."""

    status = 503
    error = "Service unavailable"
    code = "too_many_at_once"
    says = "Other calls are changing the same customers at this moment. Nothing was done; try again."
    sends = {"Retry-After": "1"}


class CustomersMoved(Exception):
    """Somebody who was looked up was merged or erased, or has lost an identifier, before they were locked."""


def undisturbed(work: Callable[[], T]) -> T:
    """Does the work in a transaction, and again if another call interfered. Raises TooManyAtOnce."""
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return work()
        except CustomersMoved:
            continue
        except (IntegrityError, OperationalError) as error:
            if not isinstance(error.__cause__, UniqueViolation | DeadlockDetected):
                raise
    raise TooManyAtOnce


_IDENTIFIERS = ("id", *SPELLINGS)
_ALL = ", ".join(str(field.column) for field in Customer._meta.concrete_fields)
# FULL JOIN: with LEFT JOIN, a plan for few would compare each of a thousand with each.
_LOCK = Template("""
WITH named AS MATERIALIZED ({named}), held AS MATERIALIZED (
    SELECT {columns} FROM customers_customer WHERE id = ANY(ARRAY(SELECT id FROM named)) ORDER BY id {lock}
)
SELECT held.*, meant.own_names, meant.led_here
FROM (
    SELECT id, jsonb_agg(jsonb_build_array(field, value)) FILTER (WHERE alias IS NULL) AS own_names,
           jsonb_agg(alias) FILTER (WHERE alias IS NOT NULL) AS led_here
    FROM named GROUP BY id
) AS meant FULL JOIN held ON held.id = meant.id
ORDER BY meant.id
""")


def lock_having_any(
    *,
    workspace_id: str,
    identifiers: Mapping[str, Collection[str]],
    columns: str = _ALL,
    for_update: bool = False,
    wait: bool = True,
) -> list[Customer]:
    """The workspace's customers who have any of the identifiers (model field to values), ordered by id.

    Values that are aliases count; `led_here` of a customer has those that led to them, for `names_of`. `columns` are
    what is read of them, with all identifiers; what is no field of theirs becomes an attribute of this name.

    Their rows are locked in the order of their ids until the transaction ends (FOR NO KEY UPDATE; with `for_update`
    nothing new can refer to them either). Without `wait`, nobody is waited for. Raises CustomersMoved, for
    `undisturbed`, if somebody has moved or, without `wait`, is locked by others.
    """
    lock = ("FOR UPDATE" if for_update else "FOR NO KEY UPDATE") + ("" if wait else " SKIP LOCKED")
    return _having_any(workspace_id, identifiers, columns, lock=lock)


def _having_any(
    workspace_id: str, identifiers: Mapping[str, Collection[str]], columns: str, *, lock: str
) -> list[Customer]:
    if not any(identifiers.values()):
        return []
    query = _LOCK.filled(named=_named(workspace_id, identifiers), columns=Fragment(columns), lock=Fragment(lock))
    people = [_settled(customer) for customer in Customer.objects.raw(query.sql, query.params)]
    led = {alias["id"]: alias for one in people for alias in vars(one)["led_here"]}
    if led and lock:  # they were read before the locks were waited for
        there = map(json.loads, _LED.column(ids=sorted(led)))
        if {alias["id"]: alias for alias in there} != led:
            raise CustomersMoved
    return people


_LED = Statement("SELECT to_jsonb(alias) FROM customers_alias alias WHERE id = ANY({ids}::text[])")


def _settled(found: Any) -> Customer:
    """The customer, with whom nothing has changed since they were looked up. Raises CustomersMoved."""
    own_names, led_here = json.loads(found.own_names or "[]"), json.loads(found.led_here or "[]")
    if found.id is None or any(getattr(found, field) != value for field, value in own_names):
        raise CustomersMoved
    found.led_here = led_here
    customer: Customer = found
    return customer


# Where an identifier is looked up.
_OWN = "SELECT id, NULL::jsonb AS alias FROM customers_customer customer"
_ALIAS = "SELECT customer_id AS id, to_jsonb(alias) AS alias FROM customers_alias alias"


def _named(workspace_id: str, identifiers: Mapping[str, Collection[str]]) -> Fragment:
    """Selects who has any of the identifiers: `field`, `value`, `id`, and the `alias` that led there, if it was one.

    Each value is looked up by its unique index. With a list of values, a plan made for any workspace may read the whole
    of a large one instead, and compare each of its customers with each value: it expects one of average size.
    """
    each = [
        compose(
            "SELECT {}::text AS field, sent.value, known.id, known.alias FROM unnest({}) AS sent (value)"
            " CROSS JOIN LATERAL ({} WHERE workspace_id = {} AND {} = sent.value LIMIT 1) AS known",
            Fragment("%s", [field]),
            Fragment("%s::text[]", [sorted(values)]),
            Fragment(found),
            Fragment("%s", [workspace_id]),
            Fragment(field),
        )
        for field, values in identifiers.items()
        for found in (_OWN, _ALIAS)
    ]
    return compose(" UNION ALL ".join("{}" for _ in each), *each)


def lock_customers_named(*, workspace_id: str, references: Collection[Reference]) -> dict[Reference, str]:
    """The ids of the referenced customers, who are locked as by `lock_having_any`; references to nobody are left out.

    Must run in `undisturbed`.
    """
    return _customers_named(workspace_id, references, lock="FOR NO KEY UPDATE")


def find_customers_named(*, workspace_id: str, references: Collection[Reference]) -> dict[Reference, str]:
    """The same as of now: nobody is locked."""
    return _customers_named(workspace_id, references, lock="")


def _customers_named(workspace_id: str, references: Collection[Reference], *, lock: str) -> dict[Reference, str]:
    wanted: dict[str, set[str]] = {}
    others = [reference for reference in references if reference.other]
    for reference in [*references, *(Reference(one.field, str(one.other)) for one in others)]:
        wanted.setdefault(reference.field, set()).add(reference.value)
    found: dict[Reference, str] = {}
    for customer in _having_any(workspace_id, wanted, ", ".join(_IDENTIFIERS), lock=lock):
        for (field, value), own in names_of(customer).items():
            if value in wanted.get(field, ()) and (own or Reference(field, value) not in found):
                found[Reference(field, value)] = customer.id
    for one in others:
        if one not in found and (known := found.get(Reference(one.field, str(one.other)))):
            found[one] = known
    return found


def lock_customer(*, workspace_id: str, customer_id: str) -> bool:
    """Locks the customer's row until the transaction ends (FOR NO KEY UPDATE). Whether they are there."""
    own = Customer.objects.filter(workspace_id=workspace_id, id=customer_id)
    return bool(list(own.select_for_update(no_key=True).values_list("id")))

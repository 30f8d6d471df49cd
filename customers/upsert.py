"""Creating and updating customers by their identifiers: one, or a thousand with about the same number of queries.

If their profiles are too large to be held in memory together, a few items are applied at a time.

1. The customers that the items can refer to are locked in id order, so that overlapping calls wait for each other
   instead of deadlocking. A batch reads them once more when it holds them, and then waits for nobody: one who has got
   an identifier in between may come before those that it holds.
2. The items are applied in memory, in their order; an item that is refused changes nothing and stops no other.
3. Changed customers are written with one statement, once identifiers given up are cleared, and new ones with another,
   in a fixed order.
4. Identifiers that no customer has cannot be locked. If another call takes one first, its unique index refuses ours,
   and the whole call is repeated; it then finds the customer that the other call created or changed.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Func, IntegerField, QuerySet, TextField
from django.db.models.functions import Cast
from psycopg.errors import DeadlockDetected, UniqueViolation

from customers.identifier_rules import SPELLINGS
from customers.lookup import having_any
from customers.models import Customer
from customers.roster import CustomerData, Roster, Upserted
from customers.tombstones import lift_tombstones
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.sizes import KIB

T = TypeVar("T")
_ATTEMPTS = 20
# Profiles that exceed this many bytes together, as text, are read for a few items at a time: in memory, each takes ten
# times its size. (In PostgreSQL's storage they may be compressed to a twentieth.)
_LARGE_BYTES = 2048 * KIB
_ITEMS_AT_A_TIME = 20
_PROFILE_SIZE = Func(Cast("attributes", TextField()), function="octet_length", output_field=IntegerField())
_ROWS_AT_ONCE = 5_000  # of eleven values each
_IDENTIFIERS = tuple(SPELLINGS)
# bulk_update() would write a CASE with a branch per row for every field. Rows are found by id only, as in profile.py.
_UPDATE = Statement("""
    UPDATE customers_customer AS customer
    SET external_id = written.external_id, email = written.email, phone = written.phone, user_id = written.user_id,
        attributes = written.attributes,
        claimed_identifiers = written.claimed_identifiers, claimed_attributes = written.claimed_attributes,
        updated_at = {now}
    FROM jsonb_to_recordset({rows}::jsonb)
        AS written (
            id text, external_id text, email text, phone text, user_id text, attributes jsonb,
            claimed_identifiers text[], claimed_attributes text[]
        )
    WHERE customer.id = ANY(ARRAY[written.id]) AND customer.workspace_id || '' = {workspace_id}
""")


class TooManyAtOnce(Refusal):
    """Other calls took the same identifiers first, again and again."""

    status = 503
    error = "Service unavailable"
    code = "too_many_at_once"
    says = "Other calls are changing the same customers at this moment. Nothing was done; try again."
    sends = {"Retry-After": "1"}


@dataclass(frozen=True)
class UpsertedItem:
    """A batch item's result. It does not hold the customer: a thousand profiles may be large."""

    customer_id: str
    created: bool


def upsert_customer(*, workspace_id: str, data: CustomerData, now: datetime) -> Upserted:
    """Creates or updates the customer that the identifiers name.

    Raises MissingParameter, CustomerNotFound, IdentifierConflict, InvalidRequest or TooManyAtOnce; nothing is then
    written.
    """
    (outcome,) = undisturbed(lambda: _apply(workspace_id, [data], now))
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def upsert_customers(
    *, workspace_id: str, items: Sequence[CustomerData | Refusal], now: datetime
) -> list[UpsertedItem | Refusal]:
    """The same for many, as if they were sent one after the other: a result per item, in order.

    An item that was refused on parsing keeps its place and its refusal. Raises TooManyAtOnce.
    """

    def apply_all() -> list[UpsertedItem | Refusal]:
        return [
            UpsertedItem(outcome.customer.id, outcome.created) if isinstance(outcome, Upserted) else outcome
            for some in _parts(workspace_id, items)
            for outcome in _apply(workspace_id, some, now, wait=False)
        ]

    return undisturbed(apply_all)


def undisturbed(work: Callable[[], T]) -> T:
    """Does the work in a transaction, retrying if another call interfered. Raises TooManyAtOnce."""
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return work()
        except (IntegrityError, OperationalError) as error:
            if not isinstance(error.__cause__, UniqueViolation | DeadlockDetected):
                raise
    raise TooManyAtOnce


def _parts(workspace_id: str, items: Sequence[CustomerData | Refusal]) -> Iterator[Sequence[CustomerData | Refusal]]:
    """All items, with their customers locked; a few at a time if the profiles together are too large for memory."""
    locked = locked_customers(workspace_id, _accepted(items)).annotate(size=_PROFILE_SIZE)
    profile_bytes = sum(list(locked.values_list("size", flat=True)))  # reading them takes the locks
    at_once = max(1, len(items)) if profile_bytes <= _LARGE_BYTES else _ITEMS_AT_A_TIME
    return (items[start : start + at_once] for start in range(0, len(items), at_once))


def _apply(
    workspace_id: str, items: Sequence[CustomerData | Refusal], now: datetime, *, wait: bool = True
) -> list[Upserted | Refusal]:
    """`wait`: waits for customers whom others have locked, instead of leaving them out."""
    roster = Roster(
        workspace_id=workspace_id, stored=locked_customers(workspace_id, _accepted(items), wait=wait), now=now
    )
    outcomes = [_outcome(roster, item) for item in items]
    write_roster(workspace_id, roster, now)
    return outcomes


def _accepted(items: Sequence[CustomerData | Refusal]) -> list[CustomerData]:
    return [item for item in items if isinstance(item, CustomerData)]


def locked_customers(workspace_id: str, items: Sequence[CustomerData], *, wait: bool = True) -> QuerySet[Customer]:
    """Every customer who has one of the identifiers sent, with the row locked."""
    values: dict[str, set[str]] = {}
    for item in items:
        for field, value in item.sent().items():
            values.setdefault(field, set()).add(value)
    known = having_any(workspace_id=workspace_id, identifiers=values)
    return known.select_for_update(no_key=True, skip_locked=not wait)


def _outcome(roster: Roster, item: CustomerData | Refusal) -> Upserted | Refusal:
    if isinstance(item, Refusal):
        return item
    try:
        return roster.apply(item)
    except Refusal as refusal:
        return refusal.as_value()


def write_roster(workspace_id: str, roster: Roster, now: datetime) -> None:
    """Stores what the roster's items came to."""
    if roster.renamed:
        # Cleared first: another customer of this call may take an identifier that this one had.
        nothing = dict.fromkeys(_IDENTIFIERS)
        Customer.objects.filter(workspace_id=workspace_id, id__in=roster.renamed).update(**nothing)
    if roster.changed:
        rows = json.dumps([_row(customer) for customer in roster.changed.values()])
        _UPDATE.execute(rows=rows, workspace_id=workspace_id, now=now)
    if roster.created:
        # In a fixed order, so that calls that create the same customers wait for each other at the first of them.
        Customer.objects.bulk_create(sorted(roster.created.values(), key=_identifiers), batch_size=_ROWS_AT_ONCE)
    lift_tombstones(workspace_id=workspace_id, identifiers=roster.written)


def _row(customer: Customer) -> dict[str, Any]:
    return {
        field: getattr(customer, field)
        for field in ("id", *_IDENTIFIERS, "attributes", "claimed_identifiers", "claimed_attributes")
    }


def _identifiers(customer: Customer) -> list[str]:
    return [getattr(customer, field) or "" for field in _IDENTIFIERS]

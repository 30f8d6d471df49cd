"""Creating and updating customers by their identifiers: one, or a thousand with about the same number of queries.

If their profiles are too large to be held in memory together, a few items are applied at a time.

1. The customers that the items can refer to are locked in id order, so that overlapping calls wait for each other
   instead of deadlocking. A batch reads them once more when it holds them, and then waits for nobody: one who has got
   an identifier in between may come before those that it holds (locks.py tells what happens then).
2. The items are applied in memory, in their order; an item that is refused changes nothing and stops no other.
3. Changed customers are written with one statement, once identifiers given up are cleared, and new ones with another,
   in a fixed order.
4. Identifiers that no customer has cannot be locked. If another call takes one first, its unique index refuses ours,
   and the whole call is repeated; it then finds the customer that the other call created or changed. So it is if the
   only identifier of a new customer has become an alias meanwhile.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.contact.saying import Saying, check_sayings, say, topics_of
from customers.identifier_rules import SPELLINGS
from customers.identity.aliases import written_by_servers
from customers.identity.locks import CustomersMoved, lock_having_any, undisturbed
from customers.identity.roster import CustomerData, Roster, Upserted
from customers.models import Customer, Topic
from customers.watching import let_look
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.notations.sizes import KIB

# Profiles that exceed this many bytes together, as text, are read for a few items at a time: in memory, each takes ten
# times its size. (In PostgreSQL's storage they may be compressed to a twentieth.)
_LARGE_BYTES = 2048 * KIB
_ITEMS_AT_A_TIME = 20
_WITHOUT_PROFILES = "id, external_id, email, phone, user_id, octet_length(attributes::text) AS size"
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


@dataclass(frozen=True)
class UpsertedItem:
    """A batch item's result. It does not hold the customer: a thousand profiles may be large."""

    customer_id: str
    created: bool
    skipped: Sequence[str] = ()


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
            UpsertedItem(outcome.customer.id, outcome.created, outcome.skipped)
            if isinstance(outcome, Upserted)
            else outcome
            for some in _parts(workspace_id, items)
            for outcome in _apply(workspace_id, some, now, wait=False)
        ]

    return undisturbed(apply_all)


def _parts(workspace_id: str, items: Sequence[CustomerData | Refusal]) -> Iterator[Sequence[CustomerData | Refusal]]:
    """All items, with their customers locked; a few at a time if the profiles together are too large for memory."""
    locked: Any = locked_customers(workspace_id, _accepted(items), columns=_WITHOUT_PROFILES)
    profile_bytes = sum(customer.size for customer in locked)
    at_once = max(1, len(items)) if profile_bytes <= _LARGE_BYTES else _ITEMS_AT_A_TIME
    return (items[start : start + at_once] for start in range(0, len(items), at_once))


def _apply(
    workspace_id: str, items: Sequence[CustomerData | Refusal], now: datetime, *, wait: bool = True
) -> list[Upserted | Refusal]:
    """`wait`: waits for customers whom others have locked, instead of leaving them out."""
    roster = Roster(
        workspace_id=workspace_id, stored=locked_customers(workspace_id, _accepted(items), wait=wait), now=now
    )
    topics = topics_of(workspace_id) if any(item.consents for item in _accepted(items)) else {}
    outcomes = [_outcome(roster, item, topics) for item in items]
    write_roster(workspace_id, roster, now)
    if topics:
        sayings: dict[str, list[Saying]] = {}
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(item, CustomerData) and isinstance(outcome, Upserted) and item.consents:
                sayings.setdefault(outcome.customer.id, []).extend(item.consents)
        say(workspace_id=workspace_id, sayings=sayings, topics=topics)
    return outcomes


def _accepted(items: Sequence[CustomerData | Refusal]) -> list[CustomerData]:
    return [item for item in items if isinstance(item, CustomerData)]


def locked_customers(workspace_id: str, items: Sequence[CustomerData], **how: Any) -> list[Customer]:
    """Every customer who has one of the identifiers sent, locked as `how` says to `lock_having_any`."""
    values: dict[str, set[str]] = {}
    for item in items:
        for field, value in item.sent().items():
            values.setdefault(field, set()).add(value)
        if item.known_by.other_phone:
            values["phone"].add(item.known_by.other_phone)
    return lock_having_any(workspace_id=workspace_id, identifiers=values, **how)


def _outcome(roster: Roster, item: CustomerData | Refusal, topics: Mapping[str, Topic]) -> Upserted | Refusal:
    if isinstance(item, Refusal):
        return item
    try:
        check_sayings(item.consents, topics)
        return roster.apply(item)
    except Refusal as refusal:
        return refusal.as_value()


def write_roster(workspace_id: str, roster: Roster, now: datetime) -> None:
    """Stores what the roster's items came to. Must run in `undisturbed`."""
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
    if written_by_servers(workspace_id=workspace_id, names=roster.written, alone=roster.created_by_one_name()):
        raise CustomersMoved
    let_look(roster.changed.values())


def _row(customer: Customer) -> dict[str, Any]:
    return {
        field: getattr(customer, field)
        for field in ("id", *_IDENTIFIERS, "attributes", "claimed_identifiers", "claimed_attributes")
    }


def _identifiers(customer: Customer) -> list[str]:
    return [getattr(customer, field) or "" for field in _IDENTIFIERS]

"""Merging an anonymous customer into the person who they turned out to be.

An anonymous customer has a user id and no other identifier; for what pages say (identifying.py), not even that may be
confirmed. Two customers with other identifiers are never merged.

1. All customers who have one of the identifiers are locked in the order of their ids, for update: nothing new can refer
   to one who is about to be deleted.
2. What the anonymous customer has becomes the other one's, and the anonymous row is deleted. The user id becomes an
   alias. Other apps move what is theirs before that (bridge/people/merging.py says in which order).

If somebody else changes these customers meanwhile, the locks or a unique index say so, and the whole is done again
(`undisturbed` in locks.py).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from customers.attribute_rules import MAX_ATTRIBUTES_BYTES, MAX_CLAIMED_BYTES
from customers.identity.aliases import behind, leave_alias
from customers.identity.claims import is_anonymous
from customers.identity.identifiers import write_identifiers
from customers.identity.locks import lock_having_any
from customers.identity.lookup import CustomerNotFound, Reference, claimed_aliases_of, names_of
from customers.identity.roster import IdentifierConflict
from customers.models import Customer
from customers.watching import let_look_at, watch
from engage.database.sql import Statement
from engage.json.compact import json_bytes


def never_merged(why: str) -> IdentifierConflict:
    return IdentifierConflict(f"{why} Two customers who have other identifiers than a userId are never merged.")


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who somebody is, with their rows locked. `anonymous` is still to be merged into `customer`.

    `created` if their customer, or the customer of a user id that nobody had before, is new.
    """

    customer: Customer
    anonymous: Customer | None = None
    created: bool = False


@dataclass(frozen=True, kw_only=True)
class MovedProfile:
    """How many events, memberships in segments, and attributes have become those of the known customer."""

    events: int
    segments: int
    attributes: int


def pair_to_merge(*, workspace_id: str, anonymous: Reference, into: Reference) -> Person:
    """Who is merged and into whom, as a server names them; `into` must exist, and `anonymous` may be a new user id.

    A user id that only a page has made somebody's, or an alias of theirs, is nobody's: so a merge into the same person
    confirms it. Must run in `undisturbed`. Raises
    CustomerNotFound, IdentifierConflict and CustomerErased.
    """
    both = [(anonymous.field, anonymous.value), (into.field, into.value)]
    names = locked_names(workspace_id, both)
    known, holder = names.get((into.field, into.value)), names.get((anonymous.field, anonymous.value))
    if known is None:
        raise CustomerNotFound(named=f"into.{into.name}", advice="Create them with putCustomer.")
    if holder is not None and _only_claims(holder, anonymous):
        if holder.id != known.id:
            return _with_new_id(known, anonymous.value)
        leave_alias(known, user_id=anonymous.value, claimed=False)
    if holder is not None:
        return _both(holder, known, anonymous.value if anonymous.field == "user_id" else holder.user_id)
    if anonymous.field != "user_id":
        raise CustomerNotFound(named=f"anonymous.{anonymous.name}")
    left = behind(workspace_id=workspace_id, identifiers={"user_id": anonymous.value})
    if left.customer_id() is None:  # an erased one is refused
        return _with_new_id(known, anonymous.value)
    return pair_to_merge(workspace_id=workspace_id, anonymous=anonymous, into=into)


Names = Mapping[tuple[str, str], Customer]


def locked_names(workspace_id: str, named: Iterable[tuple[str, str]]) -> Names:
    """The customers who have one of these, by field and value; one's own identifier comes before an alias."""
    values: dict[str, set[str]] = {}
    for field, value in named:
        values.setdefault(field, set()).add(value)
    people = lock_having_any(workspace_id=workspace_id, identifiers=values, for_update=True)
    names = [(name, own, customer) for customer in people for name, own in names_of(customer).items()]
    return {name: customer for name, _, customer in sorted(names, key=lambda one: one[1])}


def led_by_a_page(holder: Customer, user_id: str) -> bool:
    """Whether it is only an alias of theirs, which a page has made."""
    return holder.user_id != user_id and ("user_id", user_id) in claimed_aliases_of(holder)


def create_customer(workspace_id: str, known_by: Mapping[str, str], *, claims: Sequence[str]) -> Customer:
    fresh = Customer(workspace_id=workspace_id, **known_by, claimed_identifiers=list(claims))
    Customer.objects.bulk_create([fresh])
    return fresh


def _only_claims(holder: Customer, anonymous: Reference) -> bool:
    """Whether it is a page alone that has made the user id theirs, who have other identifiers; then it is no more."""
    if led_by_a_page(holder, anonymous.value):
        return True
    if holder.user_id != anonymous.value or is_anonymous(holder, anonymous.value):
        return False
    if anonymous.field != "user_id" or "user_id" not in holder.claimed_identifiers:
        return False
    holder.user_id = None
    holder.claimed_identifiers = [name for name in holder.claimed_identifiers if name != "user_id"]
    write_identifiers(holder)
    return True


def _with_new_id(known: Customer, user_id: str) -> Person:
    fresh = create_customer(known.workspace_id, {"user_id": user_id}, claims=["user_id"])
    return Person(customer=known, anonymous=fresh, created=True)


def _both(holder: Customer, known: Customer, user_id: str | None) -> Person:
    if holder.id == known.id:
        return Person(customer=known)
    _require_anonymous(holder, user_id)
    return Person(customer=known, anonymous=holder)


def _require_anonymous(holder: Customer, user_id: str | None) -> None:
    """Raises IdentifierConflict for somebody with other identifiers, also if this user id is only their alias."""
    others = holder.external_id or holder.email or holder.phone
    if others or holder.user_id is None or holder.user_id != user_id:
        raise never_merged("userId belongs to a customer who has other identifiers.")


_MOVE_EVENTS = Statement("""
UPDATE customers_event SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
""")
_MOVE_MEMBERSHIPS = Statement("""
UPDATE customers_segmentmembership joined SET customer_id = {into}
WHERE joined.workspace_id = {workspace_id} AND joined.customer_id = {anonymous} AND NOT EXISTS (
    SELECT FROM customers_segmentmembership theirs
    WHERE theirs.segment_id = joined.segment_id AND theirs.customer_id = {into}
)
""")
_TAKE_ATTRIBUTES = Statement("""
UPDATE customers_customer SET attributes = attributes || {taken}::jsonb,
    claimed_attributes = claimed_attributes || {claimed}::text[], updated_at = statement_timestamp()
WHERE id = {into}
""")
_LEAD_ON = Statement("""
UPDATE customers_alias SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
""")
_DELETE = Statement("DELETE FROM customers_customer WHERE id = {anonymous}")


def merge_profile(*, anonymous: Customer, into: Customer, claimed_alias: bool) -> MovedProfile:
    """Makes what the anonymous customer has the other one's, who keeps what they have; the anonymous row is deleted.

    The rows are locked, and nothing of other apps refers to the anonymous one any more. Attributes for which the
    profile has no room left are lost.
    """
    whose: dict[str, Any] = {"workspace_id": into.workspace_id, "anonymous": anonymous.id, "into": into.id}
    taken = _room_for(anonymous, into)
    claimed = [name for name in taken if name in anonymous.claimed_attributes]
    moved = MovedProfile(
        events=_MOVE_EVENTS.execute(**whose), segments=_MOVE_MEMBERSHIPS.execute(**whose), attributes=len(taken)
    )
    if taken:
        _TAKE_ATTRIBUTES.execute(into=into.id, taken=json.dumps(taken), claimed=claimed)
    _LEAD_ON.execute(**whose)
    leave_alias(
        into, user_id=str(anonymous.user_id), claimed=claimed_alias, alias_id=anonymous.id
    )  # before the row goes: that tells a merge from an erasure
    _DELETE.execute(anonymous=anonymous.id)
    if anonymous.watched or into.watched:  # by then, what waited for one of them waits for the other one
        watch([into.id])
        let_look_at([into.id])
    return moved


def _room_for(anonymous: Customer, into: Customer) -> dict[str, Any]:
    """The attributes that the other one lacks, as far as there is room for what servers and what messages wrote."""
    claims = {name: name in one.claimed_attributes for one in (anonymous, into) for name in one.attributes}
    left = {True: MAX_CLAIMED_BYTES, False: MAX_ATTRIBUTES_BYTES}
    for is_claim in left:
        left[is_claim] -= json_bytes(
            {name: value for name, value in into.attributes.items() if claims[name] is is_claim}
        )
    taken: dict[str, Any] = {}
    for name, value in anonymous.attributes.items():
        size = json_bytes({name: value})
        if name not in into.attributes and size <= left[claims[name]]:
            taken[name] = value
            left[claims[name]] -= size
    return taken

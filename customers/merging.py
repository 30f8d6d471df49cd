"""The person behind an anonymous user id: who they are, and merging the anonymous customer into them.

An anonymous customer has a user id and no other identifier. Two customers with other identifiers are never merged.

1. All customers who have one of the identifiers are locked in the order of their ids, for update: nothing new can refer
   to one who is about to be deleted.
2. Nobody is known by the other identifiers: the anonymous customer gets them, or a new one has them all.
3. Somebody is known: what the anonymous customer has becomes theirs, and the anonymous row is deleted. The user id
   becomes an alias. Other apps move what is theirs before that (bridge/people/merging.py says in which order).

If somebody else changes these customers meanwhile, a unique index says so, and the whole is done again (`undisturbed`
in upsert.py).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from customers.aliases import customer_behind
from customers.attribute_rules import MAX_ATTRIBUTES_BYTES, MAX_CLAIMED_BYTES
from customers.identifier_rules import SPELLINGS
from customers.identity import Identifiers
from customers.lookup import CustomerNotFound, Reference, having_any, names_of
from customers.models import Customer
from customers.roster import IdentifierConflict
from customers.tombstones import CustomerErased
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


def identify_person(*, workspace_id: str, user_id: str, known_by: Identifiers) -> Person:
    """Who the person with this user id is, now that they are known by these other identifiers (at least one).

    What messages say is a claim: identifiers that only they have named decide nothing where somebody has more than a
    claim to one of them. Must run in `undisturbed`. Raises IdentifierConflict and CustomerErased.
    """
    names = _locked(workspace_id, [("user_id", user_id), *known_by.present().items()])
    known, holder = _known(known_by, names), names.get(("user_id", user_id))
    if holder is None:
        return _with_new_id(workspace_id, user_id, known_by, known)
    if known is None:
        _require_anonymous(holder, user_id)
        _give(holder, known_by.present())
        return Person(customer=holder)
    return _both(holder, known, user_id)


def pair_to_merge(*, workspace_id: str, anonymous: Reference, into: Reference) -> Person:
    """The same for a server, which names two customers; `into` must exist, and `anonymous` may be a new user id.

    Must run in `undisturbed`. Raises CustomerNotFound, IdentifierConflict and CustomerErased.
    """
    both = [(anonymous.field, anonymous.value), (into.field, into.value)]
    names = _locked(workspace_id, both)
    if len(names.keys() & set(both)) < len(both):  # somebody may have been merged while this waited for their row
        names = _locked(workspace_id, both)
    known, holder = names.get((into.field, into.value)), names.get((anonymous.field, anonymous.value))
    if known is None:
        raise CustomerNotFound(named=f"into.{into.name}", advice="Create them with putCustomer.")
    if holder is not None:
        return _both(holder, known, anonymous.value if anonymous.field == "user_id" else holder.user_id)
    if anonymous.field != "user_id":
        raise CustomerNotFound(named=f"anonymous.{anonymous.name}")
    if customer_behind(workspace_id=workspace_id, user_id=anonymous.value) is None:  # an erased one is refused
        fresh = _create(workspace_id, {"user_id": anonymous.value})
        return Person(customer=known, anonymous=fresh, created=True)
    return pair_to_merge(workspace_id=workspace_id, anonymous=anonymous, into=into)


def _locked(workspace_id: str, named: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Customer]:
    """The customers who have one of these, by field and value; one's own identifier comes before an alias."""
    values: dict[str, set[str]] = {}
    for field, value in named:
        values.setdefault(field, set()).add(value)
    people = list(having_any(workspace_id=workspace_id, identifiers=values).select_for_update())
    names = [(name, own, customer) for customer in people for name, own in names_of(customer).items()]
    return {name: customer for name, _, customer in sorted(names, key=lambda one: one[1])}


def _known(known_by: Identifiers, names: dict[tuple[str, str], Customer]) -> Customer | None:
    """Whoever does more than claim one of the identifiers, if anybody; else who claims the most trusted."""
    sent = known_by.present()
    found = {field: names[field, sent[field]] for field in SPELLINGS if (field, sent.get(field)) in names}
    firm = {field: customer for field, customer in found.items() if field not in customer.claimed_identifiers}
    if len({customer.id for customer in firm.values()}) > 1:
        raise never_merged(f"{', '.join(firm)} belong to different customers.")
    return next(iter((firm or found).values()), None)


def _with_new_id(workspace_id: str, user_id: str, known_by: Identifiers, known: Customer | None) -> Person:
    """For a user id that nobody has: its customer is created even if only to be merged, see identity.py."""
    try:
        if customer_behind(workspace_id=workspace_id, user_id=user_id):  # another call was first
            return identify_person(workspace_id=workspace_id, user_id=user_id, known_by=known_by)
    except CustomerErased:
        if known is None:
            raise
        return Person(customer=known)
    if known is None:
        return Person(customer=_create(workspace_id, {"user_id": user_id, **known_by.present()}), created=True)
    return Person(customer=known, anonymous=_create(workspace_id, {"user_id": user_id}), created=True)


def _create(workspace_id: str, claimed: dict[str, str]) -> Customer:
    fresh = Customer(workspace_id=workspace_id, **claimed, claimed_identifiers=list(claimed))
    Customer.objects.bulk_create([fresh])
    return fresh


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


def _give(customer: Customer, claimed: dict[str, str]) -> None:
    for field, value in claimed.items():
        setattr(customer, field, value)
    customer.claimed_identifiers = [*customer.claimed_identifiers, *claimed]
    _GIVE.execute(
        id=customer.id,
        claimed=customer.claimed_identifiers,
        **{field: getattr(customer, field) for field in ("external_id", "email", "phone")},
    )


_GIVE = Statement("""
UPDATE customers_customer SET external_id = {external_id}, email = {email}, phone = {phone},
    claimed_identifiers = {claimed}::text[], updated_at = statement_timestamp()
WHERE id = {id}
""")
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
_ADD_ALIAS = Statement("""
INSERT INTO customers_alias (id, workspace_id, user_id, customer_id)
VALUES ({anonymous}, {workspace_id}, {user_id}, {into})
ON CONFLICT (workspace_id, user_id) DO UPDATE SET id = excluded.id, customer_id = excluded.customer_id
""")
_DELETE = Statement("DELETE FROM customers_customer WHERE id = {anonymous}")


def merge_profile(*, anonymous: Customer, into: Customer) -> MovedProfile:
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
    _ADD_ALIAS.execute(**whose, user_id=anonymous.user_id)  # before the row goes: that tells a merge from an erasure
    _DELETE.execute(anonymous=anonymous.id)
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

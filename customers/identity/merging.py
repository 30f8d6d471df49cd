"""Merging a customer into another one: an anonymous one into the person who they turned out to be, or two known ones.

An anonymous customer has a user id and no other identifier; for what pages say (identifying.py), not even that may be
confirmed. Two customers with other identifiers are merged by a server alone, which names both as known.

1. All customers who have one of the identifiers are locked in the order of their ids, for update: nothing new can refer
   to one who is about to be deleted.
2. What the first has becomes the other one's, and their row is deleted. The user id of an anonymous one becomes an
   alias; of a known one's identifiers (`hand_over`) those that the other one lacks become theirs, and the rest aliases.
   Other apps move what is theirs before that (bridge/people/merging.py says in which order).

If somebody else changes these customers meanwhile, the locks or a unique index say so, and the whole is done again
(`undisturbed` in locks.py).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from customers.attribute_rules import MAX_ATTRIBUTES_BYTES, MAX_CLAIMED_BYTES
from customers.contact.policy import MOST_PER_PERIOD
from customers.identifier_rules import SPELLINGS
from customers.identity.aliases import behind, leave_alias
from customers.identity.claims import dropped_claims, gives_way, is_anonymous
from customers.identity.locks import lock_having_any
from customers.identity.lookup import CustomerNotFound, Reference, claimed_aliases_of, names_of
from customers.identity.proofs import take_away, write_identifiers
from customers.identity.roster import IdentifierConflict
from customers.models import Customer
from customers.watching import let_look_at, watch
from engage.database.sql import Statement
from engage.json.compact import json_bytes, same_json


def never_merged(why: str) -> IdentifierConflict:
    return IdentifierConflict(
        f"{why} Two customers who have other identifiers than a userId are merged by servers alone."
    )


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who somebody is, with their rows locked. `anonymous` is still to be merged into `customer`.

    `created` if their customer, or the customer of a user id that nobody had before, is new.
    """

    customer: Customer
    anonymous: Customer | None = None
    created: bool = False


@dataclass(frozen=True, kw_only=True)
class Handover:
    """What becomes of the identifiers (model field to value) of a customer who is merged into another one.

    `given` become the other one's own, instead of those that are `dropped`; `aliases` lead to them, and so do the user
    ids `of_pages`, until a server says otherwise. `lost` are the fields of those that lead to nobody any more.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str]
    of_pages: Sequence[str] = ()
    claimed: bool = False
    kept_claims: Sequence[str] | None = None
    dropped: Sequence[str] = ()
    lost: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class MovedProfile:
    """How many memberships in segments have become those of the other customer.

    `attributes` are the names of those that have, and `lost` of those that have not.
    """

    segments: int
    attributes: Sequence[str]
    lost: Sequence[str]


def pair_to_merge(*, workspace_id: str, anonymous: Reference, into: Reference) -> Person:
    """Who is merged and into whom, as a server names them; `into` must exist, and `anonymous` may be a new user id.

    A user id that only a page has made somebody's, or an alias of theirs, is nobody's: so a merge into the same person
    confirms it. Must run in `undisturbed`. Raises
    CustomerNotFound, IdentifierConflict and CustomerErased.
    """
    names = locked_names(workspace_id, [*_spelled(anonymous), *_spelled(into)])
    known, holder = _named(names, into), _named(names, anonymous)
    if known is None or not _leads(known, into):
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


def _spelled(reference: Reference) -> list[tuple[str, str]]:
    return [(reference.field, value) for value in (reference.value, reference.other) if value]


def _named(names: "Names", reference: Reference) -> Customer | None:
    return next((names[name] for name in _spelled(reference) if name in names), None)


def _leads(customer: Customer, reference: Reference) -> bool:
    """Whether a server is led by it to the customer whom it names: not by what a page alone has said."""
    if (reference.field, getattr(customer, reference.field)) in _spelled(reference):
        return not gives_way(customer, reference.field)
    return not led_by_a_page(customer, reference.value)


def people_to_merge(*, workspace_id: str, customer: Reference, into: Reference) -> tuple[Customer, Customer]:
    """Who is merged and into whom, as a server names two known people; one and the same if they are one already.

    A claim beside what is confirmed, or a page's alias, names nobody. Must run in `undisturbed`. Raises
    CustomerNotFound.
    """
    both = {"customer": customer, "into": into}
    names = locked_names(workspace_id, [*_spelled(customer), *_spelled(into)])
    found: list[Customer] = []
    for part, reference in both.items():
        known = _named(names, reference)
        if known is None or not _leads(known, reference):
            raise CustomerNotFound(named=f"{part}.{reference.name}")
        found.append(known)
    return found[0], found[1]


def alias_of(anonymous: Customer | None, *, claimed: bool = False) -> Handover:
    """The user id of an anonymous customer becomes an alias. `claimed`: only a page has said so."""
    aliases = {"user_id": str(anonymous.user_id)} if anonymous else {}
    return Handover(aliases=aliases, claimed=claimed)


def hand_over(customer: Customer, into: Customer, *, named: str, into_named: str) -> Handover:
    """What becomes of the identifiers of a known customer who is merged into another one.

    Those by which a server has named them (fields) are confirmed by that. Other claims are not handed on, but for a
    user id, which goes on leading a page to the person.
    """
    theirs = {name: value for name in SPELLINGS if (value := getattr(customer, name))}
    claims = {*customer.claimed_identifiers} - {named}
    known = {name: value for name, value in theirs.items() if name not in claims}
    open_claims = {*into.claimed_identifiers} - {into_named}
    given = {name: value for name, value in known.items() if name in open_claims or not getattr(into, name)}
    firm = [*given, *([into_named] if into_named in into.claimed_identifiers else [])]
    dropped = [name for name in dropped_claims(into, named=firm, found_by=[into_named]) if name not in given]
    replaced = into.user_id if "user_id" in given else None
    return Handover(
        given=given,
        aliases={name: value for name, value in known.items() if name not in given},
        of_pages=[one for one in (theirs.get("user_id") if "user_id" in claims else None, replaced) if one],
        kept_claims=[name for name in into.claimed_identifiers if name in open_claims - {*given, *dropped}],
        dropped=dropped,
        lost=[name for name in SPELLINGS if name in {*claims & theirs.keys() - {"user_id"}, *dropped}],
    )


Names = Mapping[tuple[str, str], Customer]


def locked_names(workspace_id: str, named: Iterable[tuple[str, str]]) -> Names:
    """The customers who have one of these, by field and value; one's own identifier comes before an alias."""
    values: dict[str, set[str]] = {}
    for name, value in named:
        values.setdefault(name, set()).add(value)
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
    take_away(holder, "user_id")
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
_NAME_NOTHING = Statement("UPDATE customers_customer SET external_id = NULL WHERE id = {anonymous}")
# What they were written counts for the other one: a cap holds for a person.
_UNITE_RINGS_AND_DELETE = Statement("""
WITH united AS (
    INSERT INTO customers_contactring AS ring (workspace_id, customer_id, cap, times)
    SELECT workspace_id, {into}, cap, times FROM customers_contactring
    WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
    ON CONFLICT (customer_id, cap) DO UPDATE SET times = ARRAY(
        SELECT latest.at FROM (
            SELECT at FROM unnest(ring.times || excluded.times) AS at ORDER BY at DESC LIMIT {most}
        ) AS latest ORDER BY latest.at
    )
)
DELETE FROM customers_customer WHERE id = {anonymous}
""")


def merge_profile(*, anonymous: Customer, into: Customer, handover: Handover) -> MovedProfile:
    """Makes what the first customer has the other one's, who keeps what they have; the first one's row is deleted.

    The rows are locked, and nothing of other apps refers to the first one any more. Attributes for which the profile
    has no room left are lost.
    """
    whose: dict[str, Any] = {"workspace_id": into.workspace_id, "anonymous": anonymous.id, "into": into.id}
    taken = _room_for(anonymous, into)
    claimed = [name for name in taken if name in anonymous.claimed_attributes]
    moved = MovedProfile(
        segments=_MOVE_MEMBERSHIPS.execute(**whose),
        attributes=[*taken],
        lost=[name for name, value in anonymous.attributes.items() if not _has(into, taken, name, value)],
    )
    if taken:
        _TAKE_ATTRIBUTES.execute(into=into.id, taken=json.dumps(taken), claimed=claimed)
    # Before the row goes: that tells a merge from an erasure.
    leave_alias(into, **handover.aliases, claimed=handover.claimed, alias_id=anonymous.id)
    if anonymous.external_id:  # deleted with it, it would be forgotten where a call had named it in vain
        _NAME_NOTHING.execute(anonymous=anonymous.id)
    _UNITE_RINGS_AND_DELETE.execute(**whose, most=MOST_PER_PERIOD)
    _take_identifiers(into, handover)
    if anonymous.watched or into.watched:  # by then, what waited for one of them waits for the other one
        watch([into.id])
        let_look_at([into.id])
    return moved


def _has(into: Customer, taken: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in taken or (name in into.attributes and same_json(into.attributes[name], value))


def _take_identifiers(into: Customer, handover: Handover) -> None:
    for user_id in handover.of_pages:
        leave_alias(into, user_id=user_id, claimed=True)
    changed = dict.fromkeys(handover.dropped) | dict(handover.given)
    if handover.kept_claims is None or not (changed or handover.kept_claims != into.claimed_identifiers):
        return
    for name, value in changed.items():
        setattr(into, name, value)
    into.claimed_identifiers = [*handover.kept_claims]
    write_identifiers(into)


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

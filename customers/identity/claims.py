"""Claims: what only in-app messages have said of a person, and what becomes of it once somebody knows better.

Anybody can send an app's id, and so say that a `userId` is theirs, or put a person's e-mail beside a phone of their
own before that person signs up. An identifier that a server has written, or an identity token of the app has proven,
is *confirmed*; others are claims, and `claimed_identifiers` of a customer lists them.

1. Where anything of a person is confirmed, claims say nothing: they lead a server's PUT, or a token, to nobody, and it
   takes them.
2. An e-mail address or a phone number that is only claimed never stays beside what is confirmed: the next mail would go
   to whoever claimed it. A `userId` stays, for the page from which it came; an `external_id` does beside a `userId`.
3. Anybody may know an address. So where it is by an e-mail address or a phone number alone that a person is found, and
   another identifier is confirmed, their `userId` does not stay either: it may be of whoever has said so in advance.
4. Anonymous is who has a claimed `userId` and nothing else, not even claimed: only they become somebody else because a
   page says so.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, TypeVar

from customers.identifier_rules import SPELLINGS


class Known(Protocol):
    """Whoever has identifiers, some of them only claimed."""

    user_id: str | None
    claimed_identifiers: list[str]


_Person = TypeVar("_Person", bound=Known)
_ADDRESSES = frozenset({"email", "phone"})


def confirmed(customer: Known) -> list[str]:
    """The fields of those identifiers that are no claims."""
    return [field for field in _held(customer) if field not in customer.claimed_identifiers]


def _held(customer: Known) -> list[str]:
    return [field for field in SPELLINGS if getattr(customer, field)]


def gives_way(customer: Known, field: str) -> bool:
    """Whether this identifier of theirs leads a server's PUT to nobody: a claim beside what is confirmed."""
    return field in customer.claimed_identifiers and bool(confirmed(customer))


def is_anonymous(customer: Known, user_id: str) -> bool:
    """Whether a page may say who the person with this user id is, without a proof that it is theirs."""
    return customer.user_id == user_id and _held(customer) == ["user_id"] and not confirmed(customer)


def whom_proof_means(found: Mapping[str, _Person]) -> _Person | None:
    """Of who has identifiers (by model field, the first ones first) that are one person's as a server says.

    That is whoever does more than claim one of them, else whoever claims one of which nobody knows better.
    """
    firm = (one for field, one in found.items() if field not in one.claimed_identifiers)
    claiming = (one for field, one in found.items() if not gives_way(one, field))
    return next(firm, None) or next(claiming, None)


def dropped_claims(customer: Known, *, named: Collection[str], found_by: Collection[str] = ()) -> list[str]:
    """The claims that go when these fields are confirmed. With nothing named (but a customerId), none do.

    `found_by` are those by which a server, or a token, has found the customer.
    """
    kept = {*named, "user_id", *(["external_id"] if set(named) == {"user_id"} else [])}
    if found_by and {*found_by} <= _ADDRESSES and not {*named} <= {*found_by}:
        kept = {*named}
    return [field for field in customer.claimed_identifiers if field not in kept] if named else []

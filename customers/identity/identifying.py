"""What a page says of who somebody is: the person with this user id is known by these other identifiers.

1. Nobody is known by them: the anonymous customer gets them as claims, or a new one has them all.
2. Somebody is known: the anonymous customer is to be merged into them (merging.py). Identifiers that they lack become
   claims of theirs if nothing of them is confirmed.
3. Whoever is not anonymous (claims.py) becomes nobody else: a stranger may have said so. The refusal is the same
   whether or not the other identifiers are known.

The user id always is an alias from then on, whatever becomes of it as a claim. What a token proves is confirmed. Of
somebody erased nothing is made anew (tombstones.py).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from customers.identifier_rules import SPELLINGS
from customers.identity.aliases import NOTHING_LEFT, Behind, behind, leave_alias
from customers.identity.claims import confirmed, dropped_claims, gives_way, is_anonymous
from customers.identity.identifiers import Identifiers
from customers.identity.merging import Names, Person, create_customer, led_by_a_page, locked_names, never_merged
from customers.identity.proofs import confirm, take_away, write_identifiers
from customers.models import Customer
from customers.tombstones import CustomerErased

_CONTACT = frozenset({"email", "phone"})


@dataclass(frozen=True, kw_only=True)
class Said:
    """A page's words: the user id, the other identifiers (at least one), and which of all of them a token proves."""

    workspace_id: str
    user_id: str
    known_by: Identifiers
    proven: Mapping[str, str] = field(default_factory=dict)

    @property
    def identifiers(self) -> dict[str, str]:
        return {"user_id": self.user_id, **self.known_by.present()}

    def proves(self, name: str) -> bool:
        return self.proven.get(name) == self.identifiers[name]

    def claims(self, names: Iterable[str]) -> list[str]:
        """Those of them that no token proves."""
        return [name for name in names if not self.proves(name)]


@dataclass(frozen=True, kw_only=True)
class Identified:
    """Who somebody is. `added` are the identifiers that the page's person has not had before.

    Not `kept`: an e-mail address or a phone number is of somebody erased, so the transaction is to be taken back.
    """

    person: Person
    added: list[str]
    kept: bool = True


def identify_person(said: Said) -> Identified:
    """Who the page's person is. Must run in `undisturbed`. Raises IdentifierConflict and CustomerErased."""
    names = dict(locked_names(said.workspace_id, said.identifiers.items()))
    _disprove(said, names, gives_way)
    holder = names.get(("user_id", said.user_id))
    if holder and not _is_known(holder, said, names):
        if said.proves("user_id") and led_by_a_page(holder, said.user_id):
            holder = None
        elif not _may_become_somebody(holder, said):
            raise never_merged("userId belongs to a customer who is not anonymous.")
    if known := _known(said, names):
        _disprove(said, names, lambda one, name: one is not known and not (one is holder and name == "user_id"))
    free = {name: value for name, value in said.identifiers.items() if (name, value) not in names}
    left = _left_behind(said, free)
    if left.alias_of is not None:  # another call was first
        return identify_person(said)
    had = _held(holder, said) if holder else set()
    if known is None:
        person, missed = _alone(said, holder, left), left.erased
    else:
        person, missed = _with(known, said, holder, left), _add(known, said, free, left)
    has = _held(person.customer, said) | missed
    return Identified(
        person=person,
        added=[name for name in said.known_by.present() if name in has - had],
        kept=known is not None or not missed,
    )


def _disprove(
    said: Said, names: dict[tuple[str, str], Customer], is_disproved: Callable[[Customer, str], bool]
) -> None:
    """Takes what a token proves away from those who merely claim it and are not meant; then nobody has it."""
    for name in said.identifiers.items():
        one, (field, value) = names.get(name), name
        is_claim = one and getattr(one, field) == value and field in one.claimed_identifiers
        if one and is_claim and said.proves(field) and is_disproved(one, field):
            take_away(one, field)
            del names[name]


def _is_known(holder: Customer, said: Said, names: Names) -> bool:
    """Whether the other identifiers lead to the holder already."""
    firm, claimed = _found(said, names)
    return {one.id for one in (firm or claimed).values()} == {holder.id}


def _may_become_somebody(holder: Customer, said: Said) -> bool:
    if not said.proves("user_id"):
        return is_anonymous(holder, said.user_id)
    return holder.user_id == said.user_id and set(confirmed(holder)) <= {"user_id"}


def _known(said: Said, names: Names) -> Customer | None:
    """Whoever does more than claim one of the identifiers, if anybody; else who claims the most trusted."""
    firm, claimed = _found(said, names)
    if len({customer.id for customer in firm.values()}) > 1:
        raise never_merged(f"{', '.join(firm)} belong to different customers.")
    return next(iter((firm or claimed).values()), None)


def _found(said: Said, names: Names) -> tuple[dict[str, Customer], dict[str, Customer]]:
    """Who has the other identifiers: as more than a claim, and as one; the most trusted first."""
    sent = said.known_by.present()
    found = {name: names[name, sent[name]] for name in SPELLINGS if (name, sent.get(name)) in names}
    firm = {name: one for name, one in found.items() if name not in one.claimed_identifiers}
    return firm, {name: one for name, one in found.items() if name not in firm}


def _held(customer: Customer, said: Said) -> set[str]:
    """Those of the page's identifiers that the customer has."""
    return {name for name, value in said.identifiers.items() if getattr(customer, name) == value}


def _left_behind(said: Said, free: Mapping[str, str]) -> Behind:
    unproven = {name: value for name, value in free.items() if not said.proves(name)}
    return behind(workspace_id=said.workspace_id, identifiers=unproven) if unproven else NOTHING_LEFT


def _alone(said: Said, holder: Customer | None, left: Behind) -> Person:
    """Nobody is known: who has the user id gets the identifiers, or a new customer has them."""
    if not left.erased <= _CONTACT:
        raise CustomerErased
    if holder is None:
        customer = create_customer(said.workspace_id, said.identifiers, claims=said.claims(said.identifiers))
    else:
        customer = holder
        confirm(customer, said.proven)
        _give(customer, said.known_by.present(), said)
    leave_alias(customer, user_id=said.user_id, claimed=not said.proves("user_id"))
    return Person(customer=customer, created=holder is None)


def _with(known: Customer, said: Said, holder: Customer | None, left: Behind) -> Person:
    """Somebody is known, and the user id is theirs from now on, except if somebody erased had it."""
    confirm(known, said.proven)
    if holder is None and "user_id" in left.erased:
        return Person(customer=known)
    if holder is None:  # created even if only to be merged, see identity.py
        only = {"user_id": said.user_id}
        fresh = create_customer(said.workspace_id, only, claims=said.claims(only))
        return Person(customer=known, anonymous=fresh, created=True)
    if holder.id != known.id:
        return Person(customer=known, anonymous=holder)
    if known.user_id == said.user_id and "user_id" in known.claimed_identifiers:
        leave_alias(known, user_id=said.user_id, claimed=True)
    return Person(customer=known)


def _add(known: Customer, said: Said, free: Mapping[str, str], left: Behind) -> frozenset[str]:
    """Gives the known one what they lack and nobody has; the answer is what of it was left out for somebody erased."""
    lacking = {
        name: value
        for name, value in free.items()
        if name != "user_id" and getattr(known, name) is None and (said.proves(name) or not confirmed(known))
    }
    missed = left.erased & lacking.keys()
    if "external_id" in missed:
        raise CustomerErased
    _give(known, {name: value for name, value in lacking.items() if name not in missed}, said)
    return missed


def _give(customer: Customer, given: Mapping[str, str], said: Said) -> None:
    if not given:
        return
    found_by = _held(customer, said)
    proven = [name for name in given if said.proves(name)]
    dropped = dropped_claims(customer, named=[*found_by, *proven], found_by=found_by) if proven else []
    for name, value in (dict.fromkeys(dropped) | dict(given)).items():
        setattr(customer, name, value)
    claims = [name for name in customer.claimed_identifiers if name not in {*given, *dropped}]
    customer.claimed_identifiers = claims + said.claims(given)
    write_identifiers(customer)

"""The customers that one call can affect, held in memory while its items are applied one after the other.

An identifier that only in-app messages have named is a claim: anybody can send an app's id, and so put a person's
e-mail beside a phone of their own before that person signs up. A server's call therefore

1. confirms the claims that it names itself, and drops some of the customer's others (claims.py);
2. takes an identifier that it names away from a customer who only claims it, if another one is meant.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.attribute_rules import check_attribute_names, check_attributes_size, merged
from customers.contact.saying import Saying
from customers.identifier_rules import SPELLINGS
from customers.identity.claims import confirmed, dropped_claims, gives_way
from customers.identity.identifiers import Identifiers
from customers.identity.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, CustomerNotFound, claimed_aliases_of, names_of
from customers.models import Customer
from engage.errors import MissingParameter, Refusal
from engage.json.compact import same_json

_MOST_TRUSTED_FIRST = list(IDENTIFIER_NAMES)


class IdentifierConflict(Refusal):
    """The identifiers sent together do not belong to one person."""

    status = 409
    error = "Identifier conflict"


class IdentifierNeeded(Refusal):
    """An identifier is to be removed without which the customer would not be known, or is not named."""

    status = 409
    error = "Identifier needed"


@dataclass(frozen=True, kw_only=True)
class CustomerData:
    """What a call says about one customer. In `attributes` None deletes one; those not named are kept.

    `removed` are the fields of identifiers to take away; one that is sent as well only says who is meant.
    `skips_conflicts`: identifiers that are somebody else's are left out, the least trusted first. `consents` are
    recorded as well.
    """

    customer_id: str | None = None
    known_by: Identifiers
    attributes: Mapping[str, Any]
    removed: Collection[str] = ()
    skips_conflicts: bool = False
    consents: Sequence[Saying] = ()

    def sent(self) -> dict[str, str]:
        """A customer's field to the value sent, the most trusted first."""
        values = self.known_by.present() | ({"id": self.customer_id} if self.customer_id else {})
        return {field: values[field] for field in _MOST_TRUSTED_FIRST if field in values}


@dataclass(frozen=True)
class Upserted:
    """The customer as it is after the whole call. `skipped` are the identifiers (API name) that were left out."""

    customer: Customer
    created: bool
    skipped: Sequence[str] = ()


class Roster:
    """Customers by their identifiers. `apply` one item after the other, then write `created` and `changed`."""

    def __init__(self, *, workspace_id: str, stored: Iterable[Customer], now: datetime) -> None:
        self._workspace_id = workspace_id
        self._now = now
        self._by_identifier: dict[tuple[str, str], Customer] = {}
        self._by_alias: dict[tuple[str, str], Customer] = {}
        self.created: dict[str, Customer] = {}
        self.changed: dict[str, Customer] = {}
        # Ids of stored customers that gave up an identifier, which another item may have taken since.
        self.renamed: set[str] = set()
        # Identifiers that somebody has been given.
        self.written: list[tuple[str, str]] = []
        for customer in stored:
            of_pages = claimed_aliases_of(customer)
            for name, own in names_of(customer).items():
                if own:
                    self._by_identifier[name] = customer
                elif name not in of_pages:
                    self._by_alias[name] = customer

    def apply(self, data: CustomerData, *, by: str = "") -> Upserted:
        """Creates or updates the customer that the item names. Raises a Refusal, having changed nothing.

        `by` is the one identifier that says who is meant, if not all of them do.
        Refusals: MissingParameter (no identifier), CustomerNotFound (unknown customerId), IdentifierConflict,
        IdentifierNeeded, InvalidRequest (attributes).
        """
        check_attribute_names(data.attributes)
        sent = self._spelled(data) if by else self._led(self._spelled(data))
        skipped: list[str] = []
        while True:
            found = self._found(sent)
            try:
                customer = _meant_by_one(by, found) if by else self._meant_by(sent, found)
                break
            except IdentifierConflict as conflict:
                if not data.skips_conflicts:
                    raise
                skipped.append(conflict.details[-1]["field"])
                left = {field: value for field, value in sent.items() if IDENTIFIER_NAMES[field] != skipped[-1]}
                sent = left if by else self._led(left)
        created = customer is None
        if customer is None:
            customer = Customer(workspace_id=self._workspace_id, created_at=self._now, updated_at=self._now)
        if data.removed:
            _require_identifiers(customer, data, sent, found)
        profile = _profile_with(customer, data.attributes)
        for field, other in found.items():
            if other.id != customer.id:
                self._take_away(other, field)
        if sent.get("phone") == data.known_by.other_phone is not None:
            sent = sent | {"phone": str(data.known_by.phone)}
        self._write(customer, _values(customer, sent, data.removed), profile, created=created)
        return Upserted(customer, created, skipped)

    def created_by_one_name(self) -> list[tuple[str, str]]:
        """The only identifiers (field and value) of new customers, but for those that were aliases when looked up."""
        held = ([(field, getattr(one, field)) for field in SPELLINGS] for one in self.created.values())
        named = ([name for name in names if name[1]] for names in held)
        return [names[0] for names in named if len(names) == 1 and names[0] not in self._by_alias]

    def known_by(self, field: str, data: CustomerData) -> Customer | None:
        """Who has the item's identifier of this field now, unless that gives way."""
        known = self._by_identifier.get((field, self._spelled(data)[field]))
        return None if known and gives_way(known, field) else known

    def give_up(self, data: CustomerData, *, by: str) -> None:
        """Takes away what the item will replace or remove, so that an item before it can have that."""
        customer = self.known_by(by, data)
        for field, value in (dict.fromkeys(data.removed) | self._spelled(data)).items():
            if customer is not None and getattr(customer, field) not in {None, value}:
                self._take_away(customer, field)

    def _spelled(self, data: CustomerData) -> dict[str, str]:
        """What the item sends; the phone number in its old spelling where somebody has only that."""
        sent, old = data.sent(), data.known_by.other_phone
        if old and not self._leads_to(("phone", sent["phone"])) and self._leads_to(("phone", old)):
            sent["phone"] = old
        return sent

    def _led(self, sent: dict[str, str]) -> dict[str, str]:
        """What the item names, where an id of somebody who was merged is that of whom they were merged into.

        Aliases that a server has made say who is meant where nothing else is named, but for what this person has and is
        trusted less; a page's never do.
        """
        if "id" in sent and (merged := self._by_alias.get(("id", sent["id"]))):
            sent = sent | {"id": merged.id}
        led = [(name in self._by_identifier, self._leads_to(name)) for name in sent.items()]
        if not led or (first := led[0])[0] or first[1] is None:
            return sent
        return {"id": first[1].id} if all(known is first[1] for _, known in led) else sent

    def _leads_to(self, name: tuple[str, str]) -> Customer | None:
        return self._by_identifier.get(name) or self._by_alias.get(name)

    def _found(self, sent: Mapping[str, str]) -> dict[str, Customer]:
        """Each identifier that somebody has already, with who has it, the most trusted first."""
        if not sent:
            raise MissingParameter(NOBODY_NAMED)
        found = {field: known for field, value in sent.items() if (known := self._by_identifier.get((field, value)))}
        if "id" in sent and "id" not in found:
            raise CustomerNotFound(
                named=IDENTIFIER_NAMES["id"], advice="The service chooses it: leave it out to create a customer."
            )
        return found

    def _meant_by(self, sent: Mapping[str, str], found: Mapping[str, Customer]) -> Customer | None:
        """Whoever does more than claim one of the identifiers, if anybody; else who claims the most trusted.

        A claim that gives way leads to nobody.
        """
        known = {field: customer for field, customer in found.items() if field not in customer.claimed_identifiers}
        if len({customer.id for customer in known.values()}) > 1:
            raise _belong_to_several(known)
        claims = {field: customer for field, customer in found.items() if not gives_way(customer, field)}
        if not claims:
            return None
        trusted, customer = next(iter((known or claims).items()))
        _require_trust(customer, sent, trusted)
        return customer

    def _write(self, customer: Customer, values: "_Values", profile: "_Profile", *, created: bool) -> None:
        differing = {field: value for field, value in values.items() if getattr(customer, field) != value}
        claims = [field for field in customer.claimed_identifiers if field not in values]
        if not (created or differing or claims != customer.claimed_identifiers or profile.differs_from(customer)):
            return
        self._rename(customer, differing)
        self.written += [(field, value) for field, value in differing.items() if value is not None]
        customer.claimed_identifiers = claims
        customer.attributes, customer.claimed_attributes = profile.attributes, profile.claimed
        customer.updated_at = self._now
        if created:
            self.created[customer.id] = customer
        elif customer.id not in self.created:
            self.changed[customer.id] = customer

    def _take_away(self, customer: Customer, field: str) -> None:
        self._rename(customer, {field: None})
        customer.claimed_identifiers = [name for name in customer.claimed_identifiers if name != field]
        customer.updated_at = self._now
        self.changed[customer.id] = customer

    def _rename(self, customer: Customer, values: Mapping[str, str | None]) -> None:
        for field, value in values.items():
            if former := getattr(customer, field):
                del self._by_identifier[field, former]
                if customer.id not in self.created:
                    self.renamed.add(customer.id)
            setattr(customer, field, value)
            if value is not None:
                self._by_identifier[field, value] = customer


_Values = Mapping[str, str | None]


def _values(customer: Customer, sent: Mapping[str, str], removed: Collection[str]) -> _Values:
    """What becomes of the customer's identifiers that are not kept as they are: each field's value, None if it goes."""
    given = {field: value for field, value in sent.items() if field not in removed}
    found_by = [field for field, value in sent.items() if getattr(customer, field) == value]
    dropped = dropped_claims(customer, named=[field for field in given if field != "id"], found_by=found_by)
    return dict.fromkeys([*dropped, *removed]) | given


@dataclass(frozen=True)
class _Profile:
    """Attributes, and the names of those that in-app messages wrote last."""

    attributes: dict[str, Any]
    claimed: list[str]

    def differs_from(self, customer: Customer) -> bool:
        return self.attributes is not customer.attributes or self.claimed != customer.claimed_attributes


def _profile_with(customer: Customer, sent: Mapping[str, Any]) -> _Profile:
    """The customer's profile with the sent attributes merged in. Raises InvalidRequest if it becomes too large."""
    stored = customer.attributes
    claimed = [name for name in customer.claimed_attributes if name not in sent]
    changes = {name: value for name, value in sent.items() if not same_json(value, stored.get(name))}
    if not changes and claimed == customer.claimed_attributes:
        return _Profile(stored, claimed)
    attributes = merged(stored, changes)
    check_attributes_size(attributes, claimed=claimed)
    return _Profile(attributes, claimed)


def _require_identifiers(
    customer: Customer, data: CustomerData, sent: Mapping[str, str], found: Mapping[str, Customer]
) -> None:
    """Raises IdentifierNeeded if what is removed is all that names the customer, in the call or at all.

    Where anything of them is confirmed, claims do not count: no page decides what a server may remove.
    """
    claims = customer.claimed_identifiers if confirmed(customer) else []
    firm = {field for field, other in found.items() if other is customer and field not in other.claimed_identifiers}
    named = [field for field in data.sent() if field in firm] or list(data.sent())
    if {*named} <= {*data.removed}:
        names = " and ".join(IDENTIFIER_NAMES[field] for field in named)
        raise IdentifierNeeded(
            f"remove: {names} alone leads to the customer in this call. Send another identifier that they have."
        )
    values = _values(customer, sent, data.removed)
    if not any(values.get(field, field not in claims and getattr(customer, field)) for field in SPELLINGS):
        names = " and ".join(IDENTIFIER_NAMES[field] for field in data.removed)
        raise IdentifierNeeded(
            f"remove: without {names} the customer would have no identifier. Give them another one, or erase them."
        )


def _meant_by_one(by: str, found: Mapping[str, Customer]) -> Customer | None:
    """Whoever has this identifier. Raises IdentifierConflict if somebody else has another one, and not as a claim."""
    customer = None if by in found and gives_way(found[by], by) else found.get(by)
    known = {field: other for field, other in found.items() if field not in other.claimed_identifiers}
    if others := {field: other for field, other in known.items() if other is not customer}:
        raise _belong_to_several(others)
    return customer


def _belong_to_several(found: Mapping[str, Customer]) -> IdentifierConflict:
    owners = [(IDENTIFIER_NAMES[field], customer.id) for field, customer in found.items()]
    whose = ", ".join(f"{name} to customer {customer_id}" for name, customer_id in owners)
    return IdentifierConflict(
        f"The identifiers belong to different customers: {whose}.",
        details=[{"field": name, "customerId": customer_id} for name, customer_id in owners],
    )


def _require_trust(customer: Customer, sent: Mapping[str, str], trusted: str) -> None:
    """Refuses to change an identifier through one that is trusted less.

    A customer known by their external_id may get another e-mail. But an e-mail that comes with a new external_id is
    more likely a second account, and a phone or a user id with a new e-mail a second person: treating it as a change
    would hand one person's profile to another. A caller that intends the change sends the customerId. A claim counts
    for nothing.
    """
    for field in _MOST_TRUSTED_FIRST[: _MOST_TRUSTED_FIRST.index(trusted)]:
        if field in sent and getattr(customer, field) is not None and field not in customer.claimed_identifiers:
            name, through = IDENTIFIER_NAMES[field], IDENTIFIER_NAMES[trusted]
            raise IdentifierConflict(
                f"{through} belongs to customer {customer.id}, who has another {name}. "
                f"To change that {name}, send the customerId.",
                details=[{"field": through, "customerId": customer.id}],
            )

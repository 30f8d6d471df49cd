"""The customers that one call can affect, held in memory while its items are applied one after the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.attribute_rules import check_attribute_names, check_attributes_size, merged
from customers.identity import Identifiers
from customers.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, CustomerNotFound
from customers.models import Customer
from engage.compact_json import same_json
from engage.errors import MissingParameter, Refusal

_MOST_TRUSTED_FIRST = list(IDENTIFIER_NAMES)


class IdentifierConflict(Refusal):
    """The identifiers sent together do not belong to one person."""

    status = 409
    error = "Identifier conflict"
    code = "identifier_conflict"


@dataclass(frozen=True, kw_only=True)
class CustomerData:
    """What a call says about one customer. In `attributes` None deletes one; those not named are kept."""

    customer_id: str | None = None
    known_by: Identifiers
    attributes: Mapping[str, Any]

    def sent(self) -> dict[str, str]:
        """A customer's field to the value sent, the most trusted first."""
        values = self.known_by.present() | ({"id": self.customer_id} if self.customer_id else {})
        return {field: values[field] for field in _MOST_TRUSTED_FIRST if field in values}


@dataclass(frozen=True)
class Upserted:
    """The customer as it is after the whole call."""

    customer: Customer
    created: bool


class Roster:
    """Customers by their identifiers. `apply` one item after the other, then write `created` and `changed`."""

    def __init__(self, *, workspace_id: str, stored: Iterable[Customer], now: datetime) -> None:
        self._workspace_id = workspace_id
        self._now = now
        self._by_identifier: dict[tuple[str, str], Customer] = {}
        self.created: dict[str, Customer] = {}
        self.changed: dict[str, Customer] = {}
        # Ids of stored customers that gave up an identifier, which another item may have taken since.
        self.renamed: set[str] = set()
        for customer in stored:
            for field in _MOST_TRUSTED_FIRST:
                if value := getattr(customer, field):
                    self._by_identifier[field, value] = customer

    def apply(self, data: CustomerData) -> Upserted:
        """Creates or updates the customer that the item names. Raises a Refusal, having changed nothing.

        Refusals: MissingParameter (no identifier), CustomerNotFound (unknown customerId), IdentifierConflict,
        InvalidRequest (attributes).
        """
        check_attribute_names(data.attributes)
        customer = self._meant_by(data)
        created = customer is None
        if customer is None:
            customer = Customer(workspace_id=self._workspace_id, created_at=self._now, updated_at=self._now)
        attributes = _changed_attributes(customer.attributes, data.attributes)
        if attributes is not None:
            check_attributes_size(attributes)
        self._write(customer, data.sent(), attributes, created=created)
        return Upserted(customer, created)

    def _meant_by(self, data: CustomerData) -> Customer | None:
        sent = data.sent()
        if not sent:
            raise MissingParameter(NOBODY_NAMED)
        found = {field: known for field, value in sent.items() if (known := self._by_identifier.get((field, value)))}
        if "id" in sent and "id" not in found:
            raise CustomerNotFound(
                named=IDENTIFIER_NAMES["id"], advice="The service chooses it: leave it out to create a customer."
            )
        if len({customer.id for customer in found.values()}) > 1:
            raise _belong_to_several(found)
        if not found:
            return None
        trusted, customer = next(iter(found.items()))
        _require_trust(customer, sent, trusted)
        return customer

    def _write(
        self, customer: Customer, sent: Mapping[str, str], attributes: dict[str, Any] | None, *, created: bool
    ) -> None:
        differing = {field: value for field, value in sent.items() if getattr(customer, field) != value}
        if not (created or differing or attributes is not None):
            return
        for field, value in differing.items():
            if former := getattr(customer, field):
                del self._by_identifier[field, former]
                if customer.id not in self.created:
                    self.renamed.add(customer.id)
            setattr(customer, field, value)
            self._by_identifier[field, value] = customer
        if attributes is not None:
            customer.attributes = attributes
        customer.updated_at = self._now
        if created:
            self.created[customer.id] = customer
        elif customer.id not in self.created:
            self.changed[customer.id] = customer


def _changed_attributes(stored: dict[str, Any], sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """The attributes with the sent ones merged in; None if that changes nothing."""
    changes = {name: value for name, value in sent.items() if not same_json(value, stored.get(name))}
    if not changes:
        return None
    return merged(stored, changes)


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
    would hand one person's profile to another. A caller that intends the change sends the customerId.
    """
    for field in _MOST_TRUSTED_FIRST[: _MOST_TRUSTED_FIRST.index(trusted)]:
        if field in sent and getattr(customer, field) is not None:
            name, through = IDENTIFIER_NAMES[field], IDENTIFIER_NAMES[trusted]
            raise IdentifierConflict(
                f"{through} belongs to customer {customer.id}, who has another {name}. "
                f"To change that {name}, send the customerId.",
                details=[{"field": through, "customerId": customer.id}],
            )

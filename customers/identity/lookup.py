"""Looking up customers of a workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as declared
from typing import Any, Final

from customers.identifier_rules import SPELLINGS
from customers.identity.aliases import led_to
from customers.models import Customer
from engage.database.object_ids import row_with_id
from engage.errors import Refusal

# A customer's field to its name in the API; in the order in which a server's call trusts them.
IDENTIFIER_NAMES: Final = {"id": "customerId", **SPELLINGS}
NOBODY_NAMED = f"Send at least one of {', '.join(IDENTIFIER_NAMES.values())}."


class CustomerNotFound(Refusal):
    """No customer of the workspace has the identifiers sent."""

    status = 404
    error = "Customer not found"

    def __init__(self, *, named: str, advice: str = "") -> None:
        super().__init__(f"This workspace has no customer with this {named}. {advice}".strip())


def customer_by_id(*, workspace_id: str, customer_id: str) -> Customer:
    """The customer with this id, or into whom that one was merged.

    Raises CustomerNotFound, also if the customer belongs to another workspace.
    """
    own = Customer.objects.filter(workspace_id=workspace_id)
    found = row_with_id(own, customer_id)
    if found is None and (into := led_to(workspace_id=workspace_id, field="id", value=customer_id)):
        found = own.filter(id=into).first()
    if found is None:
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])
    return found


@dataclass(frozen=True)
class Reference:
    """The one identifier by which a call names a customer who must exist. `field` is the model's field.

    `other` is another spelling of it, by which the customer is found if nobody has the value.
    """

    field: str
    value: str
    other: str | None = declared(default=None, compare=False)

    @property
    def name(self) -> str:
        """The identifier's name in the API."""
        return IDENTIFIER_NAMES[self.field]


def customer_named(*, workspace_id: str, reference: Reference) -> Customer:
    """The customer with this identifier. Raises CustomerNotFound, which names it without its value."""
    own = Customer.objects.filter(workspace_id=workspace_id)
    for value in filter(None, (reference.value, reference.other)):
        alias = {f"aliases__{reference.field}": value, "aliases__workspace_id": workspace_id}
        if found := own.filter(**{reference.field: value}).first() or own.filter(**alias).first():
            return found
    raise CustomerNotFound(named=reference.name)


def names_of(customer: Customer) -> dict[tuple[str, str], bool]:
    """Each identifier (model field and value) by which a customer was locked (locks.py); whether it is their own."""
    led_here = ((field, alias[field]) for alias in _led_here(customer) for field in IDENTIFIER_NAMES)
    aliases = {(field, value): False for field, value in led_here if value}
    own = {(field, value): True for field in IDENTIFIER_NAMES if (value := getattr(customer, field))}
    return aliases | own


def claimed_aliases_of(customer: Customer) -> set[tuple[str, str]]:
    """Those of the names that are aliases which only pages have made."""
    return {("user_id", alias["user_id"]) for alias in _led_here(customer) if alias["claimed"]}


def _led_here(customer: Customer) -> Sequence[Mapping[str, Any]]:
    return getattr(customer, "led_here", ())

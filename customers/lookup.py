"""Looking up customers of a workspace."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from customers.identifier_rules import SPELLINGS
from customers.models import Customer
from engage.database.fragment import Fragment, compose
from engage.database.object_ids import row_with_id
from engage.errors import Refusal

# A customer's field to its name in the API; in the order in which a server's call trusts them.
IDENTIFIER_NAMES: Final = {"id": "customerId", **SPELLINGS}
NOBODY_NAMED = f"Send at least one of {', '.join(IDENTIFIER_NAMES.values())}."


class CustomerNotFound(Refusal):
    """No customer of the workspace has the identifiers sent."""

    status = 404
    error = "Customer not found"
    code = "customer_not_found"

    def __init__(self, *, named: str, advice: str = "") -> None:
        super().__init__(f"This workspace has no customer with this {named}. {advice}".strip())


def customer_by_id(*, workspace_id: str, customer_id: str) -> Customer:
    """The customer with this id. Raises CustomerNotFound, also if the customer belongs to another workspace."""
    found = row_with_id(Customer.objects.filter(workspace_id=workspace_id), customer_id)
    if found is None:
        raise CustomerNotFound(named=IDENTIFIER_NAMES["id"])
    return found


@dataclass(frozen=True)
class Reference:
    """The one identifier by which a call names a customer who must exist. `field` is the model's field."""

    field: str
    value: str

    @property
    def name(self) -> str:
        """The identifier's name in the API."""
        return IDENTIFIER_NAMES[self.field]


def customer_named(*, workspace_id: str, reference: Reference) -> Customer:
    """The customer with this identifier. Raises CustomerNotFound, which names it without its value."""
    found = Customer.objects.filter(workspace_id=workspace_id, **{reference.field: reference.value}).first()
    if found is None:
        raise CustomerNotFound(named=reference.name)
    return found


def ids_having_any(*, workspace_id: str, identifiers: Mapping[str, Collection[str]]) -> Fragment:
    """Selects the ids of the workspace's customers who have any of the identifiers (model field to values).

    A customer is there once for each value that matches. Each value is looked up by its unique index. With a list of
    values, a plan made for any workspace may read the whole of a large one instead, and compare each of its customers
    with each value: it expects one of average size.
    """
    each = [
        compose(
            "SELECT known.id FROM unnest({}) AS sent (value) CROSS JOIN LATERAL"
            " (SELECT id FROM customers_customer WHERE workspace_id = {} AND {} = sent.value LIMIT 1) AS known",
            Fragment("%s::text[]", [sorted(values)]),
            Fragment("%s", [workspace_id]),
            Fragment(field),
        )
        for field, values in identifiers.items()
    ]
    return compose(" UNION ALL ".join("{}" for _ in each), *each)


def having_any(*, workspace_id: str, identifiers: Mapping[str, Collection[str]]) -> QuerySet[Customer]:
    """The workspace's customers who have any of the identifiers (model field to values), ordered by id."""
    if not identifiers:
        return Customer.objects.none()
    ids = ids_having_any(workspace_id=workspace_id, identifiers=identifiers)
    has_one = compose("customers_customer.id = ANY(ARRAY({}))", ids)
    condition = RawSQL(has_one.sql, has_one.params, BooleanField())  # noqa: S611 - every value is a parameter
    return Customer.objects.filter(condition).order_by("id")


def lock_customers_named(*, workspace_id: str, references: Iterable[Reference]) -> dict[Reference, str]:
    """The ids of the referenced customers, read in one statement; references to no customer are left out.

    Their rows are locked in id order until the transaction ends (FOR NO KEY UPDATE).
    """
    wanted: dict[str, set[str]] = {}
    for reference in references:
        wanted.setdefault(reference.field, set()).add(reference.value)
    locked = having_any(workspace_id=workspace_id, identifiers=wanted).select_for_update(no_key=True)
    return {
        Reference(field, value): customer.id
        for customer in locked.only(*IDENTIFIER_NAMES)
        for field in wanted
        if (value := getattr(customer, field)) in wanted[field]
    }

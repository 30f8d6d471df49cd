"""Looking up customers of a workspace."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import JSONObject

from customers.aliases import merged_into
from customers.identifier_rules import SPELLINGS
from customers.models import Alias, Customer
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

    def __init__(self, *, named: str, advice: str = "") -> None:
        super().__init__(f"This workspace has no customer with this {named}. {advice}".strip())


def customer_by_id(*, workspace_id: str, customer_id: str) -> Customer:
    """The customer with this id, or into whom that one was merged.

    Raises CustomerNotFound, also if the customer belongs to another workspace.
    """
    own = Customer.objects.filter(workspace_id=workspace_id)
    found = row_with_id(own, customer_id)
    if found is None and (into := merged_into(workspace_id=workspace_id, customer_id=customer_id)):
        found = own.filter(id=into).first()
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
    own = Customer.objects.filter(workspace_id=workspace_id)
    found = own.filter(**{reference.field: reference.value}).first()
    if found is None and reference.field == "user_id":
        found = own.filter(aliases__user_id=reference.value, aliases__workspace_id=workspace_id).first()
    if found is None:
        raise CustomerNotFound(named=reference.name)
    return found


def ids_having_any(*, workspace_id: str, identifiers: Mapping[str, Collection[str]]) -> Fragment:
    """Selects the ids of the workspace's customers who have any of the identifiers (model field to values).

    A customer is there once for each value that matches, be it an alias. Each value is looked up by its unique index.
    With a list of values, a plan made for any workspace may read the whole of a large one instead, and compare each of
    its customers with each value: it expects one of average size.
    """
    each = [
        compose(
            "SELECT known.id FROM unnest({}) AS sent (value) CROSS JOIN LATERAL"
            " (SELECT {} AS id FROM {} WHERE workspace_id = {} AND {} = sent.value LIMIT 1) AS known",
            Fragment("%s::text[]", [sorted(values)]),
            Fragment(found),
            Fragment(table),
            Fragment("%s", [workspace_id]),
            Fragment(column),
        )
        for field, values in identifiers.items()
        for found, table, column in _WHERE_TO_LOOK.get(field, [("id", "customers_customer", field)])
    ]
    return compose(" UNION ALL ".join("{}" for _ in each), *each)


# What is found, where and by which column, for identifiers that more than customers have.
_WHERE_TO_LOOK = {
    "id": [("id", "customers_customer", "id"), ("customer_id", "customers_alias", "id")],
    "user_id": [("id", "customers_customer", "user_id"), ("customer_id", "customers_alias", "user_id")],
}


def having_any(*, workspace_id: str, identifiers: Mapping[str, Collection[str]]) -> QuerySet[Customer]:
    """The workspace's customers who have any of the identifiers (model field to values), ordered by id.

    Values that are aliases count; `led_here` of a customer has those that led to them, for `names_of`.
    """
    if not identifiers:
        return Customer.objects.none()
    ids = ids_having_any(workspace_id=workspace_id, identifiers=identifiers)
    has_one = compose("customers_customer.id = ANY(ARRAY({}))", ids)
    condition = RawSQL(has_one.sql, has_one.params, BooleanField())  # noqa: S611 - every value is a parameter
    found = Customer.objects.filter(condition).order_by("id")
    if not _WHERE_TO_LOOK.keys() & identifiers.keys():
        return found
    of_each = Alias.objects.filter(workspace_id=workspace_id, customer_id=OuterRef("pk")).filter(
        Q(id__in=identifiers.get("id", ())) | Q(user_id__in=identifiers.get("user_id", ()))
    )
    told = JSONObject(id="id", user_id="user_id", claimed="claimed")
    return found.annotate(led_here=ArraySubquery(of_each.values(told=told)))


def names_of(customer: Customer) -> dict[tuple[str, str], bool]:
    """Each identifier (model field and value) by which a customer of `having_any` is found; whether it is their own."""
    aliases = {(field, alias[field]): False for alias in _led_here(customer) for field in ("id", "user_id")}
    own = {(field, value): True for field in IDENTIFIER_NAMES if (value := getattr(customer, field))}
    return aliases | own


def claimed_aliases_of(customer: Customer) -> set[tuple[str, str]]:
    """Those of the names that are aliases which only pages have made."""
    return {("user_id", alias["user_id"]) for alias in _led_here(customer) if alias["claimed"]}


def _led_here(customer: Customer) -> Sequence[Mapping[str, Any]]:
    return getattr(customer, "led_here", ())


def lock_customers_named(*, workspace_id: str, references: Iterable[Reference]) -> dict[Reference, str]:
    """The ids of the referenced customers, read in one statement; references to no customer are left out.

    Their rows are locked in id order until the transaction ends (FOR NO KEY UPDATE).
    """
    wanted: dict[str, set[str]] = {}
    for reference in references:
        wanted.setdefault(reference.field, set()).add(reference.value)
    named = having_any(workspace_id=workspace_id, identifiers=wanted).select_for_update(no_key=True)
    # Whoever was merged while this waited for them is found at the second look, which then holds no other lock.
    locked = list(named.only(*IDENTIFIER_NAMES)) or list(named.only(*IDENTIFIER_NAMES))
    found: dict[Reference, str] = {}
    for customer in locked:
        for (field, value), own in names_of(customer).items():
            if value in wanted.get(field, ()) and (own or Reference(field, value) not in found):
                found[Reference(field, value)] = customer.id
    return found


def lock_customer(*, workspace_id: str, customer_id: str) -> bool:
    """Locks the customer's row until the transaction ends (FOR NO KEY UPDATE). Whether they are there."""
    own = Customer.objects.filter(workspace_id=workspace_id, id=customer_id)
    return bool(list(own.select_for_update(no_key=True).values_list("id")))

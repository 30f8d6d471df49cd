"""The `customers` of a seed file: looked up by their first identifier, and created if missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from customers.attribute_rules import check_attribute_names, check_attributes_size, merged
from customers.identifier_rules import SPELLINGS, one_spelling
from customers.identity import identifiers
from customers.lookup import having_any
from customers.models import Customer
from engage.errors import InvalidRequest
from engage.json.compact import same_json
from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH, depth
from engage.models import Workspace
from journeys.seeding.reading import InvalidSeed, text_for

_ROWS_IN_ONE_STATEMENT = 5_000  # of eleven values each
_RELEASE = """
    UPDATE customers_customer SET external_id = NULL, email = NULL, phone = NULL, user_id = NULL WHERE id = ANY(%s)
"""


@dataclass(frozen=True, kw_only=True)
class SeedCustomer:
    """A customer as described at `place`, identified by `column`, its first identifier, whose written value is `name`.

    `identifiers` maps columns to stored forms, None to clear one; None in `attributes` deletes one.
    """

    place: str
    name: str
    column: str
    identifiers: Mapping[str, str | None]
    attributes: Mapping[str, Any]


def read_customers(part: Part) -> list[SeedCustomer]:
    """`[{"external_id": "ada", "email": …, "phone": …, "userId": …, "attributes": {…}}]`. Raises InvalidSeed."""
    customers = [_read(item) for item in part.items()]
    places: dict[str, str] = {}
    for one in customers:
        if places.setdefault(one.name, one.place) != one.place:
            raise InvalidSeed(f"{one.place}.{SPELLINGS[one.column]} is what {places[one.name]} goes by already.")
    return customers


def _read(part: Part) -> SeedCustomer:
    fields = part.fields(optional=[*SPELLINGS.values(), "attributes"])
    written = {
        column: None if fields[spelling].is_null else text_for(fields[spelling], Customer, column)
        for column, spelling in SPELLINGS.items()
        if spelling in fields
    }
    column = next((column for column, text in written.items() if text is not None), None)
    if column is None:
        part.refuse(f"needs an identifier: {', '.join(SPELLINGS.values())}.")
    try:
        stored = identifiers(**written)
    except InvalidRequest as refusal:
        raise InvalidSeed(f"{part.place}.{refusal.message}") from None
    return SeedCustomer(
        place=part.place,
        name=one_spelling(str(written[column])),
        column=column,
        identifiers={column: getattr(stored, column) for column in written},
        attributes=_attributes(fields["attributes"]) if "attributes" in fields else {},
    )


def _attributes(part: Part) -> dict[str, Any]:
    attributes = {name: value.value for name, value in part.members().items()}
    if depth(attributes) > STORED_DEPTH:
        part.refuse(f"is nested more than {STORED_DEPTH} deep.")
    try:
        check_attribute_names(attributes)
    except InvalidRequest as refusal:
        raise InvalidSeed(f"{part.place}: {refusal.message}") from None
    return attributes


def seed_customers(*, workspace: Workspace, customers: Sequence[SeedCustomer], now: datetime) -> dict[str, str]:
    """Creates missing customers and updates those that differ; returns each one's id by its name.

    Attributes are set one by one, and others are kept. Raises InvalidSeed if two would share an identifier.
    """
    stored = _lock_all_who_share(workspace, customers)
    owners = {column: {getattr(one, column): one for one in stored} for column in SPELLINGS}
    targets = [
        owners[one.column].get(one.identifiers[one.column]) or Customer(workspace=workspace, created_at=now)
        for one in customers
    ]
    differing = [target for one, target in zip(customers, targets, strict=True) if _apply(one, target, now)]
    differing += _yielding(targets, stored)
    _refuse_shared_identifiers(customers, targets, stored)
    _release_identifiers(owners)
    Customer.objects.bulk_create(
        differing,
        batch_size=_ROWS_IN_ONE_STATEMENT,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*SPELLINGS, "attributes", "claimed_identifiers", "claimed_attributes", "updated_at"],
    )
    return {one.name: target.id for one, target in zip(customers, targets, strict=True)}


def _lock_all_who_share(workspace: Workspace, customers: Sequence[SeedCustomer]) -> list[Customer]:
    """Locks all customers with any of these identifiers, in the order in which customers are locked everywhere."""
    mentioned = {column: {value for one in customers if (value := one.identifiers.get(column))} for column in SPELLINGS}
    return list(having_any(workspace_id=workspace.id, identifiers=mentioned).select_for_update(no_key=True))


def _apply(described: SeedCustomer, customer: Customer, now: datetime) -> bool:
    """Applies the description to the customer, unsaved; returns whether that changed it."""
    attributes = merged(customer.attributes, described.attributes)
    claimed = [name for name in customer.claimed_attributes if name not in described.attributes]
    try:
        check_attributes_size(attributes, claimed=claimed)
    except InvalidRequest as refusal:
        raise InvalidSeed(f"{described.place}.attributes: {refusal.message}") from None
    known_by = dict.fromkeys(customer.claimed_identifiers) | dict(described.identifiers)  # other claims are dropped
    differs = not same_json(attributes, customer.attributes) or any(
        getattr(customer, column) != value for column, value in known_by.items()
    )
    if not (differs or customer.claimed_identifiers or claimed != customer.claimed_attributes):
        return False
    for column, value in known_by.items():
        setattr(customer, column, value)
    customer.claimed_identifiers, customer.claimed_attributes = [], claimed
    customer.attributes, customer.updated_at = attributes, now
    return True


def _yielding(targets: Sequence[Customer], stored: Sequence[Customer]) -> list[Customer]:
    """Others who only claim an identifier of one described: they lose it, as in customers/roster.py."""
    described = {target.id for target in targets}
    taken = {(column, getattr(target, column)) for target in targets for column in SPELLINGS}
    yielding = []
    for other in stored:
        lost = {column for column in other.claimed_identifiers if (column, getattr(other, column)) in taken}
        if other.id not in described and lost:
            for column in lost:
                setattr(other, column, None)
            other.claimed_identifiers = [column for column in other.claimed_identifiers if column not in lost]
            yielding.append(other)
    return yielding


def _refuse_shared_identifiers(
    customers: Sequence[SeedCustomer], targets: Sequence[Customer], stored: Sequence[Customer]
) -> None:
    """Checks the final state, because an identifier may move from one customer of the file to another."""
    described = {target.id for target in targets}
    holders = {
        (column, value): "another customer of the workspace"
        for other in stored
        if other.id not in described
        for column in SPELLINGS
        if (value := getattr(other, column)) is not None
    }
    for one, target in zip(customers, targets, strict=True):
        for column in (one.column, *SPELLINGS):  # first the one that identifies it, so that a refusal names that
            value = getattr(target, column)
            holder = one.place if value is None else holders.setdefault((column, value), one.place)
            if holder != one.place:
                raise InvalidSeed(f"{one.place}.{SPELLINGS[column]} is already that of {holder}.")


def _release_identifiers(owners: Mapping[str, Mapping[str, Customer]]) -> None:
    """Clears customers that give up an identifier, which another may be about to get; the caller then rewrites them."""
    leaving = {
        owner.id
        for column, owner_of in owners.items()
        for value, owner in owner_of.items()
        if value and getattr(owner, column) != value
    }
    if leaving:
        with connection.cursor() as cursor:
            cursor.execute(_RELEASE, [list(leaving)])

"""The `customers` of a seed file: looked up by their first identifier, and created if missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from customers.attribute_rules import check_attribute_names
from customers.identifier_rules import SPELLINGS, one_spelling
from customers.identity.identifiers import identifiers
from customers.identity.locks import undisturbed
from customers.identity.roster import CustomerData, IdentifierConflict, Roster
from customers.identity.upsert import locked_customers, write_roster
from customers.models import Customer
from engage.errors import InvalidRequest
from engage.json.documents import Part
from engage.json.storable import STORED_DEPTH, depth
from engage.models import Workspace
from journeys.definitions.reading import InvalidSeed, text_for


@dataclass(frozen=True, kw_only=True)
class SeedCustomer:
    """A customer as described at `place`, identified by `column`, its first identifier, whose written value is `name`.

    Identifiers that are written as null are removed; None in the attributes deletes one.
    """

    place: str
    name: str
    column: str
    data: CustomerData


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
        data=CustomerData(
            known_by=stored,
            attributes=_attributes(fields["attributes"]) if "attributes" in fields else {},
            removed=[column for column, text in written.items() if text is None],
        ),
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

    Attributes are set one by one, and others are kept. Raises InvalidSeed if two would share an identifier, and
    TooManyAtOnce.
    """
    return undisturbed(lambda: _seeded(workspace, customers, now))


def _seeded(workspace: Workspace, customers: Sequence[SeedCustomer], now: datetime) -> dict[str, str]:
    customers = [_in_country(one, workspace.default_country) for one in customers]
    stored = locked_customers(workspace.id, [one.data for one in customers])
    roster = Roster(workspace_id=workspace.id, stored=stored, now=now)
    places: dict[str, str] = {}  # by the customer's id
    for one in customers:
        known = roster.known_by(one.column, one.data)
        if known and places.setdefault(known.id, one.place) != one.place:
            raise _taken(one, SPELLINGS[one.column], by=places[known.id])
    for one in customers:
        roster.give_up(one.data, by=one.column)
    ids: dict[str, str] = {}
    for one in customers:
        try:
            customer = roster.apply(one.data, by=one.column).customer
        except IdentifierConflict as conflict:
            taken, holder = conflict.details[0]["field"], conflict.details[0]["customerId"]
            raise _taken(one, taken, by=places.get(holder, "another customer of the workspace")) from None
        except InvalidRequest as refusal:
            raise InvalidSeed(f"{one.place}.attributes: {refusal.message}") from None
        if places.setdefault(customer.id, one.place) != one.place:  # made by an item before, with this identifier
            raise _taken(one, SPELLINGS[one.column], by=places[customer.id])
        ids[one.name] = customer.id
    write_roster(workspace.id, roster, now)
    return ids


def _in_country(one: SeedCustomer, country: str) -> SeedCustomer:
    return replace(one, data=replace(one.data, known_by=one.data.known_by.in_country(country)))


def _taken(one: SeedCustomer, name: str, *, by: str) -> InvalidSeed:
    return InvalidSeed(f"{one.place}.{name} is already that of {by}.")

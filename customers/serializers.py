"""From the customers' calls to values, and from values to their answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict

from customers.identity import Identifiers, identifiers
from customers.lookup import IDENTIFIER_NAMES
from customers.models import Customer
from customers.roster import CustomerData, Upserted
from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.fields import ArrayField, BodySerializer, ObjectField, TextArrayField, TextField
from engage.parsing import describe
from engage.times import iso_utc

MAX_ITEMS = 1000


class IdentifiersBody(BodySerializer):
    """What a customer is known by, outside of this service."""

    aliases = {"externalId": "external_id"}

    external_id = TextField(max_length=255, required=False, blank_is_absent=True)
    email = TextField(max_length=254, required=False, blank_is_absent=True)
    phone = TextField(max_length=64, required=False, blank_is_absent=True)
    userId = TextField(max_length=255, required=False, blank_is_absent=True)


class CustomerBody(IdentifiersBody):
    """One customer to create or update."""

    customerId = TextField(required=False, blank_is_absent=True)
    attributes = ObjectField(required=False)


class BatchBody(BodySerializer):
    """Many of them, each read on its own."""

    customers = ArrayField(max_items=MAX_ITEMS)


class MembersBody(BodySerializer):
    """External ids to put into a segment and to take out of it."""

    add = TextArrayField(max_items=MAX_ITEMS, required=False)
    remove = TextArrayField(max_items=MAX_ITEMS, required=False)


def read_customer(body: Any) -> CustomerData:
    """One customer of a body. Raises InvalidRequest."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"A customer must be an object, but {describe(body)} came.")
    values = CustomerBody.read(body)
    return CustomerData(
        customer_id=values.get("customerId"), known_by=_identifiers(values), attributes=values.get("attributes", {})
    )


def read_batch(body: Any) -> list[CustomerData | Refusal]:
    """Every item of a batch, or why it cannot be read. Raises MissingParameter, ArraySizeExceeded, InvalidRequest."""
    return [_read_item(item) for item in BatchBody.read(body)["customers"]]


def _read_item(item: Any) -> CustomerData | Refusal:
    try:
        return read_customer(item)
    except Refusal as refusal:
        return refusal


def read_query(query: QueryDict) -> Identifiers:
    """The one identifier of a query string. Raises MissingParameter or InvalidRequest."""
    names = [*IdentifiersBody().fields, *IdentifiersBody.aliases]
    sent = {name: _single_value(query, name) for name in names if name in query}
    known_by = _identifiers(IdentifiersBody.read(sent))
    present = [IDENTIFIER_NAMES[field] for field in known_by.present()]
    if not present:
        raise MissingParameter("Send exactly one of external_id, email, phone, userId in the query string.")
    if len(present) > 1:
        raise InvalidRequest(f"Send exactly one identifier; {', '.join(present)} came.")
    return known_by


def _single_value(query: QueryDict, name: str) -> str:
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"{name} stands more than once in the query string.")
    if "\0" in values[0]:
        raise InvalidRequest(f"{name} holds a NUL character.")
    # The + of a number that was not percent-encoded arrives as a space, and no number begins with one.
    return f"+{values[0][1:]}" if name == "phone" and values[0].startswith(" ") else values[0]


def read_members(body: Any) -> dict[str, list[str]]:
    """`add` and `remove`. Raises MissingParameter, ArraySizeExceeded or InvalidRequest."""
    values = MembersBody.read(body)
    if not values:
        raise MissingParameter("Send at least one of add, remove: arrays of external ids.")
    return {"add": values.get("add", []), "remove": values.get("remove", [])}


def _identifiers(values: Mapping[str, Any]) -> Identifiers:
    return identifiers(
        user_id=values.get("userId"),
        external_id=values.get("external_id"),
        email=values.get("email"),
        phone=values.get("phone"),
    )


def customer_answer(customer: Customer) -> dict[str, Any]:
    """A customer as the interface shows it."""
    return {
        **{name: getattr(customer, field) for field, name in IDENTIFIER_NAMES.items()},
        "attributes": customer.attributes,
        "createdAt": iso_utc(customer.created_at),
        "updatedAt": iso_utc(customer.updated_at),
    }


def batch_answer(outcomes: Sequence[Upserted | Refusal]) -> dict[str, Any]:
    """How many of each, and a result per item in the order of the call."""
    results = [_result(outcome) for outcome in outcomes]
    counts = {
        status: sum(result["status"] == status for result in results) for status in ("created", "updated", "failed")
    }
    return {**counts, "results": results}


def _result(outcome: Upserted | Refusal) -> dict[str, Any]:
    if isinstance(outcome, Upserted):
        return {"status": "created" if outcome.created else "updated", "customerId": outcome.customer.id}
    failed = {"status": "failed", "error": outcome.error, "code": outcome.code, "message": outcome.message}
    return failed | ({"details": outcome.details} if outcome.details else {})

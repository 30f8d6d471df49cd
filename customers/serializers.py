"""Parses the bodies and query strings of calls about customers."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from customers.identifier_rules import DESCRIPTIONS, LONGEST, one_spelling_of_each
from customers.identity.identifiers import identifiers_of
from customers.identity.lookup import NOBODY_NAMED, Reference
from customers.identity.roster import CustomerData
from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.http.fields import ArrayField, BodySerializer, ObjectField, TextArrayField, optional_text
from engage.http.query_strings import single_value
from engage.json.storable import describe

MAX_ITEMS = 1000
SKIP_IDENTIFIER = "skip_identifier"
ON_CONFLICT = ("fail", SKIP_IDENTIFIER)
NO_IDENTIFIER = "Send exactly one of external_id, email, phone, userId in the query string."
NO_MEMBERS = "Send at least one of add, remove: arrays of external ids."


class IdentifiersBody(BodySerializer):
    """A customer's identifiers outside this service."""

    aliases = {"externalId": "external_id"}

    external_id = optional_text(DESCRIPTIONS["external_id"], max_length=LONGEST["external_id"])
    email = optional_text(DESCRIPTIONS["email"], max_length=LONGEST["email"])
    phone = optional_text(DESCRIPTIONS["phone"], max_length=LONGEST["phone"])
    userId = optional_text("The user id used by an app's SDK.", max_length=LONGEST["user_id"])


class CustomerBody(IdentifiersBody):
    """One customer to create or update."""

    customerId = optional_text("The customer's id in this service. Omit it to create a customer.", max_length=1024)
    attributes = ObjectField(
        required=False,
        help_text="Merged into the profile key by key; null deletes a key. A name must have 1 to 255 characters and "
        "must not begin with $.",
    )

    onConflict = optional_text(
        "What becomes of identifiers that are somebody else's: `fail` refuses the customer (the default), "
        "`skip_identifier` leaves these identifiers out, and the answer names them."
    )

    def validate_onConflict(self, text: str) -> str:  # noqa: N802 (DRF finds it by the field's name)
        return on_conflict(text)


def on_conflict(text: str) -> str:
    if text not in ON_CONFLICT:
        raise ValidationError(f"must be one of {', '.join(ON_CONFLICT)}.")
    return text


class ReferenceBody(IdentifiersBody):
    """A customer who must exist."""

    customerId = optional_text("The customer's id in this service.", max_length=1024)


class BatchBody(BodySerializer):
    """Customers to create or update, each validated on its own."""

    customers = ArrayField(max_items=MAX_ITEMS, help_text="The customers, applied in the order sent.")
    onConflict = optional_text("What holds for those customers who say nothing of it.")

    def validate_onConflict(self, text: str) -> str:  # noqa: N802
        return on_conflict(text)


class MembersBody(BodySerializer):
    """External ids of customers to put into a segment or take out of it."""

    add = TextArrayField(max_items=MAX_ITEMS, required=False, help_text="The external ids of the customers to add.")
    remove = TextArrayField(
        max_items=MAX_ITEMS, required=False, help_text="The external ids of the customers to remove."
    )


def read_customer(body: Any, *, on_conflict: str | None = None) -> CustomerData:
    """One customer of a body; `on_conflict` is for who has none. Raises InvalidRequest."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"A customer must be an object, but {describe(body)} came.")
    values = CustomerBody.read(body)
    return CustomerData(
        customer_id=values.get("customerId"),
        known_by=identifiers_of(values),
        attributes=values.get("attributes", {}),
        skips_conflicts=values.get("onConflict", on_conflict) == SKIP_IDENTIFIER,
    )


def read_batch(body: Any) -> list[CustomerData | Refusal]:
    """Each item of a batch, or why it is invalid. Raises MissingParameter, ArraySizeExceeded or InvalidRequest."""
    values = BatchBody.read(body)
    return [_read_item(item, values.get("onConflict")) for item in values["customers"]]


def _read_item(item: Any, on_conflict: str | None) -> CustomerData | Refusal:
    try:
        return read_customer(item, on_conflict=on_conflict)
    except Refusal as refusal:
        return refusal.as_value()


def read_reference(values: Mapping[str, Any]) -> Reference:
    """The identifier that decides alone: the first of those sent, in the order of IDENTIFIER_NAMES.

    Raises MissingParameter if none was sent, InvalidRequest if one is malformed.
    """
    named = CustomerData(customer_id=values.get("customerId"), known_by=identifiers_of(values), attributes={}).sent()
    if not named:
        raise MissingParameter(NOBODY_NAMED)
    field, value = next(iter(named.items()))
    return Reference(field, value)


def read_query(query: QueryDict) -> Reference:
    """The one identifier of a query string. Raises MissingParameter or InvalidRequest."""
    names = [*IdentifiersBody().fields, *IdentifiersBody.aliases]
    sent = {name: _identifier_in(query, name) for name in names if name in query}
    references = [Reference(*item) for item in identifiers_of(IdentifiersBody.read(sent)).present().items()]
    if not references:
        raise MissingParameter(NO_IDENTIFIER)
    if len(references) > 1:
        raise InvalidRequest(f"Send exactly one identifier; {', '.join(one.name for one in references)} came.")
    return references[0]


def _identifier_in(query: QueryDict, name: str) -> str:
    text = single_value(query, name) or ""
    if "\0" in text:
        raise InvalidRequest(f"{name} holds a NUL character.")
    # A number's + that was not percent-encoded arrives as a space, and no number begins with a space.
    return f"+{text[1:]}" if name == "phone" and text.startswith(" ") else text


def read_members(body: Any) -> dict[str, list[str]]:
    """`add` and `remove`. Raises MissingParameter, ArraySizeExceeded or InvalidRequest."""
    values = MembersBody.read(body)
    if not values:
        raise MissingParameter(NO_MEMBERS)
    return {name: one_spelling_of_each(values.get(name, [])) for name in ("add", "remove")}

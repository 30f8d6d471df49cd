"""How bodies that are read by serializers name customers."""

from collections.abc import Mapping
from typing import Any

from customers.identifier_rules import DESCRIPTIONS, LONGEST
from customers.identity.identifiers import identifiers_of
from customers.identity.lookup import NOBODY_NAMED, Reference
from customers.identity.roster import CustomerData
from engage.errors import MissingParameter
from engage.http.fields import BodySerializer, optional_text


class ReferenceBody(BodySerializer):
    """A customer who must exist."""

    aliases = {"externalId": "external_id"}

    external_id = optional_text(DESCRIPTIONS["external_id"], max_length=LONGEST["external_id"])
    email = optional_text(DESCRIPTIONS["email"], max_length=LONGEST["email"])
    phone = optional_text(DESCRIPTIONS["phone"], max_length=LONGEST["phone"])
    userId = optional_text("The user id used by an app's SDK.", max_length=LONGEST["user_id"])
    customerId = optional_text("The customer's id in this service.", max_length=1024)


def read_reference(values: Mapping[str, Any]) -> Reference:
    """The identifier that decides alone: the first of those sent, in the order of IDENTIFIER_NAMES.

    Raises MissingParameter if none was sent, InvalidRequest if one is malformed.
    """
    named = CustomerData(customer_id=values.get("customerId"), known_by=identifiers_of(values), attributes={}).sent()
    if not named:
        raise MissingParameter(NOBODY_NAMED)
    field, value = next(iter(named.items()))
    return Reference(field, value)

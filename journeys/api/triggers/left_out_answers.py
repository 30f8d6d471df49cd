"""Whom a call names and leaves out, in the answers to a dry run and to the look-up of a trigger."""

from typing import Annotated, TypedDict

from customers.audience.selection import LeftOut, NamedCustomer
from engage.database.object_ids import ObjectId


class NamedCustomerData(TypedDict):
    """A customer named by the call."""

    customerId: Annotated[ObjectId, "The customer's id."]
    external_id: Annotated[
        str | None, "The customer's id in your own system; null if there is none, or if the customer was erased."
    ]


class LeftOutData(TypedDict):
    """Whom the call names and leaves out."""

    unknownExternalIds: Annotated[list[str], "The `external_ids` that no customer has, in the order sent."]
    excluded: Annotated[list[NamedCustomerData], "The customers left out because of `exclude_external_ids`."]
    notInSegments: Annotated[
        list[NamedCustomerData], "The customers in `external_ids` who are in none of the segments."
    ]


def named_data(customer: NamedCustomer) -> NamedCustomerData:
    return {"customerId": customer.customer_id, "external_id": customer.external_id}


def left_out_data(left_out: LeftOut) -> LeftOutData:
    return {
        "unknownExternalIds": list(left_out.unknown),
        "excluded": [named_data(customer) for customer in left_out.excluded],
        "notInSegments": [named_data(customer) for customer in left_out.not_in_segments],
    }

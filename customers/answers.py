"""The API's answers about customers and segment members."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from customers.membership import MembershipChange
from customers.models import Customer
from customers.upsert import UpsertedItem
from engage.errors import Refusal
from engage.keywords import Keywords
from engage.object_ids import ObjectId
from engage.times import Instant, iso_utc

CREATED_MESSAGE = "Customer created."
UPDATED_MESSAGE = "Customer updated."
FOUND_MESSAGE = "Customer found."
ERASED_MESSAGE = "Customer erased."


class CustomerRecord(TypedDict):
    """A customer."""

    customerId: Annotated[ObjectId, "The id in this service."]
    external_id: Annotated[str | None, "The id in your own system."]
    email: Annotated[str | None, "In lower case."]
    phone: Annotated[str | None, "E.164 where it is an international number without an extension."]
    userId: Annotated[str | None, "The user id that an app's SDK knows."]
    attributes: Annotated[Mapping[str, Any], "The profile: attribute name to value."]
    createdAt: Instant
    updatedAt: Annotated[Instant, "When an identifier or an attribute changed last."]


class ItemDone(TypedDict):
    """A batch item that was applied."""

    status: Literal["created", "updated"]
    customerId: Annotated[ObjectId, "Whose item it was."]


class ItemFailed(TypedDict):
    """A batch item that was refused, with the error that the single call would return. The others are applied."""

    status: Literal["failed"]
    error: str
    code: str
    message: str
    details: NotRequired[list[Mapping[str, str]]]


class BatchData(TypedDict):
    """The result of a batch."""

    created: Annotated[int, "How many customers are new."]
    updated: Annotated[int, "How many items found their customer, whether or not they changed anything."]
    failed: Annotated[int, "How many items were refused."]
    results: Annotated[list[ItemDone | ItemFailed], "A result for every item, in their order."]


class ErasedData(TypedDict):
    """The customer was erased."""

    customerId: Annotated[ObjectId, "The id that nobody has any more."]
    deleted: Literal[True]


class MembersData(TypedDict):
    """What changed in a segment."""

    added: Annotated[int, "How many customers were put in who were not in."]
    removed: Annotated[int, "How many were taken out who were in."]
    unknown: Annotated[
        list[str], "The external ids that nobody in the workspace has, in the order sent.", Keywords(uniqueItems=True)
    ]


def customer_record(customer: Customer) -> CustomerRecord:
    return {
        "customerId": customer.id,
        "external_id": customer.external_id,
        "email": customer.email,
        "phone": customer.phone,
        "userId": customer.user_id,
        "attributes": customer.attributes,
        "createdAt": iso_utc(customer.created_at),
        "updatedAt": iso_utc(customer.updated_at),
    }


def batch_answer(outcomes: Sequence[UpsertedItem | Refusal]) -> tuple[str, BatchData]:
    """Message and data: how many of each, and a result per item in the order of the call."""
    results = [_result(outcome) for outcome in outcomes]
    statuses = [result["status"] for result in results]
    created, updated, failed = (statuses.count(status) for status in ("created", "updated", "failed"))
    data = BatchData(created=created, updated=updated, failed=failed, results=results)
    return f"{created} created, {updated} updated, {failed} failed.", data


def _result(outcome: UpsertedItem | Refusal) -> ItemDone | ItemFailed:
    if isinstance(outcome, UpsertedItem):
        return ItemDone(status="created" if outcome.created else "updated", customerId=outcome.customer_id)
    return item_failed(outcome)


def item_failed(refusal: Refusal) -> ItemFailed:
    failed = ItemFailed(status="failed", error=refusal.error, code=refusal.code, message=refusal.message)
    if refusal.details:
        failed["details"] = refusal.details
    return failed


def members_answer(change: MembershipChange) -> tuple[str, MembersData]:
    """Message and data."""
    data = MembersData(added=change.added, removed=change.removed, unknown=change.unknown)
    return f"{change.added} added, {change.removed} removed.", data

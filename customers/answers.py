"""The API's answers about customers and segment members."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from customers.audience.membership import MembershipChange
from customers.erasure import ErasureReceipt
from customers.identifier_rules import LONGEST
from customers.identity.roster import Upserted
from customers.identity.upsert import UpsertedItem
from customers.models import Customer
from customers.personal import Records
from engage.database.object_ids import ObjectId
from engage.errors import FailureDetail, Refusal
from engage.http.fields import BodySerializer
from engage.http.spelling import spelled
from engage.json.compact import ascii_json
from engage.json.fields import camel_case
from engage.json.instants import Instant, iso_utc
from engage.json.keywords import Keywords, OneOf

CREATED_MESSAGE = "Customer created."
UPDATED_MESSAGE = "Customer updated."
FOUND_MESSAGE = "Customer found."
ERASED_MESSAGE = "Customer erased."
EXPORTED_MESSAGE = "All that is stored of the customer."


_MOST_UNKNOWN = 20
_SKIPPED = "Identifiers that were left out, because they are somebody else's (`onConflict`)."


class CustomerRecord(TypedDict):
    """A customer."""

    customerId: Annotated[ObjectId, "The customer's id in this service."]
    external_id: Annotated[str | None, "The customer's id in your own system."]
    email: Annotated[str | None, "The e-mail address, in lower case."]
    phone: Annotated[str | None, "The phone number, in E.164 if it is an international number without an extension."]
    userId: Annotated[str | None, "The user id used by an app's SDK."]
    attributes: Annotated[Mapping[str, Any], "The profile: attribute name to value."]
    createdAt: Instant
    updatedAt: Annotated[
        Instant,
        "When an identifier or an attribute last changed, or was written by a message or a journey.",
    ]


class CustomerPut(CustomerRecord):
    """A customer, as the call has left them."""

    skippedIdentifiers: NotRequired[Annotated[list[str], _SKIPPED]]


class ItemSent(TypedDict):
    """What the result of a batch item repeats of it."""

    index: Annotated[int, "The item's place in the call, from 0."]
    external_id: Annotated[str | None, "The external_id of the item, as it was sent."]
    unknownFields: NotRequired[Annotated[list[str], "Fields of the item that the call does not have: up to 20."]]


class ItemDone(ItemSent):
    """A batch item that was applied."""

    status: Literal["created", "updated"]
    customerId: Annotated[ObjectId, "The id of the customer who was created or updated."]
    skippedIdentifiers: NotRequired[Annotated[list[str], _SKIPPED]]


class ItemFailed(ItemSent):
    """A batch item that was refused, with the error that the single call would return. The others are applied."""

    status: Literal["failed"]
    error: str
    code: str
    message: str
    details: NotRequired[list[FailureDetail]]


CustomerResult = Annotated[ItemDone | ItemFailed, OneOf("CustomerResult")]


class BatchResult(TypedDict):
    """The result of a batch."""

    created: Annotated[int, "The number of customers created."]
    updated: Annotated[
        int, "The number of items that matched an existing customer, whether or not they changed anything."
    ]
    failed: Annotated[int, "The number of items refused."]
    results: Annotated[list[CustomerResult], "One result per item, in the order sent."]


class ErasureReceiptData(TypedDict):
    """What an erasure leaves behind, without anything personal."""

    receiptId: Annotated[ObjectId, "The id of the audit's entry, which is kept as long as the audit is."]
    erasedAt: Instant
    rows: Annotated[Mapping[str, int], "How many records were erased, by their kind in an export."]


class CustomerErased(TypedDict):
    """The customer was erased."""

    customerId: Annotated[ObjectId, "The id of the erased customer."]
    deleted: Literal[True]
    receipt: ErasureReceiptData


class CustomerExport(TypedDict):
    """Everything that is stored of a customer, as of one moment."""

    customerId: Annotated[ObjectId, "The customer's id."]
    exportedAt: Instant
    records: Annotated[
        Mapping[str, list[Mapping[str, Any]]],
        "By kind: `customer` (one), `segments`, `aliases`, `events`, `interactions`, `jobs`, `enrollments`, `steps`, "
        "`webhooks`, `webhookAttempts` and `unmatchedCalls` (calls that named the external id before it was there). A "
        "record has the fields that are stored, and may gain some.",
    ]


class MembersChanged(TypedDict):
    """What changed in a segment."""

    added: Annotated[int, "The number of customers added, not counting those who were already in the segment."]
    removed: Annotated[int, "The number of customers removed, not counting those who were not in the segment."]
    unknown: Annotated[
        list[str],
        "The external ids that no customer in the workspace has, in the order sent.",
        Keywords(uniqueItems=True),
    ]


def customer_record(customer: Customer) -> CustomerRecord:
    return spelled(CustomerRecord, customer, customerId=customer.id)


def customer_put(upserted: Upserted) -> CustomerPut:
    put = cast("CustomerPut", customer_record(upserted.customer))
    if upserted.skipped:
        put["skippedIdentifiers"] = list(upserted.skipped)
    return put


def erased_data(customer_id: str, receipt: ErasureReceipt) -> CustomerErased:
    told = ErasureReceiptData(receiptId=receipt.id, erasedAt=iso_utc(receipt.erased_at), rows=receipt.rows)
    return CustomerErased(customerId=customer_id, deleted=True, receipt=told)


def export_pieces(customer_id: str, records: Records, *, now: datetime) -> Iterator[str]:
    """The answer in pieces, a record each."""
    yield f'{{"success":true,"message":{ascii_json(EXPORTED_MESSAGE)},"data":{{"customerId":"{customer_id}",'
    yield f'"exportedAt":"{iso_utc(now)}","records":{{'
    name_of = cache(camel_case)  # a few columns, in a million rows
    for number, (kind, rows) in enumerate(records):
        yield f'{"," if number else ""}"{kind}":['
        for place, row in enumerate(rows):
            named = {name_of(name): value for name, value in row.items()}
            yield ("," if place else "") + ascii_json(named)
        yield "]"
    yield "}}}"


def items_as_sent(body: Any, name: str, *, serializer: type[BodySerializer]) -> list[ItemSent]:
    """What the results of the items under this name repeat of each, whatever is wrong with it."""
    known = {*serializer().fields, *serializer.aliases}
    return [_as_sent(index, item if isinstance(item, dict) else {}, known) for index, item in enumerate(body[name])]


def _as_sent(index: int, item: Mapping[str, Any], known: Collection[str]) -> ItemSent:
    named = item.get("external_id") or item.get("externalId")
    sent = ItemSent(index=index, external_id=named if isinstance(named, str) else None)
    if unknown := [name[: LONGEST["external_id"]] for name in item if name not in known]:
        sent["unknownFields"] = unknown[:_MOST_UNKNOWN]
    return sent


def batch_answer(outcomes: Sequence[UpsertedItem | Refusal], sent: Sequence[ItemSent]) -> tuple[str, BatchResult]:
    """Message and data: how many of each, and a result per item in the order of the call."""
    results = [_result(outcome, item) for outcome, item in zip(outcomes, sent, strict=True)]
    statuses = [result["status"] for result in results]
    created, updated, failed = (statuses.count(status) for status in ("created", "updated", "failed"))
    data = BatchResult(created=created, updated=updated, failed=failed, results=results)
    return f"{created} created, {updated} updated, {failed} failed.", data


def _result(outcome: UpsertedItem | Refusal, sent: ItemSent) -> CustomerResult:
    if isinstance(outcome, Refusal):
        return item_failed(outcome, sent)
    status = "created" if outcome.created else "updated"
    done = cast("ItemDone", {**sent, "status": status, "customerId": outcome.customer_id})
    if outcome.skipped:
        done["skippedIdentifiers"] = list(outcome.skipped)
    return done


def item_failed(refusal: Refusal, sent: ItemSent) -> ItemFailed:
    told = {"status": "failed", "error": refusal.error, "code": refusal.code, "message": refusal.message}
    failed = cast("ItemFailed", {**sent, **told})
    if refusal.details:
        failed["details"] = refusal.details
    return failed


def members_answer(change: MembershipChange) -> tuple[str, MembersChanged]:
    """Message and data."""
    data = MembersChanged(added=change.added, removed=change.removed, unknown=change.unknown)
    return f"{change.added} added, {change.removed} removed.", data

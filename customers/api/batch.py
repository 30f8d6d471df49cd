"""The call that creates or changes many customers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.utils import timezone

from customers.api.customers import CONFLICT, CustomerBody, OnConflict, SkippedIdentifiers
from customers.api.items import ItemFailed, ItemSent, items_as_sent
from customers.api.path_ids import ADA
from customers.identity.doubtful import Addresses, rounded, unread_phone
from customers.identity.locks import TooManyAtOnce
from customers.identity.roster import CustomerData
from customers.identity.upsert import UpsertedItem, upsert_customers
from engage.calls.asked import Asked
from engage.calls.call import Answered, post
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.json.fields import LEFT_OUT, Items, spellings
from engage.json.keywords import OneOf
from engage.json.reading import ArraySizeExceeded, read
from engage.json.storable import describe
from engage.notations.sizes import MAX_LIST_BYTES
from engage.scopes import Scope


@dataclass(frozen=True, kw_only=True)
class BatchBody:
    """Customers to create or update, each validated on its own."""

    customers: Annotated[list[Any], "The customers, applied in the order sent.", Items(most=1000, of=CustomerBody)]
    on_conflict: Annotated[OnConflict | None, "What holds for those customers who say nothing of it."] = None

    def items(self, country: str) -> list[CustomerData | Refusal]:
        """Each item, or why it is invalid."""
        return [self._read(item, country) for item in self.customers]

    def _read(self, item: Any, country: str) -> CustomerData | Refusal:
        if not isinstance(item, dict):
            return InvalidRequest(f"A customer must be an object, but {describe(item)} came.")
        try:
            return read(CustomerBody, item).data(country, on_conflict=self.on_conflict)
        except Refusal as refusal:
            return refusal.as_value()


@dataclass(frozen=True, kw_only=True)
class ItemDone(ItemSent):
    """A batch item that was applied."""

    status: Literal["created", "updated"]
    customer_id: Annotated[ObjectId, "The id of the customer who was created or updated."]
    skipped_identifiers: SkippedIdentifiers = None
    warnings: Annotated[
        Sequence[str] | None,
        "What is most likely a mistake: an id that a spreadsheet has rounded, or that of an earlier item with another "
        "e-mail address or phone number, or a phone number without a country. The item was applied all the same.",
        LEFT_OUT,
    ] = None


CustomerResult = Annotated[ItemDone | ItemFailed, OneOf("CustomerResult")]


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """The result of a batch."""

    created: Annotated[int, "The number of customers created."]
    updated: Annotated[
        int, "The number of items that matched an existing customer, whether or not they changed anything."
    ]
    failed: Annotated[int, "The number of items refused."]
    results: Annotated[Sequence[CustomerResult], "One result per item, in the order sent."]

    @property
    def in_words(self) -> str:
        return f"{self.created} created, {self.updated} updated, {self.failed} failed."


def _result(outcome: UpsertedItem | Refusal, sent: ItemSent, warnings: Sequence[str]) -> CustomerResult:
    if isinstance(outcome, Refusal):
        return ItemFailed.of(outcome, sent)
    return ItemDone(
        **vars(sent),
        status="created" if outcome.created else "updated",
        customer_id=outcome.customer_id,
        skipped_identifiers=outcome.skipped or None,
        warnings=warnings or None,
    )


def _warnings(items: Sequence[CustomerData | Refusal]) -> list[list[str]]:
    addresses = Addresses()
    doubts = [
        () if isinstance(item, Refusal) else (rounded(item.sent()), addresses.contradicted(item), unread_phone(item))
        for item in items
    ]
    return [[doubt for doubt in some if doubt] for some in doubts]


_BATCH = BatchResult(
    created=1,
    updated=0,
    failed=1,
    results=[
        ItemDone(index=0, external_id="ada", status="created", customer_id=ADA),
        ItemFailed.of(CONFLICT, ItemSent(index=1, external_id="eve")),
    ],
)


@post(
    path="customers/{workspaceId}/batch",
    scope=Scope.CUSTOMERS_WRITE,
    policy="customers",
    tag="Customers",
    max_inflated_bytes=MAX_LIST_BYTES,
    answer="Returns one result per item, even if all of them failed.",
    requests={
        "Two customers": {
            "customers": [
                {"external_id": "ada", "attributes": {"plan": "pro"}},
                {"external_id": "eve", "email": "bob@example.com"},
            ]
        }
    },
    examples={"One created, one refused": Answered(data=_BATCH, says=_BATCH.in_words)},
    refuses=[
        MissingParameter("customers is required."),
        ArraySizeExceeded("customers holds 1001 items; its maximum is 1000."),
        TooManyAtOnce(),
    ],
)
def put_customers(asked: Asked[BatchBody, None]) -> Answered[BatchResult]:
    """Create or update many customers

    Creates or updates up to 1,000 customers. If an item is refused, the others are still applied. Each result repeats
    the item's place and `external_id`, and names its unknown fields.
    """
    items = asked.body.items(asked.country)
    outcomes = upsert_customers(workspace_id=asked.workspace_id, items=items, now=timezone.now())
    sent = items_as_sent(asked.body.customers, known=spellings(CustomerBody))
    results = [_result(*one) for one in zip(outcomes, sent, _warnings(items), strict=True)]
    statuses = [result.status for result in results]
    data = BatchResult(
        created=statuses.count("created"),
        updated=statuses.count("updated"),
        failed=statuses.count("failed"),
        results=results,
    )
    return Answered(data=data, says=data.in_words)

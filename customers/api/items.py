"""What became of one of many that came in a call."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from customers.identifier_rules import LONGEST
from engage.errors import FailureDetail, Refusal, shortened
from engage.json.fields import LEFT_OUT, Spelled

_MOST_UNKNOWN = 20


@dataclass(frozen=True, kw_only=True)
class ItemSent:
    """What the result of a batch item repeats of it."""

    index: Annotated[int, "The item's place in the call, from 0."]
    external_id: Annotated[str | None, "The external_id of the item, as it was sent.", Spelled("external_id")]
    unknown_fields: Annotated[
        Sequence[str] | None, "Fields of the item that the call does not have: up to 20.", LEFT_OUT
    ] = None


@dataclass(frozen=True, kw_only=True)
class ItemFailed(ItemSent):
    """A batch item that was refused, with the error that the single call would return. The others are applied."""

    status: Literal["failed"] = "failed"
    error: str
    code: str
    message: str
    details: Annotated[Sequence[FailureDetail] | None, LEFT_OUT] = None

    @classmethod
    def of(cls, refusal: Refusal, sent: ItemSent) -> Self:
        return cls(
            **vars(sent),
            error=refusal.error,
            code=refusal.code,
            message=shortened(refusal.message),
            details=refusal.details or None,
        )


def items_as_sent(items: Sequence[Any], *, known: Collection[str]) -> list[ItemSent]:
    """What the results repeat of each item, whatever is wrong with it. `known` are the fields that it may have."""
    return [_as_sent(index, item if isinstance(item, dict) else {}, known) for index, item in enumerate(items)]


def _as_sent(index: int, item: Mapping[str, Any], known: Collection[str]) -> ItemSent:
    named = item.get("external_id") or item.get("externalId")
    unknown = [name[: LONGEST["external_id"]] for name in item if name not in known]
    return ItemSent(
        index=index,
        external_id=named if isinstance(named, str) else None,
        unknown_fields=unknown[:_MOST_UNKNOWN] or None,
    )

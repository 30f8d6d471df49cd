"""The calls about addresses that are not written to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from customers.contact.reach import (
    SuppressionNotFound,
    spelled,
    suppress_by_hand,
    suppressions_part,
    write_again,
)
from customers.identity.identifiers import identifiers
from customers.models import Suppression
from customers.models.contact import Channel
from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId, delete, get, post
from engage.calls.queries import PageQuery
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter
from engage.http.paging import NEXT, written_place
from engage.json.fields import Text
from engage.scopes import Scope

_FIELDS = {Channel.EMAIL: "email", Channel.SMS: "phone"}
SUPPRESSION_ID = PathId(
    name="suppressionId",
    description="The suppression's id.",
    example="68a1f0c2e4b0a1d2c3e4f5f1",
    missing=lambda _: SuppressionNotFound(),
)


@dataclass(frozen=True, kw_only=True)
class SuppressionBody:
    """An address that is not to be written to."""

    channel: Annotated[Channel, "By which way."]
    address: Annotated[
        str,
        "An e-mail address, a phone number, or a provider's name of it.",
        Text(1024, if_blank="Send it."),
    ]
    reason: Annotated[Suppression.Reason, "What is known; `manual` and the others bar transactional messages as well, "
                      "but for `complaint`."] = Suppression.Reason.MANUAL  # fmt: skip
    note: Annotated[str | None, "Why, for whoever reads the list.", Text(longest=255, blank_is_absent=True)] = None

    def address_in(self, country: str) -> str:
        """The address as identifiers are read. Raises InvalidRequest."""
        if field := _FIELDS.get(self.channel):
            read = identifiers(**{field: self.address}).in_country(country).present()
            return read[field]
        return spelled(self.channel.value, self.address)


@dataclass(frozen=True, kw_only=True)
class SuppressionRecord:
    """An address that is not written to, by whoever has it."""

    suppression_id: ObjectId
    channel: Channel
    address: Annotated[str, "Masked: the address itself is not kept, but for a digest."]
    reason: Suppression.Reason
    note: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class SuppressionsPage:
    """Addresses that are not written to, the latest first."""

    suppressions: Sequence[SuppressionRecord]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class SuppressionLifted:
    """The address is written to again."""

    deleted: Literal[True] = True


_RECORD = SuppressionRecord(
    suppression_id=SUPPRESSION_ID.example,
    channel=Channel.EMAIL,
    address="a…@example.com",
    reason=Suppression.Reason.MANUAL,
    note="She asked by phone.",
    created_at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
)
_all: dict[str, Any] = {"path": "suppressions/{workspaceId}", "policy": "customers", "tag": "Customers"}
_ADDED = "Suppressed."


def _record(row: Suppression) -> SuppressionRecord | None:
    """None for what a later version has stored."""
    channel, reason = known_value(Channel, row.channel), known_value(Suppression.Reason, row.reason)
    if channel is None or reason is None:
        return None
    return SuppressionRecord(
        suppression_id=row.id,
        channel=channel,
        address=row.masked,
        reason=reason,
        note=row.note,
        created_at=row.created_at,
    )


@get(
    **_all,
    scope=Scope.CUSTOMERS_READ,
    says="Suppressions listed.",
    answer="A page.",
    examples={"One": SuppressionsPage(suppressions=[_RECORD], next=None)},
)
def list_suppressions(asked: Asked[None, PageQuery]) -> SuppressionsPage:
    """List addresses that are not written to

    The latest first, masked, 50 at a time, or up to 200 (`limit`).
    """
    part = suppressions_part(workspace_id=asked.workspace_id, after=asked.query.after or "", limit=asked.query.limit)
    found = [one for row in part.rows if (one := _record(row))]
    return SuppressionsPage(suppressions=found, next=part.last and written_place(part.last))


@post(
    **_all,
    scope=Scope.CONTACT,
    says=_ADDED,
    answer={HTTPStatus.OK: "It was there already.", HTTPStatus.CREATED: "It is not written to any more."},
    requests={"By hand": {"channel": "email", "address": "ada@example.com", "reason": "manual"}},
    examples={"Suppressed": Answered(data=_RECORD, says=_ADDED, status=HTTPStatus.CREATED), "Again": _RECORD},
    refuses=[
        MissingParameter("address is required."),
        InvalidRequest("reason erased is for the service itself."),
    ],
)
def add_suppression(asked: Asked[SuppressionBody, None]) -> Answered[SuppressionRecord]:
    """Write to an address no more

    Whoever has it. The address is read as identifiers are: the case of an e-mail address, or how a number is written,
    makes no other one. A new address of the same person is written to, and the old one stays as it is.
    """
    body = asked.body
    if body.reason is Suppression.Reason.ERASED:
        raise InvalidRequest("reason erased is for the service itself.")
    made, row = suppress_by_hand(
        workspace_id=asked.workspace_id,
        channel=body.channel.value,
        address=body.address_in(asked.country),
        reason=body.reason,
        note=body.note or "",
    )
    record = _record(row)
    assert record
    return Answered(data=record, says=_ADDED, status=HTTPStatus.CREATED if made else HTTPStatus.OK)


@delete(
    **_all | {"path": "suppressions/{workspaceId}/{suppressionId}"},
    ids=[SUPPRESSION_ID],
    scope=Scope.CONTACT,
    says="Lifted.",
    answer="The address may be written to again.",
    examples={"Lifted": SuppressionLifted()},
    refuses=[SuppressionNotFound()],
)
def lift_suppression(asked: Asked[None, None], suppression_id: str) -> SuppressionLifted:
    """Write to an address again

    Consent, and all else, is asked for as before.
    """
    write_again(workspace_id=asked.workspace_id, suppression_id=suppression_id)
    return SuppressionLifted()

"""The recipients of a trigger call: how each is read, and what the answer tells of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from customers.audience.recipients import SentRecipient
from engage.calls.schema.bodies import NOT_BLANK, at_least_one_of
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter, Refusal, shortened
from engage.json.compact import json_bytes
from engage.json.fields import Parsed, Spelled, Text
from engage.json.reading import read
from engage.json.storable import STORED_DEPTH, depth, describe
from engage.notations.sizes import KIB
from journeys.engine.entering.payloads import Broken, PayloadInvalid
from journeys.engine.entering.trigger import Recipient
from journeys.models.choices import ScheduledFor

_MOST_PAYLOAD_BYTES = 64 * KIB
ENTRANCE = Text(longest=128, blank_is_absent=True)
EntranceId = Annotated[
    str | None,
    "Your own id of what this entry is for, such as an order, at most 128 characters. A customer enters a journey once "
    "for it: a job holds it while it is queued, and from then on if it has enrolled.",
    ENTRANCE,
    Spelled("entranceId", also="entrance_id"),
]
NO_RECIPIENT_NAMED = "At least one of external_id, email, customerId must be present."
_ANY = Text(longest=None, blank_is_absent=True)  # a value that is too long matches no customer


class InvalidRecipient(Refusal):
    """The recipient is no object, names nobody, or has a field of a wrong type."""

    error = "Invalid recipient"


class PayloadTooLarge(Refusal):
    """The recipient's own payload is larger than one may be."""

    error = "Payload too large"


class DuplicateRecipient(Refusal):
    """An earlier recipient of the call is the same person."""

    error = "Duplicate recipient"
    says = "An earlier recipient is the same person, and counts alone."


def _payload(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PayloadInvalid(f"payload must be an object, but {describe(value)} came.")
    if depth(value) > STORED_DEPTH:
        raise PayloadInvalid(f"payload is nested more than {STORED_DEPTH} deep.")
    size = json_bytes(value)
    if size > _MOST_PAYLOAD_BYTES:
        raise PayloadTooLarge(f"payload is {size} bytes of JSON; its maximum is {_MOST_PAYLOAD_BYTES}.")
    return value


@dataclass(frozen=True, kw_only=True)
class RecipientPart:
    """One customer, by one identifier, with what is sent for them alone."""

    rules: ClassVar = at_least_one_of("customerId", "external_id", "email", "externalId", value=NOT_BLANK)

    customer_id: Annotated[str | None, "The customer's id in this service.", _ANY] = None
    external_id: Annotated[
        str | None, "The customer's id in your own system.", _ANY, Spelled("external_id", also="externalId")
    ] = None
    email: Annotated[str | None, "The customer's e-mail address. Not case-sensitive.", _ANY] = None
    payload: Annotated[
        dict[str, Any] | None,
        "Data for this customer alone. Its keys take precedence over those of the call's `payload`. At most 64 KiB of "
        f"JSON, nested at most {STORED_DEPTH} levels deep.",
        Parsed(_payload, of=Any),
        Spelled("payload", also="properties"),
    ] = None

    entrance_id: EntranceId = None

    def named(self) -> Recipient:
        """By the first identifier in the order of precedence. Raises InvalidRecipient."""
        found = first_named(customer_id=self.customer_id, external_id=self.external_id, email=self.email)
        if found is None:
            raise InvalidRecipient(NO_RECIPIENT_NAMED)
        return found


def first_named(*, customer_id: str | None, external_id: str | None, email: str | None) -> Recipient | None:
    """The one customer whom these name; the first that is there decides alone."""
    if customer_id is not None:
        return Recipient("customerId", customer_id)
    if external_id is not None:
        return Recipient("external_id", external_id)
    return None if email is None else Recipient("email", email)


@dataclass(frozen=True, kw_only=True)
class QueuedRecipientData:
    """A recipient who is queued."""

    index: Annotated[int, "The recipient's place in `recipients`, from 0."]
    customer_id: Annotated[ObjectId, "The customer's id."]
    job_id: Annotated[str, "The id of the customer's job."]
    scheduled_for: ScheduledFor = None


@dataclass(frozen=True, kw_only=True)
class RefusedRecipient:
    """A recipient who was refused. The others are queued."""

    index: Annotated[int, "The recipient's place in `recipients`, from 0."]
    code: Annotated[
        str,
        "`invalid_recipient`, `payload_invalid`, `payload_too_large`, or `duplicate_recipient` if an earlier recipient "
        "is the same person.",
    ]
    message: Annotated[str, "What is wrong, as text."]

    @classmethod
    def of(cls, index: int, refusal: Refusal) -> "RefusedRecipient":
        return cls(index=index, code=refusal.code, message=shortened(refusal.message))


def read_recipients(
    items: Sequence[Any], *, entrance: str | None
) -> tuple[list[SentRecipient], list[RefusedRecipient]]:
    """Those that are as they should be, and why the others are refused. Each is read on its own.

    `entrance` is of those who have none of their own.
    """
    sent, refused = list[SentRecipient](), list[RefusedRecipient]()
    for index, item in enumerate(items):
        try:
            sent.append(_read(index, item, entrance=entrance))
        except Refusal as refusal:
            refused.append(RefusedRecipient.of(index, refusal))
    return sent, refused


def with_those_found(
    refused: Iterable[RefusedRecipient], *, twice: Iterable[int], broken: Broken
) -> list[RefusedRecipient]:
    """In the order of the call: also those named twice, and those whose payload breaks the journey's schema."""
    found = {**broken, **{index: DuplicateRecipient() for index in twice}}
    later = (RefusedRecipient.of(index, refusal) for index, refusal in found.items())
    return sorted([*refused, *later], key=lambda one: one.index)


def _read(index: int, item: Any, *, entrance: str | None) -> SentRecipient:
    if not isinstance(item, Mapping):
        raise InvalidRecipient(f"A recipient must be an object, but {describe(item)} came.")
    try:
        part = read(RecipientPart, item)
    except (InvalidRequest, MissingParameter) as refusal:
        raise InvalidRecipient(refusal.message) from None
    column, value = part.named().as_stored()
    return SentRecipient(index + 1, column, value, part.payload, part.entrance_id or entrance)

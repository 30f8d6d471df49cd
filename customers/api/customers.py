"""The calls about one customer: they are created, changed, found and erased."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Literal

from django.http import QueryDict
from django.utils import timezone

from customers.api.bodies import (
    MOST_CONSENTS,
    OF_AN_SDK,
    ConsentBody,
    Email,
    ExternalId,
    Phone,
    ReferenceBody,
    reference_to,
    sayings_in,
)
from customers.api.path_ids import ADA, BOB, CUSTOMER_ID
from customers.erasure import ErasureReceipt
from customers.erasure import erase_customer as erase
from customers.identifier_rules import DESCRIPTIONS, LONGEST, SPELLINGS
from customers.identity.identifiers import identifiers
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import (
    IDENTIFIER_NAMES,
    NOBODY_NAMED,
    CustomerNotFound,
    Reference,
    customer_by_id,
    customer_named,
)
from customers.identity.roster import CustomerData, IdentifierConflict, IdentifierNeeded
from customers.identity.upsert import upsert_customer
from engage.calls.asked import Asked
from engage.calls.call import Answered, delete, get, put
from engage.database.object_ids import ObjectId
from engage.database.statement_limit import LargeWorkInProgress
from engage.errors import InvalidRequest, MissingParameter
from engage.http.query_strings import single_value
from engage.json.fields import LEFT_OUT, Items, Spelled, Stored, Text, filled, spellings
from engage.json.keywords import STRICT, Keywords
from engage.json.reading import ArraySizeExceeded, Problem, read
from engage.scopes import Scope

_NO_IDENTIFIER = "Send exactly one of external_id, email, phone, userId in the query string."


# What is sent ---------------------------------------------------------------------------------------------------------


class OnConflict(StrEnum):
    FAIL = "fail"
    SKIP_IDENTIFIER = "skip_identifier"


_IF_BLANK = "Leave it out, or take it away with remove."
_REMOVABLE = {name: field for field, name in SPELLINGS.items()} | {"externalId": "external_id"}


@dataclass(frozen=True, kw_only=True)
class CustomerBody(ReferenceBody):
    """One customer to create or update."""

    external_id: Annotated[ExternalId, Text(longest=LONGEST["external_id"], if_blank=_IF_BLANK)] = None
    email: Annotated[
        Email, Text(longest=LONGEST["email"], if_blank=_IF_BLANK), Keywords(strict={"format": "email"})
    ] = None
    phone: Annotated[Phone, Text(longest=LONGEST["phone"], if_blank=_IF_BLANK)] = None
    user_id: Annotated[str | None, OF_AN_SDK, Text(longest=LONGEST["user_id"], if_blank=_IF_BLANK)] = None
    customer_id: Annotated[
        str | None,
        "The customer's id in this service. Omit it to create a customer.",
        Text(if_blank="Leave it out to create a customer."),
    ] = None
    remove: Annotated[
        list[str] | None,
        "Identifiers to take away from the customer. One that is sent as well only says who is meant.",
        Items(most=len(_REMOVABLE)),
        Keywords(items={"type": "string", "enum": [*SPELLINGS.values()], STRICT: {"enum": [*_REMOVABLE]}}),
    ] = None
    attributes: Annotated[
        dict[str, Any] | None,
        "Merged into the profile key by key; null deletes a key. A name must have 1 to 255 characters and must not "
        "begin with $.",
        Stored(),
    ] = None
    on_conflict: Annotated[
        OnConflict | None,
        "What becomes of identifiers that are somebody else's: `fail` refuses the customer (the default), "
        "`skip_identifier` leaves these identifiers out, and the answer names them.",
    ] = None

    consents: Annotated[
        list[ConsentBody] | None,
        "What they want to be written about, by topic and channel: what is not named stays.",
        Items(most=MOST_CONSENTS),
    ] = None

    def problems(self) -> Iterator[Problem]:
        if unknown := [name for name in self.remove or () if name not in _REMOVABLE]:
            names = ", ".join(SPELLINGS.values())
            yield Problem("remove", f"must hold names of identifiers ({names}), not {unknown[0][:40]!r}.")

    def data(self, country: str, *, on_conflict: OnConflict | None = None) -> CustomerData:
        """`on_conflict` is for who has none. Raises InvalidRequest."""
        return CustomerData(
            customer_id=self.customer_id,
            known_by=self.known_by().in_country(country),
            attributes=self.attributes or {},
            removed=dict.fromkeys(_REMOVABLE[name] for name in self.remove or ()),
            skips_conflicts=(self.on_conflict or on_conflict) is OnConflict.SKIP_IDENTIFIER,
            consents=sayings_in(self.consents, now=timezone.now()) if self.consents else (),
        )


@dataclass(frozen=True, kw_only=True)
class IdentifierQuery:
    """The one identifier of a customer."""

    external_id: Annotated[str | None, DESCRIPTIONS["external_id"], Spelled("external_id", also="externalId")] = None
    email: Annotated[str | None, DESCRIPTIONS["email"]] = None
    phone: Annotated[str | None, DESCRIPTIONS["phone"]] = None
    user_id: Annotated[str | None, OF_AN_SDK] = None

    @classmethod
    def of_query(cls, query: QueryDict) -> "IdentifierQuery":
        sent = {name: _text(query, name) for name in spellings(cls) if name in query}
        return filled(cls, read(ReferenceBody, sent))

    def reference(self, country: str) -> Reference:
        """Raises MissingParameter or InvalidRequest."""
        known_by = identifiers(**vars(self)).in_country(country)
        named = [IDENTIFIER_NAMES[field] for field in known_by.present()]
        if not named:
            raise MissingParameter(_NO_IDENTIFIER)
        if len(named) > 1:
            raise InvalidRequest(f"Send exactly one identifier; {', '.join(named)} came.")
        return reference_to(known_by, customer_id=None)


def _text(query: QueryDict, name: str) -> str:
    text = single_value(query, name) or ""
    if "\0" in text:
        raise InvalidRequest(f"{name} holds a NUL character.")
    # A number's + that was not percent-encoded arrives as a space, and no number begins with a space.
    return f"+{text[1:]}" if name == "phone" and text.startswith(" ") else text


# What is answered -----------------------------------------------------------------------------------------------------

SkippedIdentifiers = Annotated[
    Sequence[str] | None,
    "Identifiers that were left out, because they are somebody else's (`onConflict`).",
    LEFT_OUT,
]


@dataclass(frozen=True, kw_only=True)
class CustomerRecord:
    """A customer."""

    customer_id: Annotated[ObjectId, "The customer's id in this service."]
    external_id: Annotated[str | None, "The customer's id in your own system.", Spelled("external_id")]
    email: Annotated[str | None, "The e-mail address, in lower case."]
    phone: Annotated[str | None, "The phone number, in E.164 if it is an international number without an extension."]
    user_id: Annotated[str | None, OF_AN_SDK]
    attributes: Annotated[Mapping[str, Any], "The profile: attribute name to value."]
    created_at: datetime
    updated_at: Annotated[
        datetime, "When an identifier or an attribute last changed, or was written by a message or a journey."
    ]


@dataclass(frozen=True, kw_only=True)
class CustomerPut(CustomerRecord):
    """A customer, as the call has left them."""

    skipped_identifiers: SkippedIdentifiers = None


@dataclass(frozen=True, kw_only=True)
class CustomerErased:
    """The customer was erased."""

    customer_id: Annotated[ObjectId, "The id of the erased customer."]
    deleted: Literal[True] = True
    receipt: ErasureReceipt


# Examples -------------------------------------------------------------------------------------------------------------

RECORD = CustomerPut(
    customer_id=ADA,
    external_id="ada",
    email="ada@example.com",
    phone=None,
    user_id=None,
    attributes={"plan": "pro"},
    created_at=datetime(2026, 11, 20, 19, 8, 0, 123000, tzinfo=UTC),
    updated_at=datetime(2026, 11, 20, 19, 8, 0, 123000, tzinfo=UTC),
)
CONFLICT = IdentifierConflict(
    f"email belongs to customer {BOB}, who has another external_id. To change that external_id, send the customerId.",
    details=[{"field": "email", "customerId": BOB}],
)
_ERASED = CustomerErased(
    customer_id=ADA,
    receipt=ErasureReceipt(
        receipt_id="68a1f0c2e4b0a1d2c3e4f5c9",
        erased_at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
        rows={"customer": 1, "segments": 2, "events": 14, "interactions": 3, "enrollments": 1, "steps": 4},
    ),
)
NOT_FOUND = CustomerNotFound(named="customerId")

# The calls ------------------------------------------------------------------------------------------------------------

_customers: dict[str, Any] = {"policy": "customers", "tag": "Customers"}
_all: dict[str, Any] = {**_customers, "path": "customers/{workspaceId}"}
_one: dict[str, Any] = {**_customers, "path": "customers/{workspaceId}/{customerId}", "ids": [CUSTOMER_ID]}
_found: dict[str, Any] = {"scope": Scope.CUSTOMERS_READ, "says": "Customer found.", "examples": {"Found": RECORD}}
_CREATED = "Customer created."


@put(
    **_all,
    scope=Scope.CUSTOMERS_WRITE,
    often=True,
    says="Customer updated.",
    answer={
        HTTPStatus.OK: "The customer already existed and now matches the call.",
        HTTPStatus.CREATED: "The customer was created.",
    },
    requests={
        "Create or update": {
            "external_id": "ada",
            "email": "ada@example.com",
            "attributes": {"plan": "pro", "trial_ends": None},
        },
        "Give another external id": {"customerId": ADA, "external_id": "ada-2"},
        "Take the e-mail address away": {"external_id": "ada", "remove": ["email"]},
    },
    examples={"Updated": RECORD, "Created": Answered(data=RECORD, says=_CREATED, status=HTTPStatus.CREATED)},
    refuses=[
        MissingParameter(NOBODY_NAMED),
        ArraySizeExceeded("remove holds 6 items; its maximum is 5."),
        NOT_FOUND,
        CONFLICT,
        IdentifierNeeded("remove: without email the customer would have no identifier."),
        TooManyAtOnce(),
    ],
)
def put_customer(asked: Asked[CustomerBody, None]) -> Answered[CustomerPut]:
    """Create or update a customer

    Send at least one identifier. The customer is looked up by all of them. If no customer has any of them, one is
    created. Identifiers that the customer does not have yet are added.

    The call is refused if the identifiers belong to different customers, or if it would change an identifier of a
    customer who was matched only by less trusted ones. The order of trust is `customerId`, `external_id`, `email`,
    `phone`, `userId`. With `"onConflict": "skip_identifier"` the identifiers that are somebody else's are left out
    instead, the least trusted first, and `skippedIdentifiers` names them.

    An identifier that is left out is kept, and `null` is as good as left out; a blank one is refused. It is changed by
    sending another one beside an identifier that is trusted more, and taken away by `"remove": ["email"]`: not if it is
    the customer's last one, or if the call names them by nothing else.
    """
    upserted = upsert_customer(workspace_id=asked.workspace_id, data=asked.body.data(asked.country), now=timezone.now())
    customer, skipped = upserted.customer, upserted.skipped or None
    record = filled(CustomerPut, customer, customer_id=customer.id, skipped_identifiers=skipped)
    if upserted.created:
        return Answered(data=record, says=_CREATED, status=HTTPStatus.CREATED, below=customer.id)
    return Answered(data=record)


@get(
    **_all,
    **_found,
    answer="The customer with this identifier.",
    refuses=[
        MissingParameter(_NO_IDENTIFIER),
        InvalidRequest("Send exactly one identifier; external_id, email came."),
        CustomerNotFound(named="external_id"),
    ],
)
def find_customer(asked: Asked[None, IdentifierQuery]) -> CustomerRecord:
    """Find a customer by an identifier

    Returns the customer with this identifier. Send exactly one of the query parameters.
    """
    customer = customer_named(workspace_id=asked.workspace_id, reference=asked.query.reference(asked.country))
    return filled(CustomerRecord, customer, customer_id=customer.id)


@get(**_one, **_found, answer="The customer.", refuses=[NOT_FOUND])
def get_customer(asked: Asked[None, None], customer_id: str) -> CustomerRecord:
    """Get a customer

    Returns a customer by their id in this service.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    return filled(CustomerRecord, customer, customer_id=customer.id)


@delete(
    **_one,
    scope=Scope.CUSTOMERS_ERASE,
    says="Customer erased.",
    answer="The customer was erased.",
    examples={"Erased": _ERASED},
    refuses=[NOT_FOUND, LargeWorkInProgress()],
)
def erase_customer(asked: Asked[None, None], customer_id: str) -> CustomerErased:
    """Erase a customer

    Erases the customer and their segment memberships, events, message interactions and enrollments, and the payloads of
    the triggers that named nobody else who is left. The payload of a call for more than 1,000 customers is kept until
    it is pruned. The answer has a receipt, which is an entry of the audit.
    """
    receipt = erase(workspace_id=asked.workspace_id, customer_id=customer_id)
    return CustomerErased(customer_id=customer_id, receipt=receipt)

"""The calls about who somebody is: `identify` for pages, and the merge for servers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from rest_framework.request import Request

from bridge.api.senders import OF_IDENTITY, IdempotencyKey, IdentityToken, KeyedView, Sender
from bridge.caps import TOO_MANY_NEW
from bridge.people.identifying import identify as identify_person
from bridge.people.identifying import proven_words
from bridge.people.merging import CustomersMerged, Lost, MovedNumbers, TooLargeToMerge
from bridge.people.merging import merge_customers as merge
from bridge.requests import BridgeCall
from customers.api.bodies import USER_ID, Email, ExternalId, Phone, ReferenceBody, reference_to
from customers.api.path_ids import ADA
from customers.identity.identifiers import identifiers
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import CustomerNotFound, Reference
from customers.identity.merging import never_merged
from customers.tombstones import CustomerErased
from engage.calls.asked import Asked, AskedBySdk
from engage.calls.call import Answered, post
from engage.calls.queries import BAD_DRY_RUN, DRY_RUN_MESSAGE, DryRun
from engage.calls.schema.bodies import NOT_BLANK, at_least_one_of
from engage.database.statement_limit import LargeWorkInProgress
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import Text
from engage.json.reading import AtLeastOne, Problem, read
from engage.models import App
from engage.scopes import Scope, require_scope

_NOBODY = "At least one of external_id, email, phone must be present."
_NO_ANONYMOUS = "anonymous needs a customerId or a userId."
_NO_MERGED = "Send anonymous or customer: who is merged."
_ONE_ALREADY = "The two were one customer already."


@dataclass(frozen=True, kw_only=True)
class IdentifyBody:
    """Who the person with an anonymous user id is."""

    one_of: ClassVar = AtLeastOne(("external_id", "email", "phone"), _NOBODY)

    user_id: Annotated[str, "The SDK's anonymous id.", USER_ID]
    external_id: ExternalId = None
    email: Email = None
    phone: Phone = None
    idempotency_key: IdempotencyKey = None
    identity_token: IdentityToken = None

    def said(self, sender: Sender) -> tuple[BridgeCall, str]:
        """The sender's call with the identifiers of whom the person is, and the user id. Raises InvalidRequest."""
        user_id = identifiers(user_id=self.user_id).user_id or ""  # which is not blank
        known_by = identifiers(external_id=self.external_id, email=self.email, phone=self.phone)
        return sender.call(token=self.identity_token, message_id="", known_by=known_by, form_data={}), user_id


@dataclass(frozen=True, kw_only=True)
class MergeAnonymousPart:
    """The customer who has a userId and no other identifier. One identifier is needed; `customerId` comes first."""

    rules: ClassVar = at_least_one_of("customerId", "userId", value=NOT_BLANK)

    customer_id: Annotated[str | None, "The customer's id in this service.", Text(blank_is_absent=True)] = None
    user_id: Annotated[
        str | None,
        "The anonymous id. One that nobody has yet leads to the other customer from now on.",
        Text(longest=None, blank_is_absent=True),
    ] = None

    def reference(self) -> Reference:
        """Raises MissingParameter or InvalidRequest."""
        return reference_to(identifiers(user_id=self.user_id), customer_id=self.customer_id)


@dataclass(frozen=True, kw_only=True)
class MergeIntoPart(ReferenceBody):
    """The customer who remains. One identifier is needed; the first of those sent decides."""


@dataclass(frozen=True, kw_only=True)
class MergeCustomerPart(ReferenceBody):
    """A known customer who is merged. One identifier is needed; the first of those sent decides."""


@dataclass(frozen=True, kw_only=True)
class MergeBody:
    """Two customers who are one person. Send either `anonymous` or `customer`."""

    one_of: ClassVar = AtLeastOne(("anonymous", "customer"), _NO_MERGED)
    rules: ClassVar = {
        "not": {
            "properties": {"anonymous": {"type": "object"}, "customer": {"type": "object"}},
            "required": ["anonymous", "customer"],
        }
    }

    anonymous: Annotated[
        MergeAnonymousPart | None, "The customer who is merged, if they have a userId alone: `customerId` or `userId`."
    ] = None
    customer: Annotated[
        MergeCustomerPart | None,
        "The customer who is merged, whatever identifiers they have: `customerId`, `external_id`, `email`, `phone` or "
        "`userId`.",
    ] = None
    into: Annotated[
        MergeIntoPart, "The customer who remains: `customerId`, `external_id`, `email`, `phone` or `userId`."
    ]

    def problems(self) -> Iterator[Problem]:
        if self.anonymous and self.customer:
            yield Problem("customer", "cannot be sent together with anonymous.")

    def pair(self, country: str) -> tuple[Reference, Reference]:
        """Who is merged, and into whom. Raises MissingParameter or InvalidRequest, which say in which part."""
        into = partial(self.into.reference, country)
        if self.customer:
            return _read("customer", partial(self.customer.reference, country)), _read("into", into)
        anonymous = self.anonymous or MergeAnonymousPart()
        return _read("anonymous", anonymous.reference, nobody=_NO_ANONYMOUS), _read("into", into)


def _read(part: str, reference: Callable[[], Reference], *, nobody: str | None = None) -> Reference:
    try:
        return reference()
    except MissingParameter as refusal:
        raise MissingParameter(nobody or f"{part}: {refusal.message}") from None
    except InvalidRequest as refusal:
        raise InvalidRequest(f"{part}.{refusal.message}") from None


@dataclass(frozen=True, kw_only=True)
class Identified:
    """The person is who the call says."""

    identified: Literal[True] = True
    added: Annotated[
        Sequence[str],
        "Those of the call's identifiers that the person with this userId has now and had not before. Others are "
        "not taken: somebody else has them, the person has another one, or a server knows the person and no token "
        "covers them.",
    ]


class _IdentifyView(KeyedView):
    def require_proof(self, request: Request) -> None:
        if self.app.identity == App.Identity.ENFORCE:
            call, user_id = read(IdentifyBody, request.data).said(Sender.of(self))
            proven_words(app=self.app, call=call, user_id=user_id)


@post(
    path="sdk/identify",
    scope=None,
    policy="bridge",
    tag="In-app messages",
    view=_IdentifyView,
    once=True,
    often=True,
    says="Customer identified.",
    answer="The person is the customer with these identifiers.",
    requests={"Logged in": {"userId": "anon-7f3a", "external_id": "ada", "email": "ada@example.com"}},
    examples={"Identified": Identified(added=["external_id", "email"])},
    refuses=[
        MissingParameter(_NOBODY),
        InvalidRequest("email must be an e-mail address."),
        never_merged("userId belongs to a customer who is not anonymous."),
        TOO_MANY_NEW,
        *OF_IDENTITY,
        CustomerErased(),
        TooLargeToMerge(),
        TooManyAtOnce(),
    ],
)
def identify(asked: AskedBySdk[IdentifyBody, None]) -> Identified:
    """Say who an anonymous person is

    The person with this anonymous `userId` has logged in. If nobody is known by the other identifiers, the customer
    with the `userId` gets them, or a new one has all of them. If somebody is known, an anonymous customer (one who has
    a claimed `userId` and no other identifier) is merged into them: events, interactions, segment memberships,
    attributes that they lack, jobs and enrollments. If both are active in a journey, theirs stays. From then on the
    `userId` leads to them. Of somebody who is known already, identifiers that they lack are added if no server knows
    them, or if a token covers these.

    Whoever is not anonymous is never merged, unless an identity token covers the `userId`. A call that is repeated
    changes nothing. An identity token has to cover the other identifiers, and the `userId` if the app denies anonymous
    people.
    """
    call, user_id = asked.body.said(Sender.of(asked))
    return Identified(added=identify_person(app=asked.app, call=call, user_id=user_id))


_MOVED = MovedNumbers(events=3, interactions=4, attributes=1, jobs=1, enrollments=1)
_MERGED = CustomersMerged(customer_id=ADA, merged=True, moved=_MOVED, aliases=["userId"])
_TWO_MERGED = CustomersMerged(
    customer_id=ADA,
    merged=True,
    moved=_MOVED,
    identifiers=["phone"],
    aliases=["external_id", "email"],
    lost=Lost(attributes=["plan"]),
)


@post(
    path="customers/{workspaceId}/merge",
    scope=Scope.CUSTOMERS_WRITE,
    policy="customers",
    tag="Customers",
    says="Customers merged.",
    answer="The two are one customer.",
    requests={
        "By user id and external id": {"anonymous": {"userId": "anon-7f3a"}, "into": {"external_id": "ada"}},
        "Two known people": {"customer": {"external_id": "ada-2"}, "into": {"external_id": "ada"}},
    },
    examples={
        "Merged": _MERGED,
        "Two known people": _TWO_MERGED,
        "Dry run": Answered(data=_TWO_MERGED, says=DRY_RUN_MESSAGE),
        "One already": Answered(data=CustomersMerged(customer_id=ADA, merged=False), says=_ONE_ALREADY),
    },
    refuses=[
        MissingParameter(_NO_MERGED),
        InvalidRequest("into.email must be an e-mail address."),
        BAD_DRY_RUN,
        CustomerNotFound(named="into.external_id", advice="Create them with putCustomer."),
        never_merged("userId belongs to a customer who has other identifiers."),
        CustomerErased(),
        LargeWorkInProgress(),
        TooManyAtOnce(),
    ],
)
def merge_customers(asked: Asked[MergeBody, DryRun]) -> Answered[CustomersMerged]:
    """Merge a customer into a known one

    Merges the anonymous customer (one who has a `userId` and no other identifier) into the other one, as `identify`
    does for a page, and tells how much was moved. From then on the anonymous `userId` and `customerId` lead to the
    other one, and job ids stay as they are. The other customer must exist. A call that is repeated changes nothing.

    With `customer` in place of `anonymous`, two known people become one; a key with scopes also needs
    `customers:merge`. Identifiers that the other one lacks become theirs. The rest lead to them as aliases, and a PUT
    that names nothing else reaches them. Of attributes that both have, those of the customer who remains stay.
    This cannot be undone: `dryRun=true` tells what would be moved and what would be lost, and changes nothing.
    """
    if asked.body.customer:
        require_scope(asked.key.scopes, Scope.CUSTOMERS_MERGE)
    anonymous, into = asked.body.pair(asked.country)
    merged = merge(
        workspace_id=asked.workspace_id,
        anonymous=anonymous,
        into=into,
        are_known=asked.body.customer is not None,
        dry_run=asked.query.dry_run,
    )
    if asked.query.dry_run:
        return Answered(data=merged, says=DRY_RUN_MESSAGE)
    return Answered(data=merged, says=None if merged.merged else _ONE_ALREADY)

"""The calls about who somebody is: `identify` for pages, and the merge for servers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from rest_framework.request import Request

from bridge.api.senders import OF_IDENTITY, IdempotencyKey, IdentityToken, KeyedView, Sender
from bridge.caps import TOO_MANY_NEW
from bridge.people.identifying import identify as identify_person
from bridge.people.identifying import proven_words
from bridge.people.merging import CustomersMerged, MovedNumbers, TooLargeToMerge
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
from engage.database.statement_limit import LargeWorkInProgress
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import Text
from engage.json.reading import AtLeastOne, read
from engage.models import App
from engage.schema.bodies import NOT_BLANK, at_least_one_of
from engage.scopes import Scope

_NOBODY = "At least one of external_id, email, phone must be present."
_NO_ANONYMOUS = "anonymous needs a customerId or a userId."
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
class MergeBody:
    """Two customers who are one person."""

    anonymous: Annotated[MergeAnonymousPart, "The customer who is merged: `customerId` or `userId`."]
    into: Annotated[
        MergeIntoPart, "The customer who remains: `customerId`, `external_id`, `email`, `phone` or `userId`."
    ]

    def pair(self) -> tuple[Reference, Reference]:
        """Who is merged, and into whom. Raises MissingParameter or InvalidRequest, which say in which part."""
        anonymous = _read("anonymous", self.anonymous.reference, nobody=_NO_ANONYMOUS)
        return anonymous, _read("into", self.into.reference)


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


@post(
    path="customers/{workspaceId}/merge",
    scope=Scope.CUSTOMERS_WRITE,
    policy="customers",
    tag="Customers",
    says="Customers merged.",
    answer="The two are one customer.",
    requests={"By user id and external id": {"anonymous": {"userId": "anon-7f3a"}, "into": {"external_id": "ada"}}},
    examples={
        "Merged": CustomersMerged(customer_id=ADA, merged=True, moved=_MOVED),
        "One already": Answered(data=CustomersMerged(customer_id=ADA, merged=False), says=_ONE_ALREADY),
    },
    refuses=[
        MissingParameter(_NO_ANONYMOUS),
        InvalidRequest("into.email must be an e-mail address."),
        CustomerNotFound(named="into.external_id", advice="Create them with putCustomer."),
        never_merged("userId belongs to a customer who has other identifiers."),
        CustomerErased(),
        LargeWorkInProgress(),
        TooManyAtOnce(),
    ],
)
def merge_customers(asked: Asked[MergeBody, None]) -> Answered[CustomersMerged]:
    """Merge an anonymous customer into a known one

    Merges the anonymous customer (one who has a `userId` and no other identifier) into the other one, as `identify`
    does for a page, and tells how much was moved. From then on the anonymous `userId` and `customerId` lead to the
    other one, and job ids stay as they are. The other customer must exist. Two customers who have other identifiers are
    never merged. A call that is repeated changes nothing.
    """
    anonymous, into = asked.body.pair()
    merged = merge(workspace_id=asked.workspace_id, anonymous=anonymous, into=into)
    return Answered(data=merged, says=None if merged.merged else _ONE_ALREADY)

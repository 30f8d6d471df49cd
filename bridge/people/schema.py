"""The calls about who somebody is in the OpenAPI document."""

from bridge.people import answers
from bridge.people.answers import CustomersMerged, Identified, MovedNumbers
from bridge.people.merging import TooLargeToMerge
from bridge.people.serializers import NO_ANONYMOUS, NOBODY, IdentifyBody, MergeAnonymousPart, MergeBody, MergeIntoPart
from bridge.schema import IDENTIFIERS, OF_IDENTITY, TOO_MANY_NEW
from customers.api.path_ids import ADA
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import IDENTIFIER_NAMES, CustomerNotFound
from customers.identity.merging import never_merged
from customers.tombstones import CustomerErased
from engage.database.statement_limit import LargeWorkInProgress
from engage.errors import InvalidRequest, MissingParameter
from engage.http.views import WorkspaceNotFound
from engage.schema.bodies import EMAIL, NOT_BLANK, Body, at_least_one_of
from engage.schema.calls import WORKSPACE_ID, SdkCall, ServerCall
from engage.schema.responses import Answer

describe_identify = SdkCall(
    operation_id="identify",
    tag="In-app messages",
    summary="Say who an anonymous person is",
    description="""
The person with this anonymous `userId` has logged in. If nobody is known by the other identifiers, the customer with
the `userId` gets them, or a new one has all of them. If somebody is known, an anonymous customer (one who has a
claimed `userId` and no other identifier) is merged into them: events, interactions, segment memberships, attributes
that they lack, jobs and enrollments. If both are active in a journey, theirs stays. From then on the `userId` leads to
them. Of somebody who is known already, identifiers that they lack are added if no server knows them, or if a token
covers these.

Whoever is not anonymous is never merged, unless an identity token covers the `userId`. A call that is repeated changes
nothing. An identity token has to cover the other identifiers, and the `userId` if the app denies anonymous people.
""",
    body=Body(
        IdentifyBody,
        properties={**IDENTIFIERS, "idempotencyKey": {"pattern": "^[!-~]+$"}},
        rules=at_least_one_of(*IdentifyBody.one_of, serializer=IdentifyBody, value=NOT_BLANK),
    ),
    requests={"Logged in": {"userId": "anon-7f3a", "external_id": "ada", "email": "ada@example.com"}},
    answers=Answer(
        data=Identified,
        description="The person is the customer with these identifiers.",
        examples={
            "Identified": (answers.IDENTIFIED_MESSAGE, Identified(identified=True, added=["external_id", "email"]))
        },
    ),
    refusals=[
        MissingParameter(NOBODY),
        InvalidRequest("email must be an e-mail address."),
        never_merged("userId belongs to a customer who is not anonymous."),
        TOO_MANY_NEW,
        *OF_IDENTITY,
        CustomerErased(),
        TooLargeToMerge(),
        TooManyAtOnce(),
    ],
)

_MOVED = MovedNumbers(
    events=3, interactions=4, attributes=1, segments=0, jobs=1, jobsCancelled=0, enrollments=1, enrollmentsExited=0
)

describe_merge = ServerCall(
    operation_id="mergeCustomers",
    tag="Customers",
    summary="Merge an anonymous customer into a known one",
    description="""
Merges the anonymous customer (one who has a `userId` and no other identifier) into the other one, as `identify` does
for a page, and tells how much was moved. From then on the anonymous `userId` and `customerId` lead to the other one,
and job ids stay as they are. The other customer must exist. Two customers who have other identifiers are never merged.
A call that is repeated changes nothing.
""",
    parameters=[WORKSPACE_ID],
    body=Body(
        MergeBody,
        parts=(
            Body(
                MergeAnonymousPart,
                rules=at_least_one_of("customerId", "userId", serializer=MergeAnonymousPart, value=NOT_BLANK),
            ),
            Body(
                MergeIntoPart,
                properties={"email": EMAIL},
                rules=at_least_one_of(*IDENTIFIER_NAMES.values(), serializer=MergeIntoPart, value=NOT_BLANK),
            ),
        ),
    ),
    requests={"By user id and external id": {"anonymous": {"userId": "anon-7f3a"}, "into": {"external_id": "ada"}}},
    answers=Answer(
        data=CustomersMerged,
        description="The two are one customer.",
        examples={
            "Merged": (answers.MERGED_MESSAGE, CustomersMerged(customerId=ADA, merged=True, moved=_MOVED)),
            "One already": (
                answers.ONE_ALREADY_MESSAGE,
                CustomersMerged(customerId=ADA, merged=False, moved=answers.NOTHING_MOVED),
            ),
        },
    ),
    refusals=[
        MissingParameter(NO_ANONYMOUS),
        InvalidRequest("into.email must be an e-mail address."),
        WorkspaceNotFound(),
        CustomerNotFound(named="into.external_id", advice="Create them with putCustomer."),
        never_merged("userId belongs to a customer who has other identifiers."),
        CustomerErased(),
        LargeWorkInProgress(),
        TooManyAtOnce(),
    ],
)

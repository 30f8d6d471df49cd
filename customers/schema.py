"""The calls about customers and segment members in the OpenAPI document."""

from drf_spectacular.utils import OpenApiParameter

from customers import answers, examples
from customers.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, CustomerNotFound
from customers.membership import SegmentNotFound
from customers.serializers import NO_IDENTIFIER, NO_MEMBERS, BatchBody, CustomerBody, IdentifiersBody, MembersBody
from customers.upsert import TooManyAtOnce
from engage.errors import InvalidRequest, MissingParameter
from engage.fields import ArraySizeExceeded
from engage.schema.bodies import NOT_BLANK, Body, at_least_one_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer
from engage.views import WorkspaceNotFound

_TAG = "Customers"
_CUSTOMER_ID = path_id("customer_id", "The customer's id in this service.")
_NAMES = tuple(IDENTIFIER_NAMES.values())
_NOT_FOUND = CustomerNotFound(named="customerId")

describe_upsert = ServerCall(
    operation_id="putCustomer",
    tag=_TAG,
    summary="Create or update a customer",
    description="""
The customer is looked up by all the identifiers sent; where nobody has any of them, a customer is created. Identifiers
that the customer does not have yet are added.

Identifiers of two customers are refused, and so is changing an identifier through one that is trusted less. The order
of trust is `customerId`, `external_id`, `email`, `phone`, `userId`.
""",
    parameters=[WORKSPACE_ID],
    body=Body(
        CustomerBody,
        properties={"email": {"format": "email"}},
        rules=at_least_one_of(*_NAMES, serializer=CustomerBody, value=NOT_BLANK),
    ),
    requests=examples.UPSERTS,
    answers=[
        Answer(
            data=answers.CustomerRecord,
            description="The customer was known and is as the call says.",
            examples={"Updated": (answers.UPDATED_MESSAGE, examples.RECORD)},
        ),
        Answer(
            status=201,
            data=answers.CustomerRecord,
            description="The customer is new.",
            examples={"Created": (answers.CREATED_MESSAGE, examples.RECORD)},
        ),
    ],
    refusals=[
        MissingParameter(NOBODY_NAMED),
        WorkspaceNotFound(),
        _NOT_FOUND,
        examples.CONFLICT,
        TooManyAtOnce(),
    ],
)

describe_find = ServerCall(
    operation_id="findCustomer",
    tag=_TAG,
    summary="Find a customer by an identifier",
    description="Send exactly one of the parameters.",
    parameters=[
        WORKSPACE_ID,
        *(
            OpenApiParameter(name, str, description=str(field.help_text))
            for name, field in IdentifiersBody().fields.items()
        ),
        *(
            OpenApiParameter(alias, str, description=f"The same as `{name}`.")
            for alias, name in IdentifiersBody.aliases.items()
        ),
    ],
    answers=[
        Answer(
            data=answers.CustomerRecord,
            description="The customer who has this identifier.",
            examples={"Found": (answers.FOUND_MESSAGE, examples.RECORD)},
        )
    ],
    refusals=[
        MissingParameter(NO_IDENTIFIER),
        InvalidRequest("Send exactly one identifier; external_id, email came."),
        WorkspaceNotFound(),
        CustomerNotFound(named="external_id"),
    ],
)

describe_batch = ServerCall(
    operation_id="putCustomers",
    tag=_TAG,
    summary="Create or update many customers",
    description="The same for up to 1,000 customers. An item that is refused fails alone.",
    parameters=[WORKSPACE_ID],
    body=Body(
        BatchBody,
        properties={
            "customers": {
                "items": {
                    "anyOf": [
                        {"$ref": "#/components/schemas/CustomerBody"},
                        {"description": "Whatever else comes fails alone."},
                    ]
                }
            }
        },
    ),
    requests=examples.BATCHES,
    answers=[
        Answer(
            data=answers.BatchData,
            description="Every item has its result, also where all of them failed.",
            examples={"One created, one refused": ("1 created, 0 updated, 1 failed.", examples.BATCH)},
        )
    ],
    refusals=[
        MissingParameter("customers is required."),
        ArraySizeExceeded("customers holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        TooManyAtOnce(),
    ],
)

describe_read = ServerCall(
    operation_id="getCustomer",
    tag=_TAG,
    summary="Read a customer",
    description="Reads one customer by the id that this service gave.",
    parameters=[WORKSPACE_ID, _CUSTOMER_ID],
    answers=[
        Answer(
            data=answers.CustomerRecord,
            description="The customer.",
            examples={"Found": (answers.FOUND_MESSAGE, examples.RECORD)},
        )
    ],
    refusals=[WorkspaceNotFound(), _NOT_FOUND],
)

describe_erase = ServerCall(
    operation_id="eraseCustomer",
    tag=_TAG,
    summary="Erase a customer",
    description="Erases the person and all that hangs on them: segments, events, messages, enrollments.",
    parameters=[WORKSPACE_ID, _CUSTOMER_ID],
    answers=[
        Answer(
            data=answers.ErasedData,
            description="The customer is gone.",
            examples={"Erased": (answers.ERASED_MESSAGE, examples.ERASED)},
        )
    ],
    refusals=[WorkspaceNotFound(), _NOT_FOUND],
)

describe_members = ServerCall(
    operation_id="changeSegmentMembers",
    tag=_TAG,
    summary="Put customers into a segment, take them out",
    description="External ids that nobody has are skipped and listed in the answer. One that stands in both lists is "
    "refused, and nothing is changed.",
    parameters=[WORKSPACE_ID, path_id("segment_id", "The segment's id.")],
    body=Body(MembersBody, rules=at_least_one_of("add", "remove", serializer=MembersBody, value={"type": "array"})),
    requests=examples.MEMBERS,
    answers=[
        Answer(
            data=answers.MembersData,
            description="The segment is as the call says.",
            examples={"One in, one out": ("1 added, 1 removed.", examples.CHANGED_MEMBERS)},
        )
    ],
    refusals=[
        MissingParameter(NO_MEMBERS),
        InvalidRequest("'ada' stands in both add and remove."),
        ArraySizeExceeded("add holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        SegmentNotFound(),
    ],
)

"""The calls about customers and segment members in the OpenAPI document."""

from functools import partial

from drf_spectacular.utils import OpenApiParameter

from customers import answers, examples
from customers.audience.membership import SegmentNotFound
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import IDENTIFIER_NAMES, NOBODY_NAMED, CustomerNotFound
from customers.serializers import (
    NO_IDENTIFIER,
    NO_MEMBERS,
    ON_CONFLICT,
    BatchBody,
    CustomerBody,
    IdentifiersBody,
    MembersBody,
)
from engage.database.statement_limit import LargeWorkInProgress
from engage.errors import InvalidRequest, MissingParameter
from engage.http.views import AllJourneysNeeded, WorkspaceNotFound
from engage.json.keywords import STRICT
from engage.json.reading import ArraySizeExceeded
from engage.schema.bodies import EMAIL, NOT_BLANK, Body, also_called, at_least_one_of, body_reference, choice_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer

_call = partial(ServerCall, tag="Customers")
_CUSTOMER_ID = path_id("customer_id", "The customer's id in this service.")
_NAMES = tuple(IDENTIFIER_NAMES.values())
_NOT_FOUND = CustomerNotFound(named="customerId")

describe_upsert = _call(
    operation_id="putCustomer",
    summary="Create or update a customer",
    description="""
Send at least one identifier. The customer is looked up by all of them. If no customer has any of them, one is created.
Identifiers that the customer does not have yet are added.

The call is refused if the identifiers belong to different customers, or if it would change an identifier of a customer
who was matched only by less trusted ones. The order of trust is `customerId`, `external_id`, `email`, `phone`,
`userId`. With `"onConflict": "skip_identifier"` the identifiers that are somebody else's are left out instead, the
least trusted first, and `skippedIdentifiers` names them.
""",
    parameters=[WORKSPACE_ID],
    body=Body(
        CustomerBody,
        properties={"email": EMAIL, "onConflict": choice_of(ON_CONFLICT)},
        rules=at_least_one_of(*_NAMES, serializer=CustomerBody, value=NOT_BLANK),
    ),
    requests=examples.UPSERTS,
    answers=[
        Answer(
            data=answers.CustomerPut,
            description="The customer already existed and now matches the call.",
            examples={"Updated": (answers.UPDATED_MESSAGE, examples.RECORD)},
        ),
        Answer(
            status=201,
            data=answers.CustomerPut,
            description="The customer was created.",
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

describe_find = _call(
    operation_id="findCustomer",
    summary="Find a customer by an identifier",
    description="Returns the customer with this identifier. Send exactly one of the query parameters.",
    parameters=[
        WORKSPACE_ID,
        *(
            OpenApiParameter(name, str, description=f"{field.help_text}{also_called(name, IdentifiersBody)}")
            for name, field in IdentifiersBody().fields.items()
        ),
    ],
    answers=Answer(
        data=answers.CustomerRecord,
        description="The customer with this identifier.",
        examples={"Found": (answers.FOUND_MESSAGE, examples.RECORD)},
    ),
    refusals=[
        MissingParameter(NO_IDENTIFIER),
        InvalidRequest("Send exactly one identifier; external_id, email came."),
        WorkspaceNotFound(),
        CustomerNotFound(named="external_id"),
    ],
)

describe_batch = _call(
    operation_id="putCustomers",
    summary="Create or update many customers",
    description="Creates or updates up to 1,000 customers. If an item is refused, the others are still applied. "
    "Each result repeats the item's place and `external_id`, and names its unknown fields.",
    parameters=[WORKSPACE_ID],
    body=Body(
        BatchBody,
        properties={
            "customers": {
                "items": body_reference(CustomerBody),
                # Any other item is refused, without affecting the others.
                STRICT: {"items": {"anyOf": [body_reference(CustomerBody), {}]}},
            },
            "onConflict": choice_of(ON_CONFLICT),
        },
    ),
    requests=examples.BATCHES,
    answers=Answer(
        data=answers.BatchResult,
        description="Returns one result per item, even if all of them failed.",
        examples={"One created, one refused": ("1 created, 0 updated, 1 failed.", examples.BATCH)},
    ),
    refusals=[
        MissingParameter("customers is required."),
        ArraySizeExceeded("customers holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        TooManyAtOnce(),
    ],
)

describe_read = _call(
    operation_id="getCustomer",
    summary="Get a customer",
    description="Returns a customer by their id in this service.",
    parameters=[WORKSPACE_ID, _CUSTOMER_ID],
    answers=Answer(
        data=answers.CustomerRecord,
        description="The customer.",
        examples={"Found": (answers.FOUND_MESSAGE, examples.RECORD)},
    ),
    refusals=[WorkspaceNotFound(), _NOT_FOUND],
)

describe_erase = _call(
    operation_id="eraseCustomer",
    summary="Erase a customer",
    description="Erases the customer and their segment memberships, events, message interactions and enrollments, and "
    "the payloads of the triggers that named nobody else who is left. The payload of a call for more than 1,000 "
    "customers is kept until it is pruned. The answer has a receipt, which is an entry of the audit.",
    parameters=[WORKSPACE_ID, _CUSTOMER_ID],
    answers=Answer(
        data=answers.CustomerErased,
        description="The customer was erased.",
        examples={"Erased": (answers.ERASED_MESSAGE, examples.ERASED)},
    ),
    refusals=[WorkspaceNotFound(), _NOT_FOUND, LargeWorkInProgress()],
)

describe_export = _call(
    operation_id="exportCustomer",
    summary="Export all that is stored of a customer",
    description="Returns every record about the customer, from all parts of the service, as of one moment. Credentials "
    "of webhooks' receivers are left out, and what is not about one customer alone: payloads of calls for many, and "
    "segments whose conditions the customer meets. A key that is for certain journeys only may not export. That "
    "somebody exported it is noted in the audit.",
    parameters=[WORKSPACE_ID, _CUSTOMER_ID],
    answers=Answer(
        data=answers.CustomerExport,
        description="All that is stored of the customer.",
        examples={"Exported": (answers.EXPORTED_MESSAGE, examples.EXPORT)},
    ),
    refusals=[WorkspaceNotFound(), _NOT_FOUND, AllJourneysNeeded(), LargeWorkInProgress()],
)

describe_members = _call(
    operation_id="changeSegmentMembers",
    summary="Add or remove segment members",
    description="Adds customers to a segment and removes others: send `add`, `remove` or both. External ids that no "
    "customer has are skipped and listed in the answer. If an id is in both lists, the call is refused and nothing is "
    "changed.",
    parameters=[WORKSPACE_ID, path_id("segment_id", "The segment's id.")],
    body=Body(MembersBody, rules=at_least_one_of("add", "remove", serializer=MembersBody, value={"type": "array"})),
    requests=examples.MEMBERS,
    answers=Answer(
        data=answers.MembersChanged,
        description="The members were added and removed.",
        examples={"One in, one out": ("1 added, 1 removed.", examples.CHANGED_MEMBERS)},
    ),
    refusals=[
        MissingParameter(NO_MEMBERS),
        InvalidRequest("'ada' stands in both add and remove."),
        ArraySizeExceeded("add holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        SegmentNotFound(),
        TooManyAtOnce(),
    ],
)

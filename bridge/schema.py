"""The two calls of the bridge in the OpenAPI document."""

from functools import partial

from bridge import answers
from bridge.answers import EventTrackedData, LinkOpenedData, MessageClosedData, ProfileUpdatedData
from bridge.caps import CustomersCreatedLimitExceeded
from bridge.identity.problems import (
    IdentityTokenExpired,
    IdentityTokenInvalid,
    IdentityTokenMismatch,
    IdentityTokenMissing,
)
from bridge.interactions.actions import ACTION_TYPES, InvalidActionType
from bridge.interactions.capture import InvalidSubmitAction
from bridge.messages.problems import MessageNotRegistered, NotInMessage, Problem, Reason
from bridge.models import Interaction
from bridge.requests import SubmitType
from bridge.serializers import MAX_CALLS, NO_IDENTIFIER, ActionBody, CallsBody, CaptureBody, SubmitActionPart
from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from customers.event_times import IN_THE_FUTURE
from customers.identifier_rules import LONGEST
from customers.tombstones import CustomerErased
from engage.errors import InvalidRequest, MissingParameter
from engage.json.keywords import STRICT
from engage.json.reading import ArraySizeExceeded
from engage.schema.bodies import EMAIL, NOT_BLANK, Body, at_least_one_of, choice_of, or_blank
from engage.schema.calls import SdkCall
from engage.schema.responses import Answer
from engage.schema.shapes import Schema

_call = partial(SdkCall, tag="In-app messages")
_EVENT, _MESSAGE = "6a0b1c2de4b0a1d2c3e4f506", "spring-sale-banner"
_CUSTOMER = """
Send at least one identifier. The customer is looked up by `userId`, `external_id`, `email` and `phone`, in this order.
The first identifier that matches a customer is used. If none matches, a customer is created with all of them. The
identifiers of an existing customer are not changed, and two customers are not merged: as long as an anonymous `userId`
is sent, it comes before the other identifiers. Once the person has logged in, call `identify`. To give a customer more
identifiers, use `putCustomer` on a server.
"""

_FIELDS: dict[str, Schema] = {
    "idempotencyKey": {"pattern": "^[!-~]+$"},
    "occurredAt": {"format": "date-time", STRICT: {"format": None, **or_blank(pattern=GRAMMAR_WITH_OFFSET)}},
}
IDENTIFIERS: dict[str, Schema] = {
    "userId": {"maxLength": LONGEST["user_id"]},
    "external_id": {"maxLength": LONGEST["external_id"]},
    "email": {"maxLength": LONGEST["email"], **EMAIL},
    "phone": {"maxLength": LONGEST["phone"]},
}


def _identified(serializer: type[ActionBody | CaptureBody]) -> Schema:
    return at_least_one_of(*IDENTIFIERS, serializer=serializer, value=NOT_BLANK)


def _needs(field: str, value: Schema) -> Schema:
    return {"type": "object", "required": [field], "properties": {field: value}}


def _if_action_is(kind: Interaction.Kind, *, data: Schema) -> Schema:
    return {
        "if": {**_needs("actionType", {"const": kind.value}), "not": _needs("actionId", NOT_BLANK)},
        "then": {"required": ["actionData"], "properties": {"actionData": data}},
    }


_ACTION_BODY = Body(
    ActionBody,
    properties={
        **IDENTIFIERS,
        **_FIELDS,
        "actionType": choice_of(ACTION_TYPES),
    },
    rules={
        **_identified(ActionBody),
        "allOf": [
            at_least_one_of("actionType", "actionId", serializer=ActionBody, value=NOT_BLANK),
            _if_action_is(Interaction.Kind.TRACK_EVENT, data=_needs("eventName", NOT_BLANK)),
            _if_action_is(Interaction.Kind.UPDATE_PROFILE, data=_needs("profileAttributes", {"type": "object"})),
        ],
    },
)
_CAPTURE_BODY = Body(
    CaptureBody,
    properties={**IDENTIFIERS, **_FIELDS},
    rules=_identified(CaptureBody),
    parts=(
        Body(
            SubmitActionPart,
            properties={
                "type": choice_of(SubmitType),
            },
            rules={
                "allOf": [
                    {
                        "if": _needs("type", {"enum": [str(SubmitType.TRACK_EVENT), str(SubmitType.BOTH)]}),
                        "then": _needs("eventName", NOT_BLANK),
                    },
                    {
                        "if": {
                            "anyOf": [
                                _needs("eventName", NOT_BLANK),
                                _needs("eventProperties", {"type": "object"}),
                                _needs("profileAttributes", {"type": "object"}),
                            ]
                        },
                        "then": _needs("type", NOT_BLANK),
                    },
                ]
            },
        ),
    ),
)
OF_IDENTITY = [
    IdentityTokenMissing(),
    IdentityTokenExpired(),
    IdentityTokenInvalid("its kid names none of the app's keys."),
    IdentityTokenMismatch("email"),
]
_OF_CHECKS = [
    *OF_IDENTITY,
    MessageNotRegistered(),
    NotInMessage(
        [Problem(reason=Reason.VALUE, field="actionData.eventProperties.discount", why="must be at most 10.")]
    ),
]
TOO_MANY_NEW = CustomersCreatedLimitExceeded(limit=60, window_seconds=60, seconds_left=18)

describe_action = _call(
    operation_id="recordAction",
    summary="Record a button click",
    description="Records a click on a button in a message, and carries out the button's action.\n" + _CUSTOMER,
    body=_ACTION_BODY,
    requests={
        "Close": {"messageId": _MESSAGE, "userId": "anon-7f3a", "actionType": "close"},
        "Track an event": {
            "messageId": _MESSAGE,
            "userId": "u-1",
            "actionType": "track_event",
            "actionData": {"eventName": "offer_accepted", "eventProperties": {"offer": "spring", "discount": 20}},
        },
        "Update the profile": {
            "messageId": _MESSAGE,
            "external_id": "ada",
            "actionType": "update_profile",
            "actionData": {"profileAttributes": {"newsletter": True}},
        },
        "Link": {"messageId": _MESSAGE, "userId": "u-1", "actionType": "link"},
        "As the message's definition says": {"messageId": _MESSAGE, "userId": "u-1", "actionId": "cta"},
    },
    answers=Answer(
        name="ActionAnswer",
        data=answers.ActionData,
        description="The action was carried out and recorded.",
        examples={
            "Close": (answers.CLOSED_MESSAGE, MessageClosedData(closed=True)),
            "Track an event": (answers.EVENT_MESSAGE, EventTrackedData(eventId=_EVENT)),
            "Update the profile": (
                answers.PROFILE_MESSAGE,
                ProfileUpdatedData(updated=True, attributes=["newsletter"]),
            ),
            "Link": (answers.LINK_MESSAGE, LinkOpenedData(opened=True)),
        },
    ),
    refusals=[
        MissingParameter("actionData.eventName is required."),
        InvalidActionType("actionType must be one of close, track_event, update_profile, link."),
        InvalidRequest(IN_THE_FUTURE),
        TOO_MANY_NEW,
        *_OF_CHECKS,
        CustomerErased(),
    ],
)

describe_capture = _call(
    operation_id="captureForm",
    summary="Record a submitted form",
    description="Records a form submitted in a message, and turns it into an event, profile attributes, or both.\n"
    "A field that is called like an identifier, such as `email`, becomes an attribute and nothing else.\n" + _CUSTOMER,
    body=_CAPTURE_BODY,
    requests={
        "Every field becomes an attribute": {
            "messageId": _MESSAGE,
            "userId": "u-1",
            "formData": {"city": "Ulm", "size": "M"},
        },
        "An event and an attribute": {
            "messageId": _MESSAGE,
            "email": "ada@example.com",
            "formData": {"city": "Ulm", "rating": "5"},
            "submitAction": {
                "type": "both",
                "eventName": "survey_answered",
                "eventProperties": {"stars": "rating"},
                "profileAttributes": {"home_town": "city"},
            },
        },
    },
    answers=Answer(
        data=answers.FormCapturedData,
        description="The form was processed and recorded.",
        examples={
            "Every field becomes an attribute": (
                answers.CAPTURED_MESSAGE,
                answers.FormCapturedData(attributesUpdated=["city", "size"]),
            ),
            "An event and an attribute": (
                answers.CAPTURED_MESSAGE,
                answers.FormCapturedData(eventId=_EVENT, attributesUpdated=["home_town"]),
            ),
        },
    ),
    refusals=[
        MissingParameter(NO_IDENTIFIER),
        InvalidSubmitAction("submitAction.type must be one of track_event, update_profile, both."),
        InvalidRequest(IN_THE_FUTURE),
        TOO_MANY_NEW,
        *_OF_CHECKS,
        CustomerErased(),
    ],
)

describe_batch = _call(
    operation_id="recordCalls",
    summary="Record many calls",
    description=f"""
Does up to {MAX_CALLS} calls that waited, in their order. Each item has `call`, which is `action` or `capture`, and the
fields of that call's body. Each is done, counted and answered as if it had come alone, and has its own
`idempotencyKey`, which is the same as that of the call alone. The answer is 200 whatever became of each call.

If a call is refused because of a limit (429), because the database is unavailable (503), or because the same call is in
progress (409, `request_in_progress`), those after it are not tried and have the same result, so that they stay in order
when they are sent again.
""",
    body=Body(
        CallsBody,
        properties={"calls": {"items": {"type": "object", "additionalProperties": True}, STRICT: {"items": {}}}},
    ),
    requests={
        "A click and a form": {
            "calls": [
                {
                    "call": "action",
                    "messageId": _MESSAGE,
                    "userId": "u-1",
                    "actionType": "link",
                    "idempotencyKey": "k-1",
                },
                {"call": "capture", "messageId": _MESSAGE, "userId": "u-1", "formData": {"": "Ulm"}},
            ]
        }
    },
    answers=Answer(
        name="CallsAnswer",
        data=answers.BatchDone,
        description="Returns one result per call, even if all of them failed.",
        examples={
            "One done, one refused": (
                "1 of 2 calls done.",
                answers.BatchDone(
                    results=[
                        answers.CallDone(
                            status=200,
                            success=True,
                            message=answers.LINK_MESSAGE,
                            data=LinkOpenedData(opened=True),
                        ),
                        answers.CallRefused(
                            status=400,
                            success=False,
                            error=InvalidRequest.error,
                            message="formData has a name with no characters.",
                            code=InvalidRequest.code,
                            requestId="5c1f0d7e9b2a4c3d",
                        ),
                    ]
                ),
            )
        },
    ),
    refusals=[
        MissingParameter("calls is required."),
        ArraySizeExceeded(f"calls holds 51 items; its maximum is {MAX_CALLS}."),
    ],
)

"""The calls about messages in the OpenAPI document."""

from functools import partial

from bridge.messages import answers, examples
from bridge.messages.authoring import MessageNotFound
from bridge.messages.definition import InvalidMessage
from bridge.messages.serializers import MESSAGES, MOST_MESSAGES, NOTHING, MessageBody
from bridge.models import Message
from engage.errors import MissingParameter
from engage.http.views import WorkspaceNotFound
from engage.json.reading import ArraySizeExceeded
from engage.schema.bodies import NOT_BLANK, Body, at_least_one_of, choice_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, bad_page, page_parameters, path_id
from engage.schema.responses import Answer

_call = partial(ServerCall, tag="Messages")
_KEY = path_id("key", "The message's key: the `messageId` in the page's calls.")

describe_list = _call(
    operation_id="listMessages",
    summary="List the messages",
    description=f"Lists the workspace's messages in the order of their keys, {MESSAGES} at a time, or up to "
    f"{MOST_MESSAGES} (`limit`).",
    parameters=[WORKSPACE_ID, *page_parameters(default=MESSAGES, at_most=MOST_MESSAGES)],
    answers=Answer(
        data=answers.MessagesPage,
        description="A page of messages.",
        examples={"One": (answers.LISTED_MESSAGE, examples.PAGE)},
    ),
    refusals=[*bad_page(at_most=MOST_MESSAGES), WorkspaceNotFound()],
)
describe_put = _call(
    operation_id="putMessage",
    summary="Create or change a message",
    description="""
Says what the buttons and forms of a message may write. Apps whose message policy is `report` count what else their
pages ask for, and those with `enforce` refuse it.

A rule is an object with a `type` (`string`, `number`, `boolean` or `date`), and optionally `required`, `max` (of a
number, or of a string's length), `values` (one of these), `pattern` (of the whole string, in RE2's syntax) and `many`
(a list, each of whose items follows the rule). Send at least one of the fields; what is absent stays as it is.
""",
    parameters=[WORKSPACE_ID, _KEY],
    body=Body(
        MessageBody,
        properties={
            "status": choice_of(Message.Status.values),
            "actions": {"items": {"type": "object", "additionalProperties": True}},
            "forms": {"items": {"type": "object", "additionalProperties": True}},
        },
        rules={
            "anyOf": [
                *at_least_one_of("status", serializer=MessageBody, value=NOT_BLANK)["anyOf"],
                *at_least_one_of("actions", "forms", serializer=MessageBody, value={"type": "array"})["anyOf"],
            ]
        },
    ),
    requests=examples.BODIES,
    answers=[
        Answer(
            data=answers.MessageRecord,
            description="The message already existed, and is now as the call says.",
            examples={"Updated": (answers.UPDATED_MESSAGE, examples.RECORD)},
        ),
        Answer(
            status=201,
            data=answers.MessageRecord,
            description="The message was created.",
            examples={"Created": (answers.CREATED_MESSAGE, examples.RECORD)},
        ),
    ],
    refusals=[
        MissingParameter(NOTHING),
        InvalidMessage("actions[0].properties.n.max must be a number, but a string came."),
        ArraySizeExceeded("actions holds 51 items; its maximum is 50."),
        WorkspaceNotFound(),
    ],
)
describe_read = _call(
    operation_id="getMessage",
    summary="Read a message",
    description="Returns the message with its definition.",
    parameters=[WORKSPACE_ID, _KEY],
    answers=Answer(
        data=answers.MessageRecord,
        description="The message.",
        examples={"Found": (answers.FOUND_MESSAGE, examples.RECORD)},
    ),
    refusals=[WorkspaceNotFound(), MessageNotFound()],
)
describe_delete = _call(
    operation_id="deleteMessage",
    summary="Delete a message",
    description="Deletes the message's definition. What was recorded of it stays.",
    parameters=[WORKSPACE_ID, _KEY],
    answers=Answer(
        data=answers.MessageDeleted,
        description="The message was deleted.",
        examples={"Deleted": (answers.DELETED_MESSAGE, examples.DELETED)},
    ),
    refusals=[WorkspaceNotFound(), MessageNotFound()],
)

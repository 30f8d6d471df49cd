"""The call of a key about itself in the OpenAPI document."""

from engage.api.me import answers, examples
from engage.schema.calls import ServerCall
from engage.schema.responses import Answer

describe_me = ServerCall(
    operation_id="getMe",
    tag="Access",
    summary="Ask what the API key may do",
    description="Returns the key's workspace, scopes, journeys, networks and limits.",
    answers=Answer(
        data=answers.Me,
        description="The key.",
        examples={"A key for one journey": (answers.ME_MESSAGE, examples.ME)},
    ),
)

"""The call of a key about itself in the OpenAPI document."""

from engage.api.me import answers
from engage.api.me.answers import Me
from engage.schema.calls import ServerCall
from engage.schema.responses import Answer

_ME = Me(
    keyId="6b00b1b1aa4223798a14fee1",
    name="shop",
    prefix="engage_0aB1c2",
    workspace={"workspaceId": "6b00b1b1aa4223798a14fee0", "key": "acme", "name": "Acme"},
    scopes=["trigger", "events"],
    journeys=["6b00b1b1aa4223798a14fee8"],
    networks=["203.0.113.0/24"],
    expiresAt=None,
    limits={
        "trigger": {"calls": 100, "seconds": 60},
        "customers": {"calls": 1000, "seconds": 60},
        "events": {"calls": 1000, "seconds": 60},
        "lookup": {"calls": 1000, "seconds": 60},
    },
)

describe_me = ServerCall(
    operation_id="getMe",
    tag="Access",
    summary="Ask what the API key may do",
    description="Returns the key's workspace, scopes, journeys, networks and limits.",
    answers=Answer(
        data=answers.Me,
        description="The key.",
        examples={"A key for one journey": (answers.ME_MESSAGE, _ME)},
    ),
)

"""Example requests and answers about messages, for the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from bridge.messages.answers import MessageDeleted, MessageRecord, MessagesPage

_ACTIONS: list[Mapping[str, Any]] = [
    {
        "id": "cta",
        "type": "track_event",
        "eventName": "clicked",
        "properties": {"n": {"type": "number", "max": 10}},
    },
    {
        "id": "opt",
        "type": "update_profile",
        "attributes": {"plan": {"type": "string", "values": ["free", "pro"]}},
    },
]
_FORMS: list[Mapping[str, Any]] = [
    {
        "id": "nps",
        "fields": {"score": {"type": "number", "required": True, "max": 10}},
        "submitAction": {
            "type": "both",
            "eventName": "answered",
            "eventProperties": {"score": "score"},
            "profileAttributes": {"lastScore": "score"},
        },
    }
]
BODIES = {
    "Two buttons and a form": {"status": "active", "actions": _ACTIONS, "forms": _FORMS},
    "Take it off": {"status": "archived"},
}
RECORD = MessageRecord(
    key="spring-sale",
    status="active",
    revision=1,
    actions=_ACTIONS,
    forms=_FORMS,
    createdAt="2026-11-20T19:08:00.000Z",
    updatedAt="2026-11-20T19:08:00.000Z",
)
PAGE = MessagesPage(messages=[RECORD], nextCursor=None)
DELETED = MessageDeleted(key="spring-sale", deleted=True)

"""A message, as the tests know it."""

from typing import Any

KEY = "sale"
ACTIONS: list[dict[str, Any]] = [
    {
        "id": "cta",
        "type": "track_event",
        "eventName": "clicked",
        "properties": {"n": {"type": "number", "max": 10}, "kind": {"type": "string", "values": ["banner"]}},
    },
    {"id": "opt", "type": "update_profile", "attributes": {"plan": {"type": "string", "values": ["free", "pro"]}}},
    {"id": "in", "type": "update_profile", "attributes": {"newsletter": {"type": "boolean", "values": [True]}}},
    {"id": "x", "type": "close"},
]
FORMS: list[dict[str, Any]] = [
    {
        "id": "nps",
        "fields": {
            "score": {"type": "number", "required": True, "max": 10},
            "why": {"type": "string", "max": 20},
            "topics": {"type": "string", "values": ["price", "speed"], "many": True},
        },
        "submitAction": {
            "type": "both",
            "eventName": "answered",
            "eventProperties": {"score": "score", "why": "why", "from": "nps"},
            "profileAttributes": {"lastScore": "score"},
        },
    },
    {
        "id": "address",
        "fields": {
            "zip": {"type": "string", "pattern": "[0-9]{5}"},
            "since": {"type": "date"},
            "home": {"type": "boolean"},
        },
    },
]
NPS_ACTION: dict[str, Any] = FORMS[0]["submitAction"]

"""The demo's journey that uses every type of step; its webhooks go to the receiver that `make run` starts."""

from typing import Any, Final

TOUR: Final = "tour"
LISTENING: Final = "listen"  # its step that waits for a click
MAILER: Final = "mailer"  # the connection by which it sends


def tour_connection(*, receiver: str) -> dict[str, Any]:
    """The connection's definition: it leads to this base URL, as a provider's would to the provider."""
    return {
        "url": receiver + "/mail", "headers": {"X-Mailer-Token": "of-the-demo"}, "html": ["html"],
        "body": {"to": "{{ inputs.to }}", "subject": "{{ inputs.subject }}", "html": {"$value": "inputs.html"}},
        "inputs": {
            "type": "object", "required": ["to", "subject"],
            "properties": {name: {"type": "string"} for name in ("to", "subject", "html")},
        },
    }  # fmt: skip


def tour_steps(*, receiver: str) -> list[dict[str, Any]]:
    """The steps, with webhooks to this base URL (`http://127.0.0.1:8001`)."""
    return [
        {
            "id": "note-coupon", "type": "update_profile",
            "attributes": {"coupon": "{{ api.payload.coupon | default: 'none' }}", "touredAt": "{{ now }}"},
        },
        {
            "id": "tell", "type": "track_event", "eventName": "tour_begun",
            "eventProperties": {"coupon": "{{ customer.coupon }}"},
        },
        {
            "id": "which-plan", "type": "branch",
            "cases": [{"if": {"field": "customer.plan", "op": "in", "value": ["pro", "team"]}, "next": "say-hello"}],
            "else": "not-for-free",
        },
        {
            "id": "say-hello", "type": "webhook", "url": receiver + "/hello?who={{ customer.external_id }}",
            "body": {
                "text": "Hello {{ customer.firstName }}, your coupon is {{ customer.coupon }}.",
                "to": "{{ customer.email }}", "enrollment": "{{ enrollment.id }}",
                "seats": {"$value": "customer.seats", "default": 1},
            },
            "keep": {},
        },
        {
            "id": "mail", "type": "send", "connection": MAILER,
            "inputs": {
                "to": "{{ customer.email }}", "subject": "Your coupon",
                "html": "<p>{{ customer.firstName }}, it is {{ customer.coupon }}.</p>",
            },
        },
        {
            "id": "settle", "type": "wait_until", "timeout": "PT5S",
            "if": {"field": "customer.touredAt", "op": "before", "value": {"now": "-PT1S"}},
        },
        {"id": "breathe", "type": "delay", "for": "PT2S"},
        {
            "id": "halves", "type": "split",
            "paths": [{"weight": 1, "next": "ask"}, {"weight": 1, "next": LISTENING}],
        },
        {
            "id": "ask", "type": "webhook", "url": receiver + "/question",
            "form": {"text": "Did you like it, {{ customer.firstName }}? Then click."}, "giveUpAfter": "PT10M",
        },
        {
            "id": LISTENING, "type": "wait_for_event", "event": "clicked", "timeout": "PT15S",
            "onEvent": "thank", "onTimeout": "leave",
        },
        {
            "id": "thank", "type": "webhook", "url": receiver + "/thanks", "next": None,
            "body": {"text": "Thank you, {{ customer.firstName }}.", "heard": "{{ event.name }}",
                     "greeted": {"$value": "steps.say-hello.status"}},
        },
        {"id": "leave", "type": "exit", "reason": "There was no click within 15 seconds."},
        {"id": "not-for-free", "type": "exit", "reason": "The tour is for the plans pro and team."},
    ]  # fmt: skip

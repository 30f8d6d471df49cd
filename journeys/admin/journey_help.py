"""What staff need to know to write the steps and exits of a journey, shown next to the form."""

from dataclasses import dataclass
from typing import Any

from customers.admin.condition_help import CONDITION_HELP
from engage.admin.columns import json_line


@dataclass(frozen=True)
class StepHelp:
    """What a type of step does, with examples that use all the fields it may have."""

    type: str
    does: str
    examples: tuple[dict[str, Any], ...]

    @property
    def written(self) -> list[str]:
        return [json_line({"id": example["id"], "type": self.type, **example}) for example in self.examples]


# Together, the examples form a journey.
STEPS = (
    StepHelp(
        "webhook",
        "Sends a signed request. Only url is needed; method is POST, and onFailure continue, where they are left out.",
        (
            {
                "id": "hello",
                "url": "https://mail.example/send",
                "method": "POST",
                "headers": {"X-Shop": "acme"},
                "body": {"to": "{{ customer.email }}"},
                "onFailure": "exit",
            },
        ),
    ),
    StepHelp(
        "delay",
        "Waits so long, until the next such time of day, or until a moment. What is past does not wait.",
        (
            {"id": "day", "for": "P1DT2H"},
            {"id": "morning", "until": "09:00", "timezone": "Europe/Berlin"},
            {"id": "departure", "at": "{{ api.payload.departsAt }}"},
        ),
    ),
    StepHelp(
        "wait_for_event",
        "Waits for an event of the customer. Only event and timeout are needed; where is a condition over the event. "
        "fromBridge false: events from in-app messages, which anybody can send, do not count.",
        (
            {
                "id": "listen",
                "event": "bought",
                "where": {"field": "event.properties.price", "op": "gt", "value": 10},
                "fromBridge": False,
                "timeout": "P3D",
                "onEvent": "thank",
                "onTimeout": "halves",
            },
        ),
    ),
    StepHelp(
        "branch",
        "Goes the way of the first case that holds; without else, on to the next step where none does.",
        (
            {
                "id": "plan",
                "cases": [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": "leave"}],
                "else": "halves",
            },
        ),
    ),
    StepHelp(
        "split",
        "Goes one of the ways by chance, as often as its weight says; the same customer always the same way.",
        ({"id": "halves", "paths": [{"weight": 90, "next": "note"}, {"weight": 10, "next": "leave"}]},),
    ),
    StepHelp(
        "update_profile",
        "Writes attributes of the customer; null deletes one.",
        ({"id": "note", "attributes": {"coupon": "{{ api.payload.coupon }}", "trialEndsAt": None}},),
    ),
    StepHelp(
        "track_event",
        "Records an event of the customer, which may start or move journeys. Only eventName is needed.",
        ({"id": "thank", "eventName": "thanked", "eventProperties": {"plan": "{{ customer.plan }}"}},),
    ),
    StepHelp("exit", "Ends the enrollment as exited.", ({"id": "leave", "reason": "Has bought already."},)),
)
EXITS = (
    {"event": "bought", "where": {"field": "event.properties.price", "op": "gt", "value": 10}, "fromBridge": False},
    {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}},
)
VARIABLES = (
    "customer.email",
    "customer.attributes.plan",
    "api.payload.coupon",
    "event.name",
    "event.properties.price",
    "journey.id",
    "journey.name",
    "enrollment.id",
    "now",
)
JOURNEY_HELP = {
    "steps": STEPS,
    "exits": json_line(EXITS),
    "variables": [f"{{{{ {name} }}}}" for name in VARIABLES],
}
CONTEXT = {"journey_help": JOURNEY_HELP, "condition_help": CONDITION_HELP}

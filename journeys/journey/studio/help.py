"""What staff need to know to write the steps and exits of a journey, shown next to the form."""

from customers.admin.condition_help import CONDITION_HELP
from engage.admin.parts.columns import json_line
from journeys.steps.definition import KINDS
from journeys.steps.kinds import examples_of

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
    "vars.shop",
)
JOURNEY_HELP = {
    "steps": [
        {"type": kind.type, "does": kind.does, "written": [json_line(example) for example in examples_of(kind)]}
        for kind in KINDS
    ],
    "exits": json_line(EXITS),
    "variables": [f"{{{{ {name} }}}}" for name in VARIABLES],
}
CONTEXT = {"journey_help": JOURNEY_HELP, "condition_help": CONDITION_HELP}

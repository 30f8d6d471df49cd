"""The help on writing conditions, shown to staff beside the form."""

from dataclasses import dataclass
from typing import Any

from engage.admin.parts.columns import json_line


@dataclass(frozen=True)
class Operation:
    """Ops of one kind, when they hold, and an example that uses the first of them."""

    ops: tuple[str, ...]
    holds: str
    example: dict[str, Any]

    @property
    def written(self) -> str:
        return json_line(self.example)


def _test(field: str, op: str, value: Any) -> dict[str, Any]:
    return {"field": field, "op": op, "value": value}


OPERATIONS = (
    Operation(("eq", "ne"), "The value is this, or is not.", _test("customer.plan", "eq", "pro")),
    Operation(
        ("gt", "gte", "lt", "lte"),
        "It is more, at least this, less, at most this: a number beside a number, a text beside a text.",
        _test("customer.seats", "gt", 10),
    ),
    Operation(("in", "not_in"), "It is one of these, or none.", _test("customer.country", "in", ["DE", "FR"])),
    Operation(("contains",), "This is a part of the text, or in the list.", _test("customer.tags", "contains", "vip")),
    Operation(
        ("starts_with", "ends_with"), "The text begins or ends so.", _test("customer.phone", "starts_with", "+49")
    ),
    Operation(("exists", "not_exists"), "There is a value, or none.", {"field": "customer.email", "op": "exists"}),
    Operation(
        ("before", "after"),
        'It is a time before or after this one: ISO 8601, or {"now": "-P7D"} for a week ago.',
        _test("customer.trialEndsAt", "before", {"now": "P7D"}),
    ),
)
COMBINATIONS = (
    Operation(("all",), "Every one of them holds.", {"all": [OPERATIONS[0].example, OPERATIONS[1].example]}),
    Operation(("any",), "At least one of them holds.", {"any": [OPERATIONS[0].example, OPERATIONS[1].example]}),
    Operation(("not",), "It does not hold.", {"not": OPERATIONS[0].example}),
    Operation(
        ("to",),
        "In place of a value: the field is compared with another one.",
        {"field": "customer.plan", "op": "eq", "to": "customer.wantedPlan"},
    ),
)
CONDITION_HELP = {"operations": (*OPERATIONS, *COMBINATIONS)}

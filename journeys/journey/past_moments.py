"""For whom the time of a profile that a delay waits for is past already: it does not wait for them.

Looked at are a few customers, the oldest and the newest, with little processor time: it is told while somebody writes.
"""

import json
from collections.abc import Sequence
from contextlib import suppress

from django.utils import timezone

from customers.conditions import CustomerFacts
from engage.database.sql import Statement
from engage.process.budget import CALL, Budget, OverBudget
from journeys.steps.context import StepContext
from journeys.steps.definition import Step
from journeys.steps.delay import Delay, Moment
from journeys.steps.results import StepFailed
from journeys.steps.templated import TemplatedText

_FEW = Statement("""
SELECT id, external_id, email, phone, user_id, attributes FROM (
    (SELECT * FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id LIMIT 50)
    UNION ALL (SELECT * FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id DESC LIMIT 50)
) AS few WHERE pg_column_size(attributes) <= 8192
""")


def moment_of_a_profile(step: Step) -> Moment | None:
    """What the step waits for, if a customer's profile says when that is."""
    length = step.length if isinstance(step, Delay) else None
    if isinstance(length, Moment) and isinstance(length.text, TemplatedText):
        return length if length.text.template.names_after("customer") else None
    return None


def few_customers(workspace_id: str) -> list[CustomerFacts]:
    found = {row["id"]: row for row in _FEW.records(workspace_id=workspace_id)}
    return [CustomerFacts(**{**row, "attributes": json.loads(row["attributes"])}) for row in found.values()]


def past_for(moment: Moment, customers: Sequence[CustomerFacts]) -> tuple[int, int]:
    """For how many of the customers it is past, of how many who have such a time."""
    past, known, now = 0, 0, timezone.now()
    with suppress(OverBudget), Budget(CALL / 10) as budget:
        for customer in customers:
            if budget.left <= 0:
                break
            with suppress(StepFailed):
                context = StepContext(
                    journey_id="", journey_name="", enrollment_id="", customer=customer, payload={}, event=None,
                    chain=0, now=now,
                )  # fmt: skip
                due_at, _ = moment.end(context, context.rendering())
                past, known = past + (due_at <= now), known + 1
    return past, known

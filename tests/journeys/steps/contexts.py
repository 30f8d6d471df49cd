"""Contexts in which the tests' steps are walked."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from customers.conditions import CustomerFacts
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.course import Course, parse_course, walk_on
from journeys.steps.definition import parse_steps
from journeys.steps.results import Arrival, First, Walk
from journeys.steps.written import InvalidSteps
from tests.customers.facts import NOBODY

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ADA = replace(
    NOBODY,
    id="6560a1b2c3d4e5f60718293a",
    external_id="ada",
    email="ada@example.com",
    attributes={"first_name": "Ada", "plan": "pro", "seats": 12, "address": {"city": "London"}, "tags": ["a", "b"]},
)


def context(
    *,
    customer: CustomerFacts = ADA,
    payload: Mapping[str, Any] | None = None,
    event: Occurrence | None = None,
    chain: int = 0,
    now: datetime = NOW,
) -> StepContext:
    return StepContext(
        journey_id="6560a1b2c3d4e5f607182900",
        journey_name="Welcome",
        enrollment_id="6560a1b2c3d4e5f607182901",
        customer=customer,
        payload={} if payload is None else payload,
        event=event,
        chain=chain,
        now=now,
    )


def course(*steps: dict[str, Any], exit_on: object = None) -> Course:
    return parse_course(list(steps), exit_on)


def walk(
    walked: Course, in_context: StepContext | None = None, *, step_id: str | None = None, arrival: Arrival | None = None
) -> Walk:
    """From the first step, unless it is said where and how."""
    start = step_id or walked.first
    assert start is not None
    return walk_on(walked, in_context or context(), step_id=start, arrival=arrival or First())


def refusal_of(*steps: dict[str, Any]) -> str:
    with pytest.raises(InvalidSteps) as refused:
        parse_steps(list(steps))
    return refused.value.message

"""Words that pure rules use are those that the tables keep."""

from typing import get_args

from journeys.engine.webhooks.schedule import NextState
from journeys.models import EnrollmentJob, StepRun, WebhookDelivery
from journeys.rules.entry_rules import Verdict
from journeys.steps.results import State


def test_every_verdict_is_a_result_of_a_job_and_the_others_say_that_there_was_none() -> None:
    assert set(EnrollmentJob.Result.values) - {verdict.value for verdict in Verdict} == {"failed", "cancelled"}
    assert {verdict.value for verdict in Verdict} < set(EnrollmentJob.Result.values)


def test_every_next_state_of_a_webhook_is_a_state_of_its_delivery() -> None:
    assert {next_state.value for next_state in NextState} < set(WebhookDelivery.State.values)


def test_every_state_of_a_step_is_one_of_its_run() -> None:
    assert set(get_args(State)) <= set(StepRun.State.values)

"""POST /api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}/exit: no step follows."""

from typing import Any

import pytest
from django.db import transaction

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, StepRun, WebhookDelivery
from tests.journeys.walking.stories import enter, history, walked
from tests.support.calls import data, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, JourneyFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

LATER = {"id": "later", "type": "delay", "for": "P7D"}


def exit_early(server: ServerClient, enrollment: Enrollment, body: Any) -> Answer:
    path = f"/api/v1/journeys/{enrollment.workspace_id}/enrollments/{enrollment.id}/exit"
    return server.post(path, body)


@pytest.fixture
def waiting(acme: Workspace, server: ServerClient) -> Enrollment:
    return walked(server, acme, [DAY, LATER])


def test_an_exit_ends_the_enrollment_with_its_reason(server: ServerClient, waiting: Enrollment) -> None:
    answer = exit_early(server, waiting, {"reason": "The order was refunded."})
    assert answer.json()["message"] == "The enrollment is exited; no step follows."
    answered = data(answer, status=200)
    assert answered["enrollmentId"] == waiting.id
    assert (answered["state"], answered["exitReason"]) == ("exited", "The order was refunded.")
    assert (answered["stepId"], answered["goesOnAt"]) == ("day", None)
    assert answered["endedAt"].endswith("Z")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.exit_reason, waiting.due_at) == ("exited", "The order was refunded.", None)


def test_what_failed_before_is_not_told_of_who_has_left(server: ServerClient, waiting: Enrollment) -> None:
    Enrollment.objects.update(error="Boom", attempts=2)
    answered = data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    assert answered["error"] is None


def test_no_step_follows(server: ServerClient, waiting: Enrollment) -> None:
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    time_passes(days=30)
    let_workers_walk()
    assert history(waiting) == [("day", "interrupted")]
    assert StepRun.objects.get().ended_at is not None


def webhook_of(enrollment: Enrollment, **fields: Any) -> WebhookDelivery:
    return WebhookDelivery.objects.create(
        workspace_id=enrollment.workspace_id, enrollment=enrollment, ordinal=0, host="shop.example:443",
        method="POST", url="https://shop.example/", due_at=enrollment.entered_at, **fields,
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_an_exit_waits_for_whoever_is_at_the_customer(server: ServerClient, waiting: Enrollment) -> None:
    """A walker holds the customer's row from when it reads the enrollment until it has written the next stop."""
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(id=waiting.customer_id)
        exiting = made_to_wait(lambda: exit_early(server, waiting, {"reason": "Enough."}))
        time_passes(days=1, hours=1)
        let_workers_walk()
    data(exiting.result(PATIENCE_SECONDS), status=200)
    assert history(waiting) == [("day", "done"), ("later", "interrupted")]


def test_a_webhook_that_waits_is_not_sent_any_more(server: ServerClient, waiting: Enrollment) -> None:
    delivery = webhook_of(waiting)
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result) == ("dropped", "The enrollment ended before it was delivered.")


def test_who_has_ended_is_at_no_step_any_more(server: ServerClient, acme: Workspace) -> None:
    waiting = walked(server, acme, [{"id": "paid", "type": "wait_for_event", "event": "paid", "timeout": "P1D"}])
    assert waiting.awaits_event == "paid"
    answered = data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    assert (answered["goesOnAt"], answered["awaitsEvent"]) == (None, None)
    waiting.refresh_from_db()
    assert (waiting.due_at, waiting.step_began_at, waiting.awaits_event) == (None, None, "")


def test_a_webhook_that_has_been_delivered_stays_delivered(server: ServerClient, waiting: Enrollment) -> None:
    delivery = webhook_of(waiting, state="delivered", result="It said 200.")
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result) == ("delivered", "It said 200.")


def test_a_webhook_that_staff_send_again_is_sent_all_the_same(server: ServerClient, waiting: Enrollment) -> None:
    delivery = webhook_of(waiting, again=True)
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    delivery.refresh_from_db()
    assert delivery.state == "waiting"


def test_what_others_wait_for_is_left_alone(server: ServerClient, acme: Workspace) -> None:
    before, leaving, after = [walked(server, acme, [DAY, LATER]) for _ in range(3)]
    deliveries = {enrollment.id: webhook_of(enrollment) for enrollment in (before, leaving, after)}
    data(exit_early(server, leaving, {"reason": "Enough."}), status=200)
    for enrollment in (before, after):
        enrollment.refresh_from_db()
        deliveries[enrollment.id].refresh_from_db()
        assert (enrollment.state, history(enrollment)) == ("active", [("day", "waiting")])
        assert deliveries[enrollment.id].state == "waiting"
    assert history(leaving) == [("day", "interrupted")]


def test_steps_that_were_done_before_stay_done(server: ServerClient, waiting: Enrollment) -> None:
    time_passes(days=1, hours=1)
    let_workers_walk()
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    assert history(waiting) == [("day", "done"), ("later", "interrupted")]


def test_a_step_that_was_done_stays_done_also_if_none_follows_yet(
    server: ServerClient, acme: Workspace, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.steps.course.MAX_STEPS_IN_ONE_GO", 1)
    note = {"id": "note", "type": "update_profile", "attributes": {"seen": True}}
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[note, DAY]), ada)
    assert walk_due(seconds=0).moved == 1
    data(exit_early(server, enrollment, {"reason": "Enough."}), status=200)
    let_workers_walk()
    assert history(enrollment) == [("note", "done")]


def test_who_was_exited_may_enter_again(server: ServerClient, waiting: Enrollment) -> None:
    data(exit_early(server, waiting, {"reason": "Enough."}), status=200)
    data(trigger(server, waiting.journey, {"customerId": waiting.customer_id}))
    let_workers_walk()
    assert Enrollment.objects.get(state="active").id != waiting.id


def test_an_enrollment_that_has_ended_stays_as_it_is(server: ServerClient, acme: Workspace) -> None:
    completed = walked(server, acme, [])
    answer = exit_early(server, completed, {"reason": "Too late."})
    message = refused(answer, status=409, error="Enrollment already ended")
    assert message == "The enrollment is completed already."
    assert answer.json()["code"] == "enrollment_already_ended"
    completed.refresh_from_db()
    assert (completed.state, completed.exit_reason) == ("completed", "")


def test_the_second_exit_is_refused_and_names_the_first_reason(server: ServerClient, waiting: Enrollment) -> None:
    data(exit_early(server, waiting, {"reason": "Refunded."}), status=200)
    message = refused(exit_early(server, waiting, {"reason": "Bored."}), status=409, error="Enrollment already ended")
    assert message == "The enrollment is exited already. Refunded."
    waiting.refresh_from_db()
    assert waiting.exit_reason == "Refunded."


@each(
    "body, error, message",
    [
        ({}, "Missing required parameter", "reason is required."),
        ({"reason": "  "}, "Missing required parameter", "reason is required."),
        ({"reason": None}, "Missing required parameter", "reason is required."),
        ({"reason": 7}, "Invalid request", "reason must be a string, but a number came."),
        ({"reason": "x" * 501}, "Invalid request", "reason must be at most 500 characters long, not 501."),
    ],
)
def test_a_reason_is_needed(server: ServerClient, waiting: Enrollment, body: Any, error: str, message: str) -> None:
    assert refused(exit_early(server, waiting, body), status=400, error=error) == message
    waiting.refresh_from_db()
    assert waiting.state == "active"


def test_exits_count_under_a_limit_of_their_own(server: ServerClient, waiting: Enrollment) -> None:
    server.key.rate_limit = "2/d"
    server.key.save()
    answers = [exit_early(server, waiting, {"reason": "Enough."}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 409, 429]
    assert answers[0]["RateLimit-Policy"] == '"exit";q=2;w=86400'
    data(trigger(server, waiting.journey, {"customerId": waiting.customer_id}))

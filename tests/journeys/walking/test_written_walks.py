"""What the steps of a walk came to is written as a whole, with that of the whole batch."""

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, StepRun, WebhookDelivery
from tests.journeys.walking.stories import enter, history, walked
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory


def test_what_steps_write_is_merged_later_over_earlier(server: ServerClient, acme: Workspace) -> None:
    writes = [{"plan": "free", "old": None, "seats": 1}, {"plan": "pro", "seats": None}, {"of": "{{ customer.name }}"}]
    steps = [{"id": f"note-{n}", "type": "update_profile", "attributes": written} for n, written in enumerate(writes)]
    for name in ("ada", "grace"):
        CustomerFactory.create(workspace=acme, external_id=name, attributes={"name": name, "old": True})
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    data(trigger(server, journey, {"external_ids": ["ada", "grace"]}))
    let_workers_decide()
    assert walk_due(seconds=0).moved == 2
    assert list(Customer.objects.order_by("external_id").values_list("attributes", flat=True)) == [
        {"name": "ada", "plan": "pro", "of": "ada"},
        {"name": "grace", "plan": "pro", "of": "grace"},
    ]


def test_a_wait_that_is_over_leaves_no_trace_of_what_failed(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [{"id": "day", "type": "delay", "for": "P1D"}])
    assert StepRun.objects.filter(state="waiting", ended_at=None).count() == 1
    time_passes(days=1, hours=1)
    Enrollment.objects.update(error="Boom", attempts=2)
    let_workers_walk()
    over = StepRun.objects.get()
    assert (over.state, over.detail) == ("done", "The wait is over.")
    assert over.ended_at is not None
    enrollment.refresh_from_db()
    assert (enrollment.state, enrollment.step_began_at) == ("completed", None)
    assert (enrollment.attempts, enrollment.error) == (0, "")


def test_who_pauses_is_at_no_step_and_goes_on_at_once(
    server: ServerClient, acme: Workspace, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.steps.course.MAX_STEPS_IN_ONE_GO", 1)
    steps = [{"id": f"note-{n}", "type": "update_profile", "attributes": {"n": n}} for n in range(3)]
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)
    assert walk_due(seconds=0).moved == 1
    enrollment.refresh_from_db()
    assert (enrollment.step_id, enrollment.step_began_at) == ("note-1", None)
    let_workers_walk()
    assert history(enrollment) == [("note-0", "done"), ("note-1", "done"), ("note-2", "done")]


def test_webhooks_to_one_host_are_known_as_such_whatever_their_paths(server: ServerClient, acme: Workspace) -> None:
    for path in ("hello", "thanks"):
        walked(server, acme, [{"id": "tell", "type": "webhook", "url": f"https://mail.example/{path}"}])
    assert set(WebhookDelivery.objects.values_list("host", flat=True)) == {"mail.example:443"}

"""Try it: what a journey would do to a customer, and sending them through for real."""

import re
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, StepRun, Trigger, WebhookDelivery
from journeys.steps.payloads import example_of
from tests.admin.drawn import drawing_in, lit, marks, notes_of, rows_in
from tests.admin.staff import member, staff_with
from tests.support.audit import told, written
from tests.support.calls import let_workers_decide
from tests.support.cases import each
from tests.support.factories import PRO, CustomerFactory, JourneyFactory

CALL = {
    "id": "call",
    "type": "webhook",
    "url": "https://mail.example/send",
    "headers": {"X-Shop": "hush"},
    "body": {"coupon": "{{ api.payload.coupon }}", "plan": "{{ customer.plan }}"},
}
STEPS = [
    {"id": "note", "type": "update_profile", "attributes": {"plan": "pro"}},
    {"id": "plan", "type": "branch", "cases": [{"if": PRO, "next": "day"}], "else": None},
    {"id": "never", "type": "exit", "reason": "Never."},
    {"id": "day", "type": "delay", "for": "P1D"},
    CALL,
]
pytestmark = [pytest.mark.ada(email="ada@example.com"), pytest.mark.journey(steps=STEPS)]


def try_page(staff: Client, journey: Journey, **fields: str) -> str:
    return staff.post(f"/admin/journeys/journey/{journey.id}/try/", fields, follow=True).content.decode()


def nothing_written() -> bool:
    return not any(
        model.objects.exists() for model in (Trigger, EnrollmentJob, Enrollment, StepRun, WebhookDelivery, Event)
    )


def test_the_way_is_shown_with_its_times_and_what_would_be_sent(staff: Client, journey: Journey, ada: Customer) -> None:
    for name in (ada.id, "ada", "Ada@Example.com"):
        page = try_page(staff, journey, customer=name, payload='{"coupon": "WELCOME10"}')
        drawing = drawing_in(page, "trial-drawing")
        way = ["@entry", "note", "plan", "day", "call", "@completed"]
        assert lit(drawing) == set(pairwise(way))
        assert marks(drawing)["never"] == "unvisited"
        days = [int(notes_of(drawing, step)[0][8:10]) for step in ("day", "call")]
        assert days[0] != days[1]
    rows = rows_in(page, "trial")
    assert [row[2] for row in rows] == ["done", "done", "waiting", "done", "waiting", "done"]
    told = rows[4][3]
    assert "POST https://mail.example/send" in told
    assert '{"plan":"pro","coupon":"WELCOME10"}' in told
    assert "X-Shop: ***" in told
    assert nothing_written()
    assert Customer.objects.get(id=ada.id).attributes == {}


def test_who_would_not_enter_sees_why_and_what_if(staff: Client, journey: Journey, ada: Customer) -> None:
    Journey.objects.filter(id=journey.id).update(entry_conditions=PRO)
    page = try_page(staff, journey, customer="ada", payload="")
    assert "conditions not met" in page
    assert "If they did enter:" in page
    assert "customer.plan has no value, wanted &quot;pro&quot;" in page


@each(
    "fields, why",
    [
        ({"customer": "nobody"}, "The journey&#x27;s workspace has no such customer."),
        ({"customer": ""}, "This field is required."),
        ({"customer": "ada", "payload": "[1]"}, "This must be an object."),
        ({"customer": "ada", "payload": "{"}, "payload is not JSON"),
        ({"customer": "ada", "payload": '{"a":' * 11 + "1" + "}" * 11}, "nested 10 deep"),
    ],
)
def test_what_cannot_be_tried_says_why(
    staff: Client, journey: Journey, ada: Customer, rival: Workspace, fields: dict[str, str], why: str
) -> None:
    CustomerFactory.create(workspace=rival, external_id="nobody")
    page = try_page(staff, journey, **fields, send="yes")
    assert why in page
    assert 'id="trial"' not in page
    assert nothing_written()


def test_a_customer_is_sent_through_for_real(staff: Client, journey: Journey, ada: Customer) -> None:
    page = try_page(staff, journey, customer="ada", payload='{"coupon": "X"}', send="yes")
    trigger = Trigger.objects.get()
    assert f"Sent through by hand, by the trigger {trigger.id}." in page
    assert (trigger.payload, trigger.called_by) == ({"coupon": "X"}, "")
    let_workers_decide()
    assert Enrollment.objects.get().customer == ada
    assert [(who, what) for who, what, _ in told()] == [("root", journey.id)]
    assert not re.search(r"\bada\b", written())


def test_a_journey_that_is_switched_off_takes_nobody(staff: Client, journey: Journey, ada: Customer) -> None:
    Journey.objects.filter(id=journey.id).update(active=False)
    assert "not found or not active" in try_page(staff, journey, customer="ada", send="yes")
    assert "journey inactive" in try_page(staff, journey, customer="ada")
    assert nothing_written()


def test_a_journey_of_events_is_tried_and_started_with_an_event(staff: Client, acme: Workspace, ada: Customer) -> None:
    where = {"field": "event.properties.price", "op": "gt", "value": 10}
    journey = JourneyFactory.create(
        workspace=acme, steps=STEPS, trigger_type="event", event_name="bought", event_where=where
    )
    assert "does not start the journey" in try_page(staff, journey, customer="ada", payload='{"price": 1}')
    assert nothing_written()
    page = try_page(staff, journey, customer="ada", payload='{"price": 11}', send="yes")
    event = Event.objects.get()
    assert f"Recorded the event {event.id} by hand." in page
    assert (event.name, event.customer, event.properties) == ("bought", ada, {"price": 11})
    let_workers_decide()
    assert Enrollment.objects.get().journey == journey


@pytest.mark.slow
def test_each_may_do_what_their_permissions_say(journey: Journey, ada: Customer) -> None:
    url = f"/admin/journeys/journey/{journey.id}/try/"

    def statuses(*permissions: str) -> tuple[int, int, int]:
        client = staff_with(*permissions)
        trial: dict[str, Any] = {"customer": "ada"}
        answers = client.get(url), client.post(url, trial), client.post(url, {**trial, "send": "yes"})
        return answers[0].status_code, answers[1].status_code, answers[2].status_code

    assert statuses("view_journey") == (403, 403, 403)
    assert statuses("view_customer", "add_trigger") == (403, 403, 403)
    assert statuses("view_journey", "view_customer", "add_event") == (200, 200, 403)
    assert nothing_written()
    looking = staff_with("view_journey", "view_customer")
    page = try_page(looking, journey, customer="ada")
    assert 'name="send"' not in page
    assert "POST https://mail.example/send" not in page
    page = try_page(staff_with("view_journey", "view_customer", "view_webhookdelivery"), journey, customer="ada")
    assert "POST https://mail.example/send" in page
    assert "hush" not in page
    assert statuses("view_journey", "view_customer", "add_trigger") == (200, 200, 302)
    assert Trigger.objects.count() == 1


def test_who_belongs_to_another_workspace_finds_nothing_to_try(
    journey: Journey, ada: Customer, rival: Workspace
) -> None:
    browser = member("rick", **{rival.key: "admin"})
    for address in ("try", "draft"):
        answer = browser.post(f"/admin/journeys/journey/{journey.id}/{address}/", {"customer": "ada", "send": "yes"})
        assert answer.status_code in {403, 404}
    assert nothing_written()
    own = JourneyFactory.create(workspace=rival, steps=STEPS)
    assert "has no such customer" in try_page(browser, own, customer="ada", send="yes")
    assert "has no such customer" in try_page(browser, own, customer=ada.id, send="yes")
    assert nothing_written()


def test_what_payloads_must_be_is_shown_by_an_example_and_held_to(
    staff: Client, journey: Journey, ada: Customer
) -> None:
    number = {"type": "string", "pattern": "^A-", "examples": ["A-1"]}
    places = {"type": "string", "enum": ["Ulm", "Bern"]}
    order = {"type": "object", "properties": {"number": number, "lines": {"type": "array"}}}
    schema = {"type": "object", "properties": {"order": order, "shop": places}}
    assert example_of(schema) == {"order": {"number": "A-1", "lines": []}, "shop": "Ulm"}
    Journey.objects.filter(id=journey.id).update(payload_schema=schema)
    assert "A-1" in staff.get(f"/admin/journeys/journey/{journey.id}/try/").content.decode()
    page = try_page(staff, journey, customer="ada", payload='{"order": {"number": 7}}', send="yes")
    assert "payload.order.number does not meet type" in page
    assert nothing_written()

"""A message's page: how it was used, what was refused, who listens, and how a page calls it."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bridge.messages import usage
from bridge.messages.definition import parse_definition
from bridge.messages.usage import usage_of
from bridge.models import Interaction, Message
from customers.models import Event
from engage.admin.parts.columns import page_url
from engage.models import App, Workspace
from engage.redis.metric_counters import metric_counters
from tests.admin.messages import HOSTILE, interact
from tests.admin.records import section
from tests.admin.staff import staff_with
from tests.bridge.messages import sale
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory, CustomerFactory, JourneyFactory, MessageFactory

CLICKED = {"actionType": "track_event", "actionData": {"eventName": "clicked", "eventProperties": {"n": 1}}}
ANSWERED = {"formData": {"score": "3", "why": "dear"}, "submitAction": sale.NPS_ACTION}


@pytest.fixture
def message(acme: Workspace) -> Message:
    return MessageFactory.create(workspace=acme, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)


def do(client: SdkClient, path: str, fields: dict[str, Any], **person: str) -> None:
    assert call(client, path, {"messageId": sale.KEY, **fields, **person}).status_code == 200


@each("policy", ["open", "report", "enforce"])
def test_uses_are_told_by_button_and_form_whatever_is_checked(
    staff: Client, acme: Workspace, message: Message, policy: str
) -> None:
    app = SdkClient(AppFactory.create(workspace=acme, message_policy=policy))
    for person in ("u-1", "u-1", "u-2"):
        do(app, ACTION, CLICKED, userId=person)
    do(app, CAPTURE, ANSWERED)
    do(app, ACTION, {"actionType": "close"})
    text = section(staff, message, "usage")
    assert "5 uses by 2 customers" in text
    today = f"{timezone.now():%b} {timezone.now().day}"
    for name, number in (("cta", 3), ("nps", 1), ("x", 1), ("all", 5)):
        assert re.search(rf" {name}( 0){{6}} {number} {number} ", text)
    assert f"{today} 7 days" in text


def test_uses_count_on_the_day_of_their_recording(staff: Client, message: Message, rival: Workspace) -> None:
    interact(message, 2, days_ago=1)
    interact(message, 3, days_ago=6)
    interact(message, 4, days_ago=7)
    interact(MessageFactory.create(workspace=rival, key=sale.KEY), 9)
    assert re.search(r" x 3 0 0 0 0 2 0 5 ", section(staff, message, "usage"))


def test_of_very_many_uses_the_sums_are_exact_and_the_rest_is_drawn(
    message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "READ_AT_MOST", 200)
    app = AppFactory.create(workspace=message.workspace)
    interact(message, 900, app=app)
    interact(message, 300, app=app, action_id="opt")
    interact(message, 50, days_ago=3, app=app, action_id="opt")
    known = parse_definition(actions=message.actions, forms=message.forms)
    told = usage_of(message, known, now=timezone.now())
    assert (told.drawn, told.total, told.totals[6], told.totals[3]) == (True, 1250, 1200, 50)
    closed, opted = told.controls
    assert (closed.name, opted.name) == ("x", "opt")
    assert closed.by_day[6] == pytest.approx(900, rel=0.25)
    assert closed.by_day[6] + opted.by_day[6] == pytest.approx(1200, abs=1)
    assert usage_of(message, known, now=timezone.now()) == told


def test_refusals_are_told_by_reason_with_masked_samples(staff: Client, acme: Workspace, message: Message) -> None:
    reporting = SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.REPORT))
    strict = SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.ENFORCE))
    address = {"formData": {"zip": "ada@example.com"}}
    body = {"messageId": sale.KEY, **address}
    assert call(reporting, CAPTURE, body, headers={"Origin": "https://shop.example"}).status_code == 200
    for _ in range(2):
        assert call(strict, CAPTURE, body).status_code == 422
    metric_counters.send()
    text = section(staff, message, "refusals")
    assert "value not allowed 1 2" in text
    assert (
        "formData.zip does not have the form that the message asks for. a… (15 characters) https://shop.example" in text
    )
    assert "ada@" not in text
    assert text.count("formData.zip") == 1


def test_a_hostile_sample_is_shown_and_not_obeyed(staff: Client, message: Message) -> None:
    interact(message, 1, origin=HOSTILE, message_problems=[{"reason": HOSTILE, "field": HOSTILE, "why": HOSTILE}])
    page = staff.get(page_url(message)).content.decode()
    assert "<script>alert" not in page
    assert page.count("&lt;img src=x") >= 4


def test_journeys_are_told_that_its_events_start_move_or_end(
    staff: Client, acme: Workspace, rival: Workspace, message: Message
) -> None:
    this, other = ({"field": "event.messageId", "op": "eq", "value": key} for key in (sale.KEY, "other"))
    wait = {"id": "w", "type": "wait_for_event", "event": "answered", "timeout": "P1D"}
    note = {"id": "n", "type": "update_profile", "attributes": {"from": "{{ event.messageId }}"}}
    started = {"trigger_type": "event", "event_name": "clicked"}
    JourneyFactory.create(workspace=acme, name="Starts", **started)
    JourneyFactory.create(workspace=acme, name="Waits", steps=[wait], steps__exit_on=[{"event": "clicked"}])
    JourneyFactory.create(workspace=acme, name="Reads", steps=[note], active=False)
    JourneyFactory.create(workspace=acme, name="Theirs", **started, event_where=this)
    JourneyFactory.create(workspace=acme, name="Deaf", **started, event_where={"all": [other]})
    JourneyFactory.create(workspace=acme, name="Elsewhere", trigger_type="event", event_name="clicked twice")
    JourneyFactory.create(workspace=rival, name="Foreign", **started)
    text = section(staff, message, "listeners")
    assert "Starts starts with clicked yes" in text
    assert "Waits waits for answered at step w; ends with clicked yes" in text
    assert "Reads reads the message at step n no" in text
    assert "Theirs starts with clicked yes" in text
    assert not [name for name in ("Deaf", "Elsewhere", "Foreign") if name in text]


@pytest.mark.slow
def test_sections_are_shown_to_those_who_may_see_what_they_tell(message: Message) -> None:
    interact(message, 1)
    shown = {
        ("view_message",): {"html"},
        ("view_message", "view_interaction"): {"html", "usage", "refusals"},
        ("view_message", "view_journey"): {"html", "listeners"},
    }
    for permissions, expected in shown.items():
        client = staff_with(*permissions)
        names = ("usage", "refusals", "listeners", "html")
        assert {name for name in names if section(client, message, name)} == expected


def test_the_preview_runs_nothing(staff: Client, acme: Workspace) -> None:
    action = {"id": HOSTILE, "type": "track_event", "eventName": HOSTILE}
    form = {"id": "f", "fields": {HOSTILE: {"type": "string", "values": [HOSTILE]}}}
    message = MessageFactory.create(workspace=acme, actions=[action], forms=[form])
    page = staff.get(page_url(message)).content.decode()
    (sandbox, srcdoc) = re.findall(r'<iframe [^>]*title="Preview" (sandbox) srcdoc="([^"]*)"', page)[0]
    assert sandbox == "sandbox"
    for shown in (page, unescape(srcdoc)):
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


def test_the_page_asks_no_more_queries_where_more_was_recorded(
    staff: Client, acme: Workspace, message: Message
) -> None:
    def asked() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(page_url(message)).status_code == 200
        return [query["sql"] for query in captured.captured_queries]

    staff.get(page_url(message))  # fills Django's cache of content types
    few = asked()
    for number in range(3):
        interact(message, 20, message_problems=[{"reason": f"r{number}", "field": "f", "why": "w"}])
        JourneyFactory.create(workspace=acme, trigger_type="event", event_name="clicked")
    assert len(asked()) == len(few)
    assert len([sql for sql in few if "bridge_interaction" in sql]) == 4
    assert len([sql for sql in few if "journeys_journey" in sql]) == 1


# Learning.


def learn(client: Client, message: Message) -> tuple[str, dict[str, str]]:
    """The page that proposes a definition, and what its form would send."""
    answer = client.get(page_url(message), {"learn": "1"})
    page = answer.content.decode()
    form = answer.context["adminform"].form
    return page, {
        "status": "active",
        "shown": form.shown,
        **{name: form[name].value() for name in ("actions", "forms")},
    }


LEARNABLE: list[tuple[str, dict[str, Any]]] = [
    (ACTION, CLICKED),
    (ACTION, {"actionType": "update_profile", "actionData": {"profileAttributes": {"plan": "pro", "seats": 3}}}),
    (CAPTURE, ANSWERED),
    (CAPTURE, {"formData": {"colour": "red", "news": "on"}}),
    (CAPTURE, {"formData": {"q": "1", "likes": ["a", "b"]}, "submitAction": {"type": "track_event", "eventName": "q"}}),
]


def test_what_was_recorded_is_learned_and_then_allowed(staff: Client, acme: Workspace) -> None:
    message = MessageFactory.create(workspace=acme, key=sale.KEY)
    app = AppFactory.create(workspace=acme)
    for path, fields in LEARNABLE:
        do(SdkClient(app), path, fields, userId="u-1")
    page, fields = learn(staff, message)
    assert "engage-diff-added" in page
    message.refresh_from_db()
    assert (message.actions, message.forms, message.revision) == ([], [], 1)
    assert staff.post(f"{page_url(message)}?learn=1", fields).status_code == 302
    message.refresh_from_db()
    assert message.revision == 2
    strict = SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.ENFORCE))
    for path, fields in LEARNABLE:
        do(strict, path, fields, userId="u-2")
    other = {"messageId": sale.KEY, "actionType": "track_event", "actionData": {"eventName": "other"}}
    assert call(strict, ACTION, other).status_code == 422
    assert "already lists all" in learn(staff, message)[0]


def test_what_one_person_typed_is_never_proposed(staff: Client, acme: Workspace) -> None:
    message = MessageFactory.create(workspace=acme, key=sale.KEY)
    app = SdkClient(AppFactory.create(workspace=acme))
    for number in range(10):
        form = {
            "plan": ("free", "pro")[number % 2],
            "wish": f"wish of {number}",
            "city": "Ulm an der Donau" if number else "Bonn am Rhein",
        }
        do(app, CAPTURE, {"formData": form}, userId=f"u-{number}")
    page, fields = learn(staff, message)
    (form,) = json.loads(fields["forms"])
    texts = {"type": "string", "required": True}
    assert form["fields"] == {"plan": {**texts, "values": ["free", "pro"]}, "wish": texts, "city": texts}
    assert not [typed for typed in ("wish of", "Bonn am Rhein", "Ulm an der Donau") if typed in page]


def test_what_is_listed_stays_as_it_is(staff: Client, acme: Workspace, message: Message) -> None:
    app = SdkClient(AppFactory.create(workspace=acme))
    do(app, ACTION, {**CLICKED, "actionData": {"eventName": "clicked", "eventProperties": {"n": 99, "where": "top"}}})
    _, fields = learn(staff, message)
    staff.post(page_url(message), fields)
    message.refresh_from_db()
    first, *rest = message.actions
    assert first["properties"] == {**sale.ACTIONS[0]["properties"], "where": {"type": "string"}}
    assert (rest, message.forms) == (sale.ACTIONS[1:], sale.FORMS)


def test_only_who_may_see_what_was_recorded_learns_from_it(acme: Workspace) -> None:
    message = MessageFactory.create(workspace=acme, key=sale.KEY)
    do(SdkClient(AppFactory.create(workspace=acme)), ACTION, CLICKED)
    may = ["change_message", "view_interaction", "view_event", "view_customer"]
    assert "engage-diff-added" in learn(staff_with(*may), message)[0]
    for missing in may[1:]:
        client = staff_with(*({*may} - {missing}))
        page, fields = learn(client, message)
        assert "engage-diff" not in page
        assert "?learn=1" not in page
        assert "clicked" not in (fields["actions"] or "")  # without a form for who may not view customers
    looker = staff_with("view_message", *may[1:])
    assert "engage-diff" not in looker.get(page_url(message), {"learn": "1"}).content.decode()


def test_another_edit_meanwhile_is_told_as_ever(staff: Client, message: Message, acme: Workspace) -> None:
    app = SdkClient(AppFactory.create(workspace=acme))
    do(app, ACTION, {"actionType": "track_event", "actionData": {"eventName": "seen"}})
    _, fields = learn(staff, message)
    Message.objects.update(actions=[])
    page = staff.post(page_url(message), fields).content.decode()
    assert "Somebody has changed this meanwhile" in page


def test_events_and_customers_that_are_gone_teach_nothing(staff: Client, acme: Workspace, message: Message) -> None:
    do(SdkClient(AppFactory.create(workspace=acme)), ACTION, CLICKED)
    Event.objects.all().delete()
    interact(message, 1, attributes_written=["plan"])
    Interaction.objects.update(kind=Interaction.Kind.CAPTURE)
    CustomerFactory.create(workspace=acme)
    assert learn(staff, message)[0]

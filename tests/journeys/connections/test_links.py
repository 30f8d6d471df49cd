"""Messages carry links by which people leave and choose: values of the templates of sending steps and connections."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote_plus

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from customers.contact.consent import Act, State
from customers.contact.ledger import About, NewAct, record_acts
from customers.contact.reach import rules_of
from customers.models import Consent, ConsentAct, Customer, Event, Topic
from customers.preferences.links import Link, link_of
from engage.models import Workspace
from journeys.connection.presets import presets
from journeys.connection.resource import CONNECTIONS
from journeys.journey.authoring import InvalidJourney
from journeys.models import Enrollment, Journey, StepRun
from journeys.steps.provider import FIELDS
from journeys.steps.secrets import with_secrets
from journeys.tasks import walk
from tests.journeys.connections.made import INPUTS, STEP, connect, enter, journey_of
from tests.support.calls import let_workers_decide
from tests.support.cases import each
from tests.support.clients import ServerClient

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com")]
BODY = {
    "text": "{{ inputs.text }}",
    "own": {"$value": "preferences.url", "default": "none"},
    "headers": {"$value": "unsubscribe.headers"},
}
MAIL: dict[str, Any] = {**STEP, "inputs": {"to": "{{ customer.email }}", "text": "{{ unsubscribe.url }}"}}
HOOK: dict[str, Any] = {
    "id": "hook", "type": "webhook", "url": "https://mail.example/", "body": {"text": "{{ unsubscribe.url }}"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _mailer(acme: Workspace, settings: Settings) -> None:
    settings.PUBLIC_URL = "https://engage.example"
    text = {"type": "string", "maxLength": 1000}
    inputs = {**INPUTS, "required": ["to"], "properties": {**INPUTS["properties"], "text": text}}
    connect(acme, "https://mail.example/", body=BODY, inputs=inputs, channel="email")


@pytest.fixture
def news(acme: Workspace) -> Topic:
    return Topic.objects.create(workspace=acme, key="news", name="News", channels=["email", "sms"], default="opted_in")


def sent(enrollment: Enrollment) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(enrollment.deliveries.get().body or "")
    return body


def how_it_ended(enrollment: Enrollment) -> str:
    walk()
    return StepRun.objects.filter(enrollment=enrollment).latest("ordinal").state


def link_in(url: str, page: str) -> Link:
    beginning, token = url.rsplit("/", 1)
    assert beginning == f"https://engage.example/contact/{page}"
    link = link_of(token)
    assert link is not None
    return link


@each("step", [MAIL, HOOK])
@pytest.mark.usefixtures("news", "ada")
def test_a_message_without_a_topic_leads_to_all_choices(
    server: ServerClient, acme: Workspace, step: dict[str, Any], ada: Customer, client: Client
) -> None:
    enrollment = enter(server, journey_of(acme, step))
    url = sent(enrollment)["text"]
    link = link_in(url, "preferences")
    assert (link.workspace_id, link.customer_id, link.topic) == (acme.id, ada.id, "")
    assert (link.enrollment_id, link.step_id) == (enrollment.id, step["id"])
    assert "headers" not in sent(enrollment)
    client.post(url.removeprefix("https://engage.example"), {"List-Unsubscribe": "One-Click"})
    acts = ConsentAct.objects.values_list("customer_id", "topic", "source", "source_id")
    assert {*acts} == {(ada.id, "news", "link", f"{enrollment.id}/{step['id']}")}


@each(
    "step, journey",
    [
        ({"topic": "news"}, {}),
        ({}, {"topic": "news"}),
        ({"topic": "news"}, {"topic": "offers"}),
        ({"purpose": "transactional"}, {"topic": "news"}),
    ],
)
@pytest.mark.usefixtures("ada")
def test_a_message_about_a_topic_leaves_it_by_its_channel(
    server: ServerClient, acme: Workspace, news: Topic, client: Client, step: dict[str, Any], journey: dict[str, Any]
) -> None:
    offers = {"workspace": acme, "key": "offers", "name": "Offers", "channels": ["email"], "default": "opted_in"}
    Topic.objects.create(**offers)
    rules_of(acme.id)
    enrollment = enter(server, journey_of(acme, {**MAIL, **step}, **journey))
    body = sent(enrollment)
    if "purpose" in step:
        assert (link_in(body["text"], "preferences").topic, body.get("headers")) == ("", None)
        return
    link = link_in(body["text"], "unsubscribe")
    assert (link.topic, link.channel) == ("news", "email")
    assert body["headers"] == {
        "List-Unsubscribe": f"<{body['text']}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }  # fmt: skip
    client.post(body["text"].removeprefix("https://engage.example"), body["headers"]["List-Unsubscribe-Post"],
                content_type="application/x-www-form-urlencoded")  # fmt: skip
    assert [(one.topic, one.channel, one.state) for one in Consent.objects.all()] == [("news", "email", "unsubscribed")]
    assert enrollment.deliveries.get().state == "dropped"  # an answered opt-out holds for what waits
    assert how_it_ended(enrollment) == "skipped"


@each("without", ["topics", "PUBLIC_URL"])
@pytest.mark.usefixtures("ada")
def test_where_there_is_nothing_to_leave_there_are_no_links(
    server: ServerClient, acme: Workspace, news: Topic, settings: Settings, without: str
) -> None:
    if without == "topics":
        news.delete()
    else:
        settings.PUBLIC_URL = ""
    enrollment = enter(server, journey_of(acme, MAIL))
    assert sent(enrollment) == {"text": "", "own": "none"}
    # What the author wrote has no value, which is told; what the connection would take if it were there is not.
    assert StepRun.objects.get(enrollment=enrollment).missing == ["unsubscribe.url"]


def test_only_what_is_sent_knows_links(acme: Workspace) -> None:
    step = {"id": "note", "type": "update_profile", "attributes": {"link": "{{ preferences.url }}"}}
    with pytest.raises(InvalidJourney, match=r"reads preferences\.url"):
        journey_of(acme, step)
    with pytest.raises(InvalidJourney, match=r"reads unsubscribe\.link"):
        journey_of(acme, {**HOOK, "body": "{{ unsubscribe.link }}"})


def request(customer: Customer, *, hours_ago: int = 0, state: State = State.REQUESTED) -> None:
    at = datetime.now(UTC) - timedelta(hours=hours_ago)
    about = About(customer.id, "news", "email")
    with transaction.atomic():
        record_acts(workspace_id=customer.workspace_id, acts=[NewAct(about=about, act=Act(state, at), source="form")])


def confirming(acme: Workspace) -> Journey:
    mail = {**MAIL, "inputs": {**MAIL["inputs"], "text": "{{ confirm.url }}"}}
    return journey_of(acme, mail, key="confirm", trigger_type="event", event_name="consent.requested")


@pytest.mark.usefixtures("news")
def test_who_requests_something_is_asked_and_confirms_it_with_one_press(
    acme: Workspace, ada: Customer, client: Client
) -> None:
    journey = confirming(acme)
    request(ada)
    let_workers_decide()
    walk()
    enrollment = Enrollment.objects.get(journey=journey)
    url = sent(enrollment)["text"]
    assert (link_in(url, "confirm").topic, link_in(url, "confirm").channel) == ("news", "email")
    path = url.removeprefix("https://engage.example")
    assert "Do you want News?" in client.get(path).content.decode()
    assert Consent.objects.get().state == "requested"  # a look confirms nothing
    for _ in range(2):
        page = client.post(path)
        assert (page.status_code, "Thank you. You get News from now on." in page.content.decode()) == (200, True)
    assert Consent.objects.get().state == "subscribed"
    proof = ConsentAct.objects.exclude(state="requested").get()
    assert (proof.source, proof.evidence) == ("link", {"enrollmentId": enrollment.id, "stepId": "mail"})


@pytest.mark.usefixtures("news")
def test_who_requests_it_again_within_a_day_is_not_asked_again(acme: Workspace, ada: Customer) -> None:
    for hours, events in ((60, 1), (40, 1), (10, 2), (0, 2)):
        request(ada, hours_ago=hours)
        assert Event.objects.filter(name="consent.requested").count() == events, hours
    assert Event.objects.latest("serial").properties == {"topic": "news", "channel": "email"}
    request(ada, state=State.SUBSCRIBED)
    request(ada)  # they have it
    assert Event.objects.count() == 2


def test_nobody_else_sends_events_of_consents(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    event = {"external_id": ada.external_id, "eventName": "consent.requested"}
    answer = server.post(f"/api/v1/customers/{acme.id}/events", event)
    assert (answer.status_code, Event.objects.count()) == (400, 0)
    assert "only the service itself records events of such a name" in answer.json()["message"]


@pytest.mark.usefixtures("news")
def test_a_link_that_is_old_confirms_nothing(ada: Customer, client: Client) -> None:
    request(ada)
    at = datetime.now(UTC) - timedelta(days=91)
    for topic, status in (("news", 200), ("", 404)):
        link = Link(workspace_id=ada.workspace_id, customer_id=ada.id, topic=topic, channel="email", at=at)
        assert client.post(f"/contact/confirm/{link.token}").status_code == status
    assert Consent.objects.get().state == "requested"


EMAIL = sorted(key for key, one in presets().items() if one["channel"] == "email")


@each("key", EMAIL)
@pytest.mark.usefixtures("news", "ada")
def test_presets_for_e_mail_send_the_headers_of_one_click(server: ServerClient, acme: Workspace, key: str) -> None:
    preset = with_secrets(
        {name: one for name, one in presets()[key].items() if name in FIELDS}, lambda _, one: one or "x"
    )
    CONNECTIONS.save(workspace=acme, key=key, now=timezone.now(), definition=preset, channel="email")
    given = {name: "a@example.com" for name, one in preset["inputs"]["properties"].items() if one["type"] == "string"}
    step = {"id": "mail", "type": "send", "connection": key, "inputs": given}
    for topic in ("news", None):
        enrollment = enter(server, journey_of(acme, {**step, "topic": topic}, key=f"j-{topic}".lower()))
        body = unquote_plus(enrollment.deliveries.get().body or "")
        assert ("List-Unsubscribe=One-Click" in body) == (topic is not None), body
        assert ("https://engage.example/contact/unsubscribe/" in body) == (topic is not None)


@pytest.mark.usefixtures("news")
def test_who_wants_a_message_a_week_gets_one(
    server: ServerClient, acme: Workspace, ada: Customer, client: Client
) -> None:
    rules_of(acme.id)
    link = Link(workspace_id=acme.id, customer_id=ada.id, at=datetime.now(UTC))
    shown = {"act": "save", "weekly": "on", "shown": "news:email", "on": "news:email"}
    assert client.post(f"/contact/preferences/{link.token}", shown).status_code == 200
    journeys = [journey_of(acme, {**MAIL, "topic": "news"}, key=key) for key in ("first", "second")]
    ends = [StepRun.objects.filter(enrollment=enter(server, one)).latest("ordinal") for one in journeys]
    assert [one.state for one in ends] == ["waiting", "skipped"]
    assert "Over the cap 'own': 1 of 1" in ends[1].detail

"""Messages carry links by which people leave and choose: values of the templates of sending steps and connections."""

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from customers.models import ConsentAct, Customer, Topic
from customers.preferences.links import Link, link_of
from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney
from journeys.models import Enrollment, StepRun
from tests.journeys.connections.made import INPUTS, STEP, connect, enter, journey_of
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
    connect(acme, "https://mail.example/", body=BODY, inputs=inputs)


@pytest.fixture
def news(acme: Workspace) -> Topic:
    return Topic.objects.create(workspace=acme, key="news", name="News", channels=["email", "sms"], default="opted_in")


def sent(enrollment: Enrollment) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(enrollment.deliveries.get().body or "")
    return body


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

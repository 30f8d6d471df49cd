"""Pages of connections: made by hand or from a preset, tried, changed, and deleted if no journey sends by them."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from journeys.connection.presets import presets
from journeys.models import Connection, WebhookDelivery
from tests.admin.staff import member
from tests.journeys.connections.made import INPUTS, STEP, connect, definition, journey_of
from tests.support.audit import written
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db
ADD = "/admin/journeys/connection/add/"
URL = "https://mail.example/send"


def said(written: Any = None, **fields: Any) -> dict[str, Any]:
    whole = definition(URL) if written is None else written
    return {"name": "Mailer", "channel": "email", "per_second": "", "definition": json.dumps(whole), **fields}


def page_of(client: Client, connection: Connection) -> str:
    return unescape(client.get(page_url(connection)).content.decode())


def test_one_is_made_and_edited_without_losing_its_secrets(staff: Client, acme: Workspace) -> None:
    new = {"workspace": acme.id, "key": "mailer"}
    refused = unescape(staff.post(ADD, said({"url": "ftp://x", "odd": 1}, **new)).content.decode())
    assert "odd is not known" in refused
    assert "url must begin with http:// or https://." in refused
    assert not Connection.objects.exists()
    assert staff.post(ADD, said(**new)).status_code == 302
    made = Connection.objects.get()
    page = page_of(staff, made)
    assert '"X-Token": "***"' in page
    assert '{"to": "", "text": "", "n": 0}' in page
    assert "hush" not in page
    masked = definition(URL, headers={"X-Token": "***"}, method="PUT")
    assert staff.post(page_url(made), said(masked, per_second="2")).status_code == 302
    made.refresh_from_db()
    assert (made.definition["headers"], made.definition["method"], made.per_second) == ({"X-Token": "hush"}, "PUT", 2)
    stolen = unescape(staff.post(page_url(made), said({**masked, "url": "https://evil.example/"})).content.decode())
    assert "headers.X-Token needs its value" in stolen
    made.refresh_from_db()
    assert made.definition["url"] == URL
    assert "hush" not in written() + stolen
    again = unescape(staff.post(ADD, said(**new)).content.decode())
    assert "has a connection with this key already" in again


def test_a_change_that_breaks_journeys_is_told_and_confirmed(staff: Client, acme: Workspace) -> None:
    made = connect(acme, URL).row
    journey_of(acme, STEP)
    assert "Journeys that send by it: " in page_of(staff, made)
    narrow = definition(URL, headers={"X-Token": "***"}, inputs={**INPUTS, "required": ["to", "text", "cc"]})
    refused = unescape(staff.post(page_url(made), said(narrow)).content.decode())
    assert "By this, the journey welcome, step mail: cc is required by the connection." in refused
    assert staff.post(page_url(made), said(narrow, confirm="on")).status_code == 302
    made.refresh_from_db()
    assert made.definition["inputs"]["required"] == ["to", "text", "cc"]
    page = staff.post(page_url(made).replace("/change/", "/delete/"), {"post": "yes"}, follow=True).content.decode()
    assert "Journeys send by mailer: welcome. It cannot be deleted." in unescape(page)
    journey_of(acme)
    staff.post(page_url(made).replace("/change/", "/delete/"), {"post": "yes"})
    assert not Connection.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_test_is_sent_at_once_and_its_answer_shown(staff: Client, acme: Workspace, receiver: Receiver) -> None:
    made = connect(acme, receiver.url("/status/503"), secretUrl=True).row
    path = page_url(made).replace("/change/", "/test/")
    page = unescape(staff.post(path, {"inputs": '{"to": "a@b.example", "text": "Hello", "n": 1}'}).content.decode())
    assert "It failed" in page
    assert "Answered 503. A step would try it again." in page
    assert "/status/503" not in page
    [sent] = receiver.arrived
    assert json.loads(sent.body) == {"To": "a@b.example", "Text": "Hello", "n": 1}
    assert (sent.headers["x-token"], "webhook-signature" in sent.headers) == ("hush", True)
    for inputs, why in (
        ("{}", "requires a value for to, text."),
        ("[", "inputs is not JSON"),
        ("[]", "be an object"),
    ):
        assert why in unescape(staff.post(path, {"inputs": inputs}).content.decode())
    assert not WebhookDelivery.objects.exists()
    assert AuditEntry.objects.filter(note__startswith="Sent a test: ").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_test_goes_by_the_rules_for_answers_as_a_step_does(
    staff: Client, acme: Workspace, receiver: Receiver
) -> None:
    ok = {"field": "answer.body.status", "op": "eq", "value": "queued"}
    for answer, said, outcome in (
        ("failed", "It failed", "By the rule of its step, that is not ok."),
        ("queued", "It went well", ""),
    ):
        url = receiver.url(f'/answer?body={{"status":"{answer}","id":"m-1"}}')
        made = connect(acme, url, ok=ok, keep={"messageId": "id"}).row
        path = page_url(made).replace("/change/", "/test/")
        page = unescape(staff.post(path, {"inputs": '{"to": "a", "text": "b"}'}).content.decode())
        assert said in page
        assert outcome in page
        assert '"messageId": "m-1"' in page


def test_presets_fill_the_form_and_lack_their_secrets(staff: Client, acme: Workspace) -> None:
    empty = staff.get(ADD).content.decode()
    assert "?preset=postmark" in empty
    assert "although journeys break" not in empty
    page = unescape(staff.get(ADD, {"preset": "postmark"}).content.decode())
    assert '"X-Postmark-Server-Token": null' in page
    preset = presets()["postmark"]
    saved = said(
        preset and {name: preset[name] for name in ("url", "headers", "inputs")}, workspace=acme.id, key="postmark"
    )
    assert staff.post(ADD, saved).status_code == 302
    made = Connection.objects.get()
    assert "It is incomplete, and its steps fail: there is no value for headers.X-Postmark-Server-Token." in page_of(
        staff, made
    )
    assert "incomplete" in staff.get("/admin/journeys/connection/").content.decode()


@pytest.mark.slow
def test_admins_change_them_and_others_look_without_secrets(acme: Workspace, rival: Workspace) -> None:
    made = connect(acme, URL).row
    paths = [page_url(made), page_url(made).replace("/change/", "/test/")]
    for role in ("viewer", "support", "author"):
        client = member(role, acme=role)
        page = page_of(client, made)
        assert '"X-Token": "***"' in page
        assert "hush" not in page
        assert "Send a test" not in page
        assert [client.post(path, said()).status_code for path in [*paths, ADD]] == [403, 403, 403]
    assert member("boss", acme="admin").post(page_url(made), said()).status_code == 302
    assert member("neighbour", rival="admin").post(page_url(made), said()).status_code in (302, 404)
    assert Connection.objects.get().updated_at > made.updated_at

"""Staff write what in-app messages may do."""

import json
from html import unescape
from typing import Any

from django.test import Client

from bridge.models import Message
from engage.admin.parts.columns import page_url
from engage.models import App, Workspace
from engage.redis.metric_counters import metric_counters
from tests.admin.messages import HOSTILE, interact
from tests.admin.records import cells
from tests.admin.staff import staff_with
from tests.bridge.messages import sale
from tests.support.audit import told as audited
from tests.support.bridge_calls import ACTION, call
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory, MessageFactory

LIST = "/admin/bridge/message/"
ADD = f"{LIST}add/"


def said(**fields: Any) -> dict[str, Any]:
    """What the form sends."""
    lists = {name: json.dumps(fields.pop(name, [])) for name in ("actions", "forms")}
    return {"status": "active", **lists, **fields}


def test_a_message_is_made_and_changed_as_by_the_api(staff: Client, acme: Workspace) -> None:
    fields = said(workspace=acme.id, key="sale", actions=sale.ACTIONS, forms=sale.FORMS)
    assert staff.post(ADD, fields).status_code == 302
    message = Message.objects.get()
    assert (message.key, message.status, message.revision) == ("sale", "active", 1)
    assert (message.actions, message.forms) == (sale.ACTIONS, sale.FORMS)
    for revision, forms in ((1, sale.FORMS), (2, [])):
        changed = said(status="archived", actions=sale.ACTIONS, forms=forms)
        assert staff.post(page_url(message), changed).status_code == 302
        message.refresh_from_db()
        assert (message.status, message.revision, message.forms) == ("archived", revision, forms)
    assert [what for _, _, what in audited()] == ["Created.", "Changed Status.", "Changed Forms and Revision."]


@each(
    "fields, told",
    [
        ({"actions": [{"id": "a", "type": "jump"}]}, "actions[0].type must be one of "),
        (
            {"actions": [{"id": "a", "type": "track_event", "eventName": "e", "properties": {"n": {"type": "x"}}}]},
            "actions[0].properties.n.type must be one of string, number, boolean, date, not 'x'.",
        ),
        ({"forms": [{"id": "f"}]}, "forms[0].fields is required."),
        ({"forms": {}}, "forms must be an array, but an object came."),
        ({"key": "x" * 256}, "at most 255 characters"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_nothing_is_written(
    staff: Client, acme: Workspace, fields: dict[str, Any], told: str
) -> None:
    page = staff.post(ADD, said(workspace=acme.id, **{"key": "sale", **fields}))
    assert page.status_code == 200
    assert told in unescape(page.content.decode())
    assert not Message.objects.exists()
    assert audited() == []


def test_what_is_no_json_is_refused_as_it_was_typed(staff: Client, acme: Workspace) -> None:
    page = staff.post(ADD, {**said(workspace=acme.id, key="sale"), "actions": '[{"id": <b>'}).content.decode()
    assert "actions is not JSON" in page
    assert "[{&quot;id&quot;: &lt;b&gt;</textarea>" in page


def test_a_key_that_is_taken_is_refused(staff: Client, acme: Workspace, rival: Workspace) -> None:
    taken = MessageFactory.create(workspace=acme, key="sale", actions=sale.ACTIONS)
    page = staff.post(ADD, said(workspace=acme.id, key="sale")).content.decode()
    assert "The workspace has a message with this key already." in page
    assert staff.post(ADD, said(workspace=rival.id, key="sale")).status_code == 302
    taken.refresh_from_db()
    assert taken.actions == sale.ACTIONS


def test_staff_do_with_messages_what_they_may(acme: Workspace) -> None:
    message = MessageFactory.create(workspace=acme, key="sale", actions=sale.ACTIONS)
    looker, editor = staff_with("view_message"), staff_with("view_message", "change_message", "view_customer")
    assert looker.post(page_url(message), said()).status_code == 403
    assert 'name="actions"' not in looker.get(page_url(message)).content.decode()
    assert looker.get(ADD).status_code == 403
    assert looker.post(page_url(message).replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert staff_with("view_app").get(page_url(message)).status_code == 403
    message.refresh_from_db()
    assert message.actions == sale.ACTIONS
    assert editor.post(page_url(message), said()).status_code == 302
    message.refresh_from_db()
    assert message.actions == []
    may_delete = staff_with("view_message", "delete_message")
    assert may_delete.post(page_url(message).replace("change", "delete"), {"post": "yes"}).status_code == 302
    assert not Message.objects.exists()


def test_a_hostile_text_is_shown_and_not_obeyed(staff: Client, onlooker: Client, acme: Workspace) -> None:
    hostile = {"id": "x", "type": "track_event", "eventName": HOSTILE, "properties": {HOSTILE: {"type": "string"}}}
    message = MessageFactory.create(workspace=acme, key=HOSTILE, actions=[hostile])
    interact(message, 1)
    for client in (staff, onlooker):
        for url in (LIST, page_url(message), page_url(acme), f"{page_url(message)[:-7]}history/"):
            page = client.get(url).content.decode()
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert "&lt;script&gt;alert(1)" in page


def test_the_list_counts_what_happened_in_seven_days(staff: Client, acme: Workspace, rival: Workspace) -> None:
    used, _ = (MessageFactory.create(workspace=acme, key=key) for key in ("used", "unused"))
    namesake = MessageFactory.create(workspace=rival, key="used")
    interact(used, 3)
    interact(used, 2, days_ago=6, message_problems=[{"reason": "event_not_listed", "field": "x", "why": "y"}])
    interact(used, 4, days_ago=8)
    interact(namesake, 1)
    strict = SdkClient(AppFactory.create(workspace=acme, message_policy=App.MessagePolicy.ENFORCE))
    assert call(strict, ACTION, {"messageId": "used", "actionId": "none", "actionType": None}).status_code == 422
    metric_counters.send()
    page = staff.get(LIST).content.decode()
    told = zip(*(cells(page, column) for column in ("key", "clicks", "refusals")), strict=True)
    assert sorted(told) == [("unused", "0", "0"), ("used", "1", "0"), ("used", "5", "2 reported, 1 refused")]
    without = staff_with("view_message").get(LIST).content.decode()
    assert "field-clicks" not in without
    assert "field-refusals" not in without

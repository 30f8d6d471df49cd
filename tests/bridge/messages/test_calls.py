"""`/api/v1/messages/{workspaceId}`: servers say what in-app messages may write."""

from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from django.utils import timezone

from bridge.messages.rules import Rule, RuleType, type_of
from bridge.messages.saving import MESSAGES
from bridge.models import Message
from engage.models import AuditEntry, Workspace
from tests.bridge.messages import sale
from tests.support.calls import data, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import MessageFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

WHOLE = {"status": "active", "actions": sale.ACTIONS, "forms": sale.FORMS}


def path(workspace: Workspace, key: str = "") -> str:
    return f"/api/v1/messages/{workspace.id}" + (f"/{quote(key, safe='')}" if key else "")


def test_a_message_is_made_changed_read_and_deleted(acme: Workspace, server: ServerClient) -> None:
    made = data(server.put(path(acme, "sale"), WHOLE), status=201)
    assert {**made, "createdAt": "", "updatedAt": ""} == {
        "key": "sale",
        "status": "active",
        "revision": 1,
        "actions": sale.ACTIONS,
        "forms": sale.FORMS,
        "content": None,
        "createdAt": "",
        "updatedAt": "",
    }

    changed = data(server.put(path(acme, "sale"), {"forms": []}), status=200)
    assert (changed["revision"], changed["actions"], changed["forms"]) == (2, sale.ACTIONS, [])
    assert data(server.put(path(acme, "sale"), {"status": "archived"}), status=200)["revision"] == 2
    content = {"kind": "card", "title": "{{ values.a }}"}
    for revision, sent, kept in ((3, content, content), (4, {}, None)):
        changed = data(server.put(path(acme, "sale"), {"content": sent}), status=200)
        assert (changed["revision"], changed["content"], changed["actions"]) == (revision, kept, sale.ACTIONS)
    refused(server.put(path(acme, "sale"), {"content": {"kind": "fax"}}), status=400, error="Invalid message")
    assert data(server.get(path(acme, "sale")), status=200)["status"] == "archived"

    assert data(server.delete(path(acme, "sale")), status=200) == {"key": "sale", "deleted": True}
    refused(server.get(path(acme, "sale")), status=404, error="Message not found")
    refused(server.delete(path(acme, "sale")), status=404, error="Message not found")


@pytest.mark.django_db(transaction=True)
def test_of_two_who_delete_it_at_once_the_second_finds_nothing(acme: Workspace, server: ServerClient) -> None:
    sale = MessageFactory.create(workspace=acme, key="sale")
    with transaction.atomic():
        MESSAGES.delete(sale)
        waiting = made_to_wait(partial(server.delete, path(acme, "sale")))
    refused(waiting.result(PATIENCE_SECONDS), status=404, error="Message not found")
    assert AuditEntry.objects.filter(action=AuditEntry.Action.DELETED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_deletion_that_waited_for_a_change_tells_what_was_deleted(acme: Workspace, server: ServerClient) -> None:
    MessageFactory.create(workspace=acme, key="sale", status="active")
    with transaction.atomic():
        MESSAGES.save(workspace=acme, key="sale", now=timezone.now(), status="archived")
        waiting = made_to_wait(partial(server.delete, path(acme, "sale")))
    data(waiting.result(PATIENCE_SECONDS), status=200)
    facts = AuditEntry.objects.get(action=AuditEntry.Action.DELETED).changes or {}
    assert facts["status"] == ["archived", None]


def test_a_new_message_is_a_draft_that_lists_nothing(acme: Workspace, server: ServerClient) -> None:
    made = data(server.put(path(acme, "sale"), {"actions": []}), status=201)
    assert (made["status"], made["actions"], made["forms"]) == ("draft", [], [])


@each("key", ["a.b", "ä ö", "%41", "x" * 255])
def test_a_key_may_be_any_message_id(acme: Workspace, server: ServerClient, key: str) -> None:
    data(server.put(path(acme, key), WHOLE), status=201)
    assert data(server.get(path(acme, key)), status=200)["key"] == key


def test_messages_are_listed_page_by_page(acme: Workspace, rival: Workspace, server: ServerClient) -> None:
    for key in "bac":
        MessageFactory.create(workspace=acme, key=key)
    MessageFactory.create(workspace=rival, key="aa")

    first = data(server.get(f"{path(acme)}?limit=2"), status=200)
    second = data(server.get(f"{path(acme)}?limit=2&cursor={first['nextCursor']}"), status=200)

    assert [message["key"] for message in [*first["messages"], *second["messages"]]] == ["a", "b", "c"]
    assert second["nextCursor"] is None


def action(**fields: Any) -> dict[str, Any]:
    return {"actions": [{"id": "cta", "type": "track_event", "eventName": "clicked", **fields}]}


def rule(**fields: Any) -> dict[str, Any]:
    return action(properties={"n": fields})


@each(
    "body, message",
    [
        ({"status": "on"}, "status must be one of draft, active, archived, not 'on'."),
        ({"actions": ["x"]}, "actions[0] must be an object, but a string came."),
        (action(type="jump"), "actions[0].type must be one of "),
        (action(eventName=" "), "actions[0].eventName must not be blank."),
        (action(url="x"), "actions[0].url is not known; what may stand here is "),
        ({"actions": [*action()["actions"] * 2]}, "actions[1].id is 'cta', which stands twice."),
        ({"actions": [{"id": "a", "type": "update_profile", "attributes": {}}]}, "actions[0].attributes must name at"),
        (
            {"actions": [{"id": "a", "type": "update_profile", "attributes": {"$x": {"type": "string"}}}]},
            "actions[0].attributes is refused. The attribute name '$x' starts with $",
        ),
        (rule(), "actions[0].properties.n.type is required."),
        (rule(type="string", values=["x" * 700] * 100), "actions and forms are 70410 bytes of JSON; their maximum is"),
        (rule(type="list"), "actions[0].properties.n.type must be one of string, number, boolean, date, not 'list'."),
        (rule(type="number", max="3"), "actions[0].properties.n.max must be a number, but a string came."),
        (rule(type="boolean", max=1), "actions[0].properties.n.max is only for numbers"),
        (rule(type="string", values=[]), "actions[0].properties.n.values must hold at least one value."),
        (rule(type="string", values=[1]), "actions[0].properties.n.values[0] must be a string, but a number came."),
        (rule(type="string", pattern="(?=x)"), "actions[0].properties.n.pattern is no regular expression that RE2"),
        (rule(type="string", pattern="("), "actions[0].properties.n.pattern is no regular expression that RE2"),
        (rule(type="string", required="yes"), "actions[0].properties.n.required must be true or false"),
        ({"forms": [{"id": "f"}]}, "forms[0].fields is required."),
        ({"forms": [{"id": "f", "fields": {}, "submitAction": {}}]}, "forms[0].submitAction.type is required."),
        (
            {"forms": [{"id": "f", "fields": {}, "submitAction": {"type": "both"}}]},
            "forms[0].submitAction.eventName is required.",
        ),
    ],
)
def test_a_bad_definition_is_refused_with_its_place(
    acme: Workspace, server: ServerClient, body: dict[str, Any], message: str
) -> None:
    assert refused(server.put(path(acme, "sale"), body), status=400, error="Invalid message").startswith(message)
    assert not Message.objects.exists()


@each("key", ["%20", "%00", "x" * 256])
def test_a_bad_key_is_refused(acme: Workspace, server: ServerClient, key: str) -> None:
    refused(server.put(f"{path(acme)}/{key}", WHOLE), status=400, error="Invalid message")
    assert not Message.objects.exists()


def test_a_pattern_takes_no_longer_the_worse_it_is(acme: Workspace, server: ServerClient) -> None:

    rule = Rule(type=RuleType.STRING, pattern="(a+)+b")
    assert rule.problem("a" * 10_000) is not None


@each(
    "text, number",
    [
        ("1", 1), ("1.0", 1.0), (" -0 ", 0), (".5", 0.5), ("-.5", -0.5), ("05", 5), ("1E+2", 100.0),
        ("1234567890123456789", 1234567890123456789), ("123456789012345678901", 123456789012345680000),
        ("", None), *[(text, text) for text in ("-", "+1", "5.", ".", "1e", "1e400", "9" * 400, "1_0", "٣", "nan")],
    ],
)  # fmt: skip
def test_a_number_is_read_as_html_writes_it(text: str, number: Any) -> None:
    assert repr(Rule(type=RuleType.NUMBER).typed(text)) == repr(number)


def test_what_would_lose_its_zero_is_not_taken_for_a_number() -> None:
    kinds = [type_of(text, typed=True) for text in (".5", "0", "0.5", "1e2", "1234567890123456", "01067")]
    assert kinds == [*[RuleType.NUMBER] * 5, RuleType.STRING]

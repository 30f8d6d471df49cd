"""Connections are made, changed and deleted: their mistakes, their secrets, and the journeys that send by them."""

from typing import Any

import pytest
from django.db import connection as database
from django.utils import timezone

from customers.models import Customer
from engage.errors import Refusal
from engage.models import AuditEntry, Workspace
from journeys.connection.resource import CONNECTIONS, BreaksJourneys, ConnectionInUse
from journeys.journey.authoring import save_journey
from journeys.models import Connection, Enrollment, Variable
from journeys.steps.provider import FIELDS
from journeys.tasks import walk
from journeys.variable.resource import VARIABLES, VariableInUse
from tests.journeys.connections.made import BODY, INPUTS, STEP, connect, definition, enter, journey_of
from tests.support.audit import told, written
from tests.support.clients import ServerClient
from tests.support.factories import DAY

pytestmark = pytest.mark.django_db
URL = "https://mail.example/send"


def mistakes(workspace: Workspace, **fields: Any) -> list[tuple[str, str]]:
    with pytest.raises(Refusal) as refused:
        connect(workspace, fields.pop("url", URL), **fields)
    return [(one.message, one.code) for one in refused.value.all_found()]


def messages(workspace: Workspace, **fields: Any) -> list[str]:
    return [message for message, _ in mistakes(workspace, **fields)]


def test_all_mistakes_of_a_connection_are_told_with_their_places(acme: Workspace) -> None:
    wrong = {"method": "FAX", "body": {"a": "{{ inputs.cc }}"}, "html": ["cc"], "secretUrl": 1, "tls": True}
    assert [message.split()[0] for message in messages(acme, url="http://10.0.0.1/", **wrong)] == [
        "tls", "secretUrl", "method", "url", "body.a", "html[0]",
    ]  # fmt: skip
    for schema, why in (
        ([], "inputs must be an object"),
        ({"type": "array"}, "inputs must describe an object"),
        ({"properties": {}}, "inputs.type is required"),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://evil.example/"}}},
            "inputs.properties.a.$ref is not ",
        ),
        (
            {"type": "object", "properties": {"a": {"pattern": "(a+"}}},
            "inputs.properties.a.pattern is no pattern of RE2.",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "txt"}}},
            "inputs is no valid JSON Schema at properties.a.type.",
        ),
        ({"type": "object", "properties": 7}, "inputs.properties must be an object"),
        ({"type": "object", "description": "x" * 20_000}, "inputs is longer than 16 KiB"),
    ):
        assert messages(acme, inputs=schema, body=None)[0].startswith(why)
    assert messages(acme, key="Odd Key")[0].startswith("key: ")
    assert messages(acme, channel="fax")[0].startswith("channel must be one of ")
    assert messages(acme, per_second=0)[0].startswith("perSecond must be ")
    assert not Connection.objects.exists()


def test_a_schema_of_any_form_is_refused_or_read(acme: Workspace) -> None:
    fine: list[Any] = [{"properties": {"a": True}}, {"not": {"required": ["b"]}}]
    for schema in fine:
        connect(acme, URL, inputs={"type": "object", **schema}, body=None)
    odd: list[Any] = [{"properties": {"a": 1}}, {"anyOf": {}}, {"items": []}]
    for schema in odd:
        assert messages(acme, inputs={"type": "object", **schema}, body=None)


def test_secrets_are_stored_encrypted_and_stay_with_their_host(acme: Workspace, rival: Workspace) -> None:
    connect(acme, URL)
    connect(acme, URL, name="Mailer", headers={"X-Token": "***"})
    assert Connection.objects.get().definition["headers"] == {"X-Token": "hush"}
    needed = [("headers.X-Token", "secret_needed")]
    for workspace, fields in (
        (acme, {"url": "https://mail.example.org/send"}),
        (acme, {"url": "http://mail.example/send"}),
        (acme, {"key": "other"}),
        (rival, {}),
    ):
        found = mistakes(workspace, headers={"X-Token": "***"}, **fields)
        assert [(message.split()[0], code) for message, code in found] == needed
    assert [code for _, code in mistakes(acme, url="***", secretUrl=True, key="other")] == ["secret_needed"]
    with database.cursor() as cursor:
        cursor.execute("SELECT string_agg(definition::text, ' ') FROM journeys_connection")
        assert "hush" not in str(cursor.fetchone()[0])
    connect(acme, URL, name="Mailer", headers={"X-Token": "hush 2"})
    assert [one[2] for one in told("connection")] == ["Created.", "Changed Name.", "Changed Secrets."]
    assert "hush" not in written()


def test_credentials_are_secrets_as_headers_are(acme: Workspace) -> None:
    auth = {"basic": {"user": "hush-user", "password": "hush"}}
    mask = {"basic": {"user": "***", "password": "***"}}
    connect(acme, URL, auth=auth)
    connect(acme, URL, auth=mask, headers={"X-Token": "***"}, name="Renamed")
    assert Connection.objects.get().definition["auth"] == auth
    found = mistakes(acme, url="https://other.example/", auth=mask)
    assert [(message.split()[0], code) for message, code in found] == [
        ("auth.basic.user", "secret_needed"), ("auth.basic.password", "secret_needed"),
    ]  # fmt: skip
    assert "hush" not in written()


def test_a_secret_url_is_kept_by_its_mask_with_the_rest(acme: Workspace) -> None:
    connect(acme, URL + "/hush", secretUrl=True)
    connect(acme, "***", secretUrl=True, headers={"X-Token": "***"}, name="Renamed")
    kept = Connection.objects.get()
    assert (kept.definition["url"], kept.definition["headers"]) == (URL + "/hush", {"X-Token": "hush"})
    assert kept.host == "mail.example:443"
    assert "hush" not in written()


def test_a_change_that_breaks_journeys_tells_which_and_wants_to_be_confirmed(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    connect(acme, URL)
    journey_of(acme, STEP)
    enter(server, journey_of(acme, DAY, {**STEP, "id": "later"}, key="inside"))
    journey_of(acme, key="inside", active=False)
    journey_of(acme, STEP, key="closed", active=False)
    narrow = {**INPUTS, "required": ["cc"], "properties": {"to": {}, "text": {}, "cc": {}}}
    body = {"to": "{{ inputs.to }}"}
    with pytest.raises(BreaksJourneys) as refused:
        connect(acme, URL, inputs=narrow, body=body)
    assert refused.value.message == (
        "By this, journeys could not send any more: inside, step later: cc is required by the connection.; "
        "inside, step later: n is no input of the connection.; welcome, step mail: cc is required by the connection.; "
        "welcome, step mail: n is no input of the connection."
    )
    assert Connection.objects.get().definition["inputs"] == INPUTS
    connect(acme, URL, inputs=narrow, body=body, confirmed=True)
    assert Connection.objects.get().definition["inputs"] == narrow


def test_what_is_read_of_an_answer_and_not_kept_is_a_warning_for_it_may_be_kept_tomorrow(acme: Workspace) -> None:
    note = {"id": "note", "type": "update_profile", "attributes": {"id": {"$value": "steps.mail.messageId"}}}
    case = {"if": {"field": "steps.mail.status", "op": "lt", "value": 300}, "next": None}
    ask = {"id": "ask", "type": "webhook", "url": URL, "keep": {"left": "left"}}
    content: dict[str, Any] = {
        "steps": [STEP, note, {"id": "which", "type": "branch", "cases": [case]}, ask],
        "exit_on": [{"if": {"field": "steps.ask.left", "op": "eq", "value": 0}}],
    }

    def places(**fields: Any) -> list[tuple[str, str | None]]:
        connect(acme, URL, **fields)
        saved = save_journey(workspace=acme, key="welcome", now=timezone.now(), **content)
        return [(one.place, one.step_id) for one in saved.warnings]

    unknown, branch = ("steps[1].attributes.id.$value", "note"), ("steps[2].cases[0].if", "which")
    assert places() == [unknown, branch]
    assert places(keep={"id": "id"}) == [unknown]
    assert places(keep={"messageId": "id"}) == []


def test_one_that_is_used_cannot_be_deleted(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    saved = connect(acme, URL).row
    journey = journey_of(acme, DAY, STEP)
    with pytest.raises(ConnectionInUse, match="Journeys send by mailer: welcome"):
        CONNECTIONS.delete(saved)
    enter(server, journey)
    journey_of(acme, DAY, active=False)
    with pytest.raises(ConnectionInUse):  # somebody is inside
        CONNECTIONS.delete(saved)
    Enrollment.objects.update(due_at="2020-01-01T00:00Z")
    walk()
    Enrollment.objects.update(state="exited", due_at=None)
    CONNECTIONS.delete(saved)
    assert AuditEntry.objects.filter(object_kind="connection", action="deleted").exists()


def test_a_variable_that_a_connection_reads_cannot_be_deleted(acme: Workspace) -> None:
    VARIABLES.save(workspace=acme, key="shop", value="Garden", now=timezone.now())
    connect(acme, URL, body={**BODY, "shop": "{{ vars.shop }}"})
    with pytest.raises(VariableInUse, match="the connection mailer"):
        VARIABLES.delete(Variable.objects.get())
    assert messages(acme, body={"shop": "{{ vars.other }}"}) == [
        "body.shop reads vars.other, but the workspace has no variable of this name."
    ]


def test_the_same_again_changes_nothing(acme: Workspace) -> None:
    assert [connect(acme, URL).outcome for _ in range(2)] == ["created", "unchanged"]
    assert set(definition(URL)) <= set(FIELDS)

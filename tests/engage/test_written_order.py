"""What people write as JSON is read, shown and delivered with its names in the order in which they were written."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.db.models import JSONField

from bridge.models import Message
from engage.database.written_order import InWrittenOrder
from engage.models import App, Workspace
from tests.bridge.in_app.deliveries import deliver
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory

LATE_FIRST = {"zz": {"type": "string"}, "y": {"type": "string"}, "xxx": {"type": "string"}}
FIELDS = {
    "how_was_your_stay": {"type": "number", "label": "How was it?", "options": [{"value": 5, "label": "Good"}]},
    "b": {"type": "string", "placeholder": "Say more", "multiline": True},
    "any": {"type": "boolean"},
}
SCHEMA = {"type": "object", "required": ["y"], "properties": LATE_FIRST}
TEST = {"field": "customer.plan", "value": "pro", "op": "eq"}
WRITTEN: dict[str, dict[str, Any]] = {
    "messages/{}/survey": {
        "forms": [{"id": "f", "fields": FIELDS}], "status": "active",
        "content": {"kind": "card", "form": "f", "title": "?", "data": {"zz": 1, "y": 2}},
    },
    "connections/{}/mail": {
        "name": "Mail", "channel": "email", "url": "https://mail.example/send",
        "body": {"to": 1, "a": 2}, "inputs": SCHEMA,
    },
    "journeys/{}/welcome": {"name": "W", "payloadSchema": SCHEMA, "entryConditions": {"all": [TEST]}, "steps": []},
    "segments/{}/pro": {"name": "Pro", "conditions": {"any": [TEST]}},
}  # fmt: skip


def _path(path: str, workspace: Workspace) -> str:
    return f"/api/v1/{path.format(workspace.id)}"


@pytest.mark.django_db
@each("path", [*WRITTEN])
def test_a_definition_is_read_as_it_was_written(acme: Workspace, server: ServerClient, path: str) -> None:
    def put(body: Any) -> Any:
        answer = server.put(_path(path, acme), body)
        if answer.status_code == 428:
            answer = server.put(_path(path, acme), body, headers={"If-Match": "*"})
        assert answer.status_code < 300, answer.json()
        return answer.json()["data"]

    put(WRITTEN[path])
    turned = json.loads(json.dumps(WRITTEN[path]), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    for body in (WRITTEN[path], turned):  # another order alone is kept as well
        put(body)
        found = server.get(_path(path, acme)).json()["data"]
        found = found.get("definition", found)
        for name, value in body.items():
            if isinstance(value, dict | list):
                assert json.dumps(found[name]) == json.dumps(value)


@pytest.mark.django_db
def test_a_page_gets_the_questions_as_they_were_written(acme: Workspace, server: ServerClient) -> None:
    path = "messages/{}/survey"
    assert server.put(_path(path, acme), WRITTEN[path]).status_code < 300
    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    deliver(ada, message_id="survey")
    sdk = SdkClient(AppFactory.create(workspace=acme, in_app=App.InApp.OPEN))
    (message,) = sdk.get("/api/v1/sdk/messages?external_id=ada").json()["data"]["messages"]
    assert json.dumps(message["forms"][0]["fields"]) == json.dumps(FIELDS)


def test_each_column_of_a_definition_that_holds_json_keeps_its_order() -> None:
    for model in apps.get_models():
        if issubclass(model, InWrittenOrder):
            own = {field.name for field in model._meta.concrete_fields if isinstance(field, JSONField)}
            assert own == {*model.WRITTEN, "key_orders"}


@pytest.mark.django_db
@each(
    "rule, place",
    [
        ({"options": [{"value": "a", "label": "A"}]}, "options[0] must be a number"),
        ({"options": []}, "options must hold at least one"),
        ({"options": [{"value": 1}]}, "options[0].label is required"),
        ({"options": [{"value": 1, "label": "A"}], "values": [1]}, "values cannot stand beside options"),
        ({"label": 7}, "label must be"), ({"multiline": "yes"}, "multiline must be"),
    ],
)  # fmt: skip
def test_how_a_field_looks_is_checked(acme: Workspace, server: ServerClient, rule: dict[str, Any], place: str) -> None:
    forms = [{"id": "f", "fields": {"n": {"type": "number", **rule}}}]
    answer = server.put(_path("messages/{}/survey", acme), {"forms": forms})
    assert answer.status_code in {400, 422}
    assert f"forms[0].fields.n.{place}" in answer.json()["message"]
    assert not Message.objects.exists()

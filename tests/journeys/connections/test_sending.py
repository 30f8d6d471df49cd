"""The step `send`: by a connection, with what a webhook step promises."""

import json
from typing import Any

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.journey.authoring import InvalidJourney
from journeys.models import Connection, Enrollment, StepRun, WebhookCircuit, WebhookDelivery
from journeys.tasks import walk
from journeys.variable.resource import VARIABLES
from tests.journeys.connections.made import BODY, INPUTS, STEP, connect, enter, history, journey_of
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import customers_path, data
from tests.support.clients import ServerClient
from tests.support.factories import DAY, JourneyFactory
from tests.support.receiver import Receiver

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com", attributes={"name": "Ada"})]


def due_again() -> None:
    Enrollment.objects.filter(state="active").update(due_at="2020-01-01T00:00Z")


def look_up(server: ServerClient, enrollment: Enrollment) -> Any:
    return data(server.get(f"/api/v1/journeys/{enrollment.workspace_id}/enrollments/{enrollment.id}"), status=200)


@pytest.mark.slow
def test_what_arrives_is_signed_and_typed_and_the_journey_goes_on(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    VARIABLES.save(workspace=acme, key="shop", value="Garden", now=timezone.now())
    connect(
        acme, receiver.url("/first/500/then/200"), body={**BODY, "Shop": "{{ vars.shop }}", "Who": "{{ customer.id }}"}
    )
    enrollment = enter(server, journey_of(acme, STEP), {"n": 42})
    send()
    make_due()
    send()
    walk()
    first, second = receiver.arrived
    assert json.loads(second.body) == {
        "To": "ada@example.com", "Text": "Hello Ada", "n": 42, "Shop": "Garden", "Who": ada.id,
    }  # fmt: skip
    assert first.webhook_id == second.webhook_id == f"msg_{enrollment.id}_0"
    assert second.headers["x-token"] == "hush"
    assert history(enrollment) == [("mail", "done")]
    told = look_up(server, enrollment)["steps"][0]
    assert told["webhook"]["headers"] == {"Content-Type": "application/json", "X-Token": "***"}
    assert (told["type"], told["missing"]) == ("send", [])


def test_a_required_input_without_a_value_skips_the_step_with_its_reason(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url())
    step = {**STEP, "inputs": {"to": " {{ customer.nothing }} ", "text": "{{ api.payload.text }}"}, "onFailure": "exit"}
    journey = journey_of(acme, step, DAY)
    enrollment = enter(server, journey, {"text": "Hello"})
    assert history(enrollment) == [("mail", "skipped"), ("day", "waiting")]
    step_told = look_up(server, enrollment)["steps"][0]
    assert step_told["detail"] == "The connection 'mailer' requires a value for to."
    assert not WebhookDelivery.objects.exists()
    stats = data(server.get(f"/api/v1/journeys/{acme.id}/{journey.id}/stats"), status=200)
    assert stats["steps"]["mail"] == {
        "entered": 1,
        "waiting": 0,
        "done": 0,
        "failed": 0,
        "skipped": 1,
        "interrupted": 0,
    }
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, {"external_id": "ada"}), status=200)["rehearsal"]["steps"][0]
    assert (tried["state"], "to, text" in tried["detail"]) == ("skipped", True)


@pytest.mark.parametrize(("on_failure", "state"), [("continue", "active"), ("exit", "exited")])
def test_inputs_that_do_not_meet_the_schema_fail_without_their_value(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, on_failure: str, state: str
) -> None:
    connect(acme, receiver.url())
    step = {**STEP, "onFailure": on_failure}
    enrollment = enter(server, journey_of(acme, step, DAY), {"n": "a secret of Ada"})
    assert Enrollment.objects.get(id=enrollment.id).state == state
    run = StepRun.objects.get(enrollment=enrollment, step_id="mail")
    assert (run.state, run.detail) == ("failed", 'inputs.n does not meet type: "integer".')


def test_a_changed_connection_holds_at_once_for_those_inside(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url("/ok?before"))
    enter(server, journey_of(acme, DAY, STEP))
    connect(acme, receiver.url("/ok?after"), headers={"X-Token": "***"})
    due_again()
    walk()
    send()
    assert [(one.path, one.headers["x-token"]) for one in receiver.arrived] == [("/ok?after", "hush")]


@pytest.mark.parametrize("gone", [False, True])
def test_a_connection_that_lacks_its_secret_or_is_gone_fails_its_steps_with_that_reason(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, gone: bool
) -> None:
    connect(acme, receiver.url())
    enrollment = enter(server, journey_of(acme, DAY, STEP, {**DAY, "id": "then"}))
    if gone:
        Connection.objects.all().delete()
    else:
        connect(acme, receiver.url(), headers={"X-Token": None})
    due_again()
    walk()
    assert history(enrollment) == [("day", "done"), ("mail", "failed"), ("then", "waiting")]
    why = (
        "has no connection 'mailer' any more"
        if gone
        else "'mailer' is incomplete: there is no value for headers.X-Token"
    )
    assert why in StepRun.objects.get(step_id="mail").detail


def test_a_secret_url_is_called_and_shown_nowhere(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    connect(acme, receiver.url("/ok/hush-path"), secretUrl=True, headers={})
    enrollment = enter(server, journey_of(acme, STEP))
    assert "hush-path" not in repr(list(WebhookDelivery.objects.values("url"))) + repr(look_up(server, enrollment))
    with database.cursor() as cursor:
        for table in ("journeys_webhookdelivery", "journeys_connection", "engage_auditentry", "journeys_steprun"):
            cursor.execute(f'SELECT string_agg(r::text, chr(10)) FROM "{table}" AS r')
            assert "hush-path" not in str(cursor.fetchone()[0]), table
    send()
    assert [(one.path, ":url" in one.headers) for one in receiver.arrived] == [("/ok/hush-path", False)]
    exported = server.get(customers_path(acme, f"{ada.id}/export")).content.decode()
    assert "webhooks" in exported
    assert "hush-path" not in exported + caplog.text


def test_the_circuit_is_the_connections_and_not_the_steps(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    saved = connect(acme, receiver.url("/status/500")).row
    enter(server, journey_of(acme, STEP, {**STEP, "id": "again"}))
    send()
    assert WebhookCircuit.objects.get().source == f"connection:{saved.id}"


def test_the_rate_of_a_connection_is_kept_beside_others_to_its_host(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url("/ok?paced"), per_second=0.5)
    plain = {"id": "call", "type": "webhook", "url": receiver.url("/ok?plain"), "body": {}}
    for number in range(3):
        enter(server, journey_of(acme, STEP, key=f"paced-{number}"))
        enter(server, JourneyFactory.create(workspace=acme, steps=[plain]))
    send(seconds=0.4)
    paths = sorted(one.path for one in receiver.arrived)
    assert paths == ["/ok?paced", "/ok?plain", "/ok?plain", "/ok?plain"]


def test_markup_in_values_is_escaped_where_the_connection_says_so(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    properties: dict[str, Any] = {name: {} for name in ("a", "b", "c", "d", "e")}
    body = {name: {"$value": f"inputs.{name}"} for name in properties}
    connect(
        acme, receiver.url(), html=["a", "b", "c", "e"], body=body, inputs={"type": "object", "properties": properties}
    )
    inputs = {
        "a": "<p>{{ api.payload.x }} {{ api.payload.x | escape }} {{ api.payload.x | raw }}</p>",
        "b": {"$value": "api.payload.list"},
        "c": "<p>{{ api.payload.x | escape | append: api.payload.x }}</p>",
        "d": "{{ api.payload.x }}",
        "e": "<b>literal</b>",
    }
    enter(server, journey_of(acme, {**STEP, "inputs": inputs}), {"x": "<i>", "list": ["<i>", {"k": "<i>"}]})
    send()
    assert json.loads(receiver.arrived[0].body) == {
        "a": "<p>&lt;i&gt; &lt;i&gt; <i></p>", "b": ["&lt;i&gt;", {"k": "&lt;i&gt;"}],
        "c": "<p>&amp;lt;i&amp;gt;&lt;i&gt;</p>", "d": "<i>", "e": "<b>literal</b>",
    }  # fmt: skip


def statements(server: ServerClient, journey: Any) -> int:
    with CaptureQueriesContext(database) as captured:
        enter(server, journey)
    return len(captured)


def test_it_costs_a_statement_for_a_batch_and_others_none(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url())
    plain = {"id": "call", "type": "webhook", "url": receiver.url(), "body": {}}
    costs = [
        statements(server, journey_of(acme, step, key=f"j-{number}"))
        for number, step in enumerate([plain, plain, STEP])
    ]
    assert costs[2] == costs[1] + 1


def test_what_can_never_be_sent_is_a_mistake(acme: Workspace, rival: Workspace, receiver: Receiver) -> None:
    connect(acme, receiver.url(), inputs={**INPUTS, "properties": {**INPUTS["properties"], "to": {"type": "string"}}})
    connect(rival, receiver.url(), key="theirs")

    def mistakes(**fields: Any) -> list[str]:
        with pytest.raises(InvalidJourney) as refused:
            journey_of(acme, {**STEP, **fields})
        return [one.message.removeprefix("steps[0].") for one in refused.value.all_found()]

    text = {"text": "x"}
    assert mistakes(connection="theirs") == [
        "connection is 'theirs', but the workspace has no connection with this key."
    ]
    assert mistakes(inputs={}) == [
        "inputs.to is required by the connection.",
        "inputs.text is required by the connection.",
    ]
    assert mistakes(inputs={**text, "to": ""}) == ["inputs.to must have a value: the connection requires it."]
    assert mistakes(inputs={**text, "to": "a", "cc": "b"}) == ["inputs.cc is no input of the connection."]
    connect(acme, receiver.url(), inputs={**INPUTS, "additionalProperties": False})
    assert mistakes(inputs={**text, "to": "a", "cc": "b"}) == ["inputs.cc is no input of the connection."]
    assert mistakes(inputs={"to": "a", "text": "x" * 41}) == ["inputs.text does not meet maxLength: 40."]
    assert mistakes(inputs={**text, "to": 7, "n": 1.5}) == [
        'inputs.to does not meet type: "string".', 'inputs.n does not meet type: "integer".',
    ]  # fmt: skip
    assert mistakes(inputs=[]) == ["inputs must be an object, but an array came."]
    assert mistakes(inputs={**text, "to": "{{ inputs.to }}"})[0].startswith(
        "inputs.to reads inputs.to, which never has"
    )
    assert mistakes(connection=7, onFailure="stop") == [
        "connection must be a string, but a number came.", "onFailure must be one of continue, exit, not 'stop'.",
    ]  # fmt: skip


def test_all_that_is_wrong_with_a_step_is_told_at_once(server: ServerClient, acme: Workspace) -> None:
    connect(acme, "https://mail.example/send")
    inputs = {"to": "{{ vars.nope }}", "cc": "b"}
    steps = [{**STEP, "inputs": inputs, "connection": key, "onFailure": "stop", "id": key} for key in ("mailer", "no")]
    answer = server.put("/api/v1/journeys/acme/welcome", {"steps": steps})
    assert answer.status_code == 422
    assert sorted(one["place"] for one in answer.json()["details"]) == [
        "steps[0].inputs.cc", "steps[0].inputs.text", "steps[0].inputs.to", "steps[0].onFailure",
        "steps[1].connection", "steps[1].inputs.to", "steps[1].onFailure",
    ]  # fmt: skip


def test_a_connection_has_what_a_request_has_and_what_it_keeps_is_read(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    ok = {"field": "answer.body.sent", "op": "eq", "value": 2}
    url = receiver.url("/answer?says=disable&body=%7B%22sent%22:2%7D")
    connect(
        acme,
        url,
        body=None,
        headers={},
        form={"To": "{{ inputs.to }}", "n": {"$value": "inputs.n"}},
        auth={"bearer": "hush-hush"},
        ok=ok,
        keep={"sent": "sent"},
        giveUpAfter="PT10M",
    )
    note = {"id": "note", "type": "update_profile", "attributes": {"sent": {"$value": "steps.mail.sent"}}}
    enrollment = enter(server, journey_of(acme, STEP, note), {"n": 42})
    send()
    walk()
    [request] = receiver.arrived
    assert sorted(request.body.split(b"&")) == [b"To=ada%40example.com", b"n=42"]
    assert request.headers["authorization"] == "Bearer hush-hush"
    ada.refresh_from_db()
    assert ada.attributes["sent"] == 2
    assert history(enrollment) == [("mail", "done"), ("note", "done")]
    [circuit] = WebhookCircuit.objects.all()  # the connection is held, as its receiver asked
    assert (circuit.source[:11], circuit.open_until is not None) == ("connection:", True)


def test_what_a_connection_keeps_of_its_answer_is_read_by_later_steps(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url(), keep={"said": "nothing"}, ok={"field": "answer.status", "op": "eq", "value": 200})
    values = {"status": {"$value": "steps.mail.status"}, "said": "{{ steps.mail.said }}"}
    enrollment = enter(server, journey_of(acme, STEP, {"id": "note", "type": "update_profile", "attributes": values}))
    send()
    walk()
    ada.refresh_from_db()
    assert (ada.attributes["status"], ada.attributes["said"]) == (200, "")
    assert history(enrollment) == [("mail", "done"), ("note", "done")]

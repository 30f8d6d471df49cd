"""Whatever takes a tenant's expression ends within its budget, however large the document is that it is given.

Each place that evaluates a condition, checks a schema or renders a template has a row, and each row a test here that
tries it with what is slow. What the event, the click or the write was for is done all the same.
"""

import ast
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone

from customers.models import Customer, Event
from engage.models import App, Workspace
from engage.process.budget import CALL, ITEM, TURN
from journeys.engine.operations.sending_once import send_once
from journeys.journey.asked import GOALS
from journeys.models import Enrollment, EnrollmentJob, GoalWatch, Journey, StepRun
from journeys.steps.definition import KINDS
from journeys.steps.description import exit_rule, fields_of, flat
from tests.bridge.in_app.deliveries import CONTENT, deliver, offer
from tests.journeys.connections.made import connect, journey_of
from tests.journeys.events.reporting import YEAR, event_journey, report
from tests.journeys.walking.stories import enter, history
from tests.journeys.webhooks.standing import send
from tests.support.calls import customers_path, data, let_workers_walk, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory, JourneyFactory, crowd
from tests.support.receiver import Receiver
from tests.support.slow_machine import SECONDS, SlowMachine, slow_machine
from tests.support.trees import ROOT

pytestmark = pytest.mark.django_db
LARGE: dict[str, Any] = {"list": [[1]] * 10_000}
FIGURE = "ms of processor time."
DONE = {"id": "done", "type": "update_profile", "attributes": {"done": True}}
LOOP = "{% for a in (1..1000) %}{% if a == 0 %}{% endif %}{% endfor %}"
SCHEMA = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "array"}}}}


def slow(root: str) -> dict[str, Any]:
    return {"field": f"{root}.list", "op": "contains", "value": "x"}


# The places that evaluate, check or render, each with the test below that tries it.
ASKS = {"evaluate", "holds", "errors_in", "iter_errors", "Rendering", "why_not", "values_that_decide", "rendering"}
PLACES = {
    "bridge/in_app/due.py:_delivery": "test_a_fetch_answers_what_is_ready",
    "customers/conditions/explain.py:_decide": "test_a_listening_journey_takes_in_nobody",
    "customers/conditions/explain.py:findings_of": "test_a_listening_journey_takes_in_nobody",
    "journeys/journey/studio/preview.py:previewed": "test_a_step_fails",
    "journeys/journey/past_moments.py:past_for": "test_a_save_looks_at_as_many_customers_as_there_is_time_for",
    "journeys/engine/entering/by_event.py:refuses": "test_a_listening_journey_takes_in_nobody",
    "journeys/engine/entering/entry_conditions.py:_reasons": "(in SQL, which has a limit of its own)",
    "journeys/engine/operations/sending_once.py:send_once": "test_a_connection_is_tried_in_time",
    "journeys/steps/branch.py:_go": "test_a_step_fails",
    "journeys/steps/branch.py:begin": "test_a_step_fails",
    "journeys/steps/context.py:rendering": "test_a_step_fails",
    "journeys/steps/delay.py:begin": "test_a_step_fails",
    "journeys/steps/events.py:matches": "test_what_listens_is_not_there_this_time",
    "journeys/steps/exit_rules.py:holding": "test_what_listens_is_not_there_this_time",
    "journeys/steps/in_app.py:_begun": "test_a_step_fails",
    "journeys/steps/inputs.py:problems": "test_inputs_are_checked_in_time",
    "journeys/steps/payloads.py:mistakes_in": "test_a_payload_is_refused_in_time",
    "journeys/steps/schemas.py:errors_in": "test_inputs_are_checked_in_time",
    "journeys/steps/sending.py:_begun": "test_a_step_fails",
    "journeys/steps/sending.py:rendering": "test_a_step_fails",
    "journeys/steps/track_event.py:begin": "test_a_step_fails",
    "journeys/steps/update_profile.py:begin": "test_a_step_fails",
    "journeys/steps/wait_until.py:begin": "test_what_listens_is_not_there_this_time",
    "journeys/steps/wait_until.py:holds": "test_what_listens_is_not_there_this_time",
    "journeys/steps/wait_until.py:resume": "test_what_listens_is_not_there_this_time",
    "journeys/engine/walking/event_dry_runs.py:_missed": "test_a_listening_journey_takes_in_nobody",
    "journeys/engine/walking/watching.py:_changed": "test_what_listens_is_not_there_this_time",
    "journeys/engine/webhooks/answers.py:_found": "test_a_rule_of_answers_fails",
    "journeys/engine/webhooks/answers.py:_read": "test_a_rule_of_answers_fails",
    "journeys/engine/webhooks/by_connection.py:_filled": "test_what_waits_is_sent_as_it_was",
}
# The fields of definitions that are conditions.
CONDITIONS = {
    "branch.cases.if": "test_a_step_fails",
    "exit.where": "test_what_listens_is_not_there_this_time",
    "exit.if": "test_what_listens_is_not_there_this_time",
    "goals.where": "test_what_listens_is_not_there_this_time",
    "wait_for_event.where": "test_what_listens_is_not_there_this_time",
    "wait_until.if": "test_what_listens_is_not_there_this_time",
    "webhook.ok": "test_a_rule_of_answers_fails",
}


def asking(node: ast.AST, function: str = "") -> Iterator[str]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call):
            called = inner.func
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in ASKS and not (name == "evaluate" and isinstance(called, ast.Attribute)):  # that is a template's
                yield function
        yield from asking(inner, inner.name if isinstance(inner, ast.FunctionDef) else function)


def conditions(fields: Any, place: str) -> Iterator[str]:
    for field in flat(fields):
        if field["type"] == "condition":
            yield f"{place}.{field['name']}"
        yield from conditions(field.get("fields", ()), f"{place}.{field['name']}")


def test_each_place_and_each_condition_of_a_definition_has_a_row() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{function}"
        for app in ("bridge", "config", "customers", "engage", "journeys")
        for path in (ROOT / app).rglob("*.py")
        for function in asking(ast.parse(path.read_text()))
        if function and path.name != "evaluate.py"
    }
    assert found == PLACES.keys()
    written = {one for kind in KINDS for one in conditions(fields_of(kind), kind.type)}
    written |= {*conditions([exit_rule()], "exit"), *conditions(GOALS["fields"], "goals")}
    assert written == CONDITIONS.keys()
    tests = {name for name in globals() if name.startswith("test_")}
    assert {test for test in [*PLACES.values(), *CONDITIONS.values()] if not test.startswith("(")} <= tests


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SlowMachine:
    return slow_machine(monkeypatch)


def in_time(machine: SlowMachine, seconds: float, *, expressions: int = 1) -> None:
    """So much has gone by, and a look at the clock more where each expression began."""
    assert machine.seconds <= seconds + SECONDS * (expressions + 1)
    machine.seconds = 0.0


def told(enrollment: Enrollment) -> dict[str, str]:
    return dict(StepRun.objects.filter(enrollment=enrollment).values_list("step_id", "detail"))


def test_a_step_fails(machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer) -> None:
    """As by any other failure, and it costs the next of the batch nothing."""
    offer(acme)
    url = "https://mail.example/"
    texts: list[dict[str, Any]] = [
        {"id": "write", "type": "update_profile", "attributes": {"a": LOOP}},
        {"id": "track", "type": "track_event", "eventName": "a", "eventProperties": {"a": LOOP}},
        {"id": "show", "type": "in_app", "message": "offer", "values": {"a": LOOP}},
        {"id": "call", "type": "webhook", "url": url, "body": {"a": LOOP}},
        {"id": "soon", "type": "delay", "at": LOOP, "onMissing": "continue"},
    ]
    which = {"id": "which", "type": "branch", "cases": [{"if": slow("api.payload"), "next": None}], "else": "write"}
    journey = JourneyFactory.create(workspace=acme, steps=[which, *texts, DONE])
    one = enter(server, journey, ada, **LARGE)
    other = enter(server, JourneyFactory.create(workspace=acme, steps=[DONE]), CustomerFactory.create(workspace=acme))
    machine.seconds = 0.0
    let_workers_walk()
    in_time(machine, (1 + len(texts)) * TURN, expressions=1 + len(texts))
    assert history(one) == [*((step["id"], "failed") for step in [which, *texts]), ("done", "done")]
    assert told(one)["which"] == f"Case 1 of 1 takes more than 100 {FIGURE} Goes on to 'write'."
    assert FIGURE in told(one)["write"]
    assert history(other) == [("done", "done")]
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    rehearsal = data(server.post(path, {"customerId": ada.id, "payload": LARGE}), status=200)["rehearsal"]
    in_time(machine, CALL, expressions=4)
    assert rehearsal["end"]["state"] == "unfinished"
    assert {one["state"] for one in rehearsal["steps"]} == {"failed"}


def test_what_listens_is_not_there_this_time(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    """The event and the write are kept, and lead to whatever else they lead to."""
    where = slow("event.properties")
    goal = {"key": "bought", "event": "ordered", "within": "P7D"}
    waits = [
        [{"id": "wait", "type": "wait_for_event", "event": "ordered", "where": where, "timeout": "P3D"}],
        [{"id": "wait", "type": "wait_until", "if": slow("customer"), "timeout": "P3D"}],
    ]
    exit_on = [{"event": "ordered", "where": where}, {"if": slow("api.payload")}]
    for steps in waits:
        journey = JourneyFactory.create(
            workspace=acme, steps=[DONE, *steps], steps__exit_on=exit_on, goals=[{**goal, "where": where}]
        )
        enter(server, journey, ada, **LARGE)
    inside = JourneyFactory.create(workspace=acme, steps=[YEAR], steps__exit_on=[{"event": "ordered"}], goals=[goal])
    enter(server, inside, ada)
    machine.seconds = 0.0
    let_workers_walk()
    in_time(machine, 4 * TURN, expressions=8)
    body = {"customerId": ada.id, "attributes": LARGE}
    data(server.put(customers_path(acme), body), status=200)
    in_time(machine, CALL, expressions=2)
    report(server, ada, **LARGE)
    in_time(machine, CALL, expressions=8)
    let_workers_walk()
    assert Event.objects.filter(name="ordered").count() == 1
    assert sorted(Enrollment.objects.values_list("state", "step_id")) == [
        ("active", "wait"), ("active", "wait"), ("exited", "year"),
    ]  # fmt: skip
    assert [watch.journey_id for watch in GoalWatch.objects.exclude(reached_at=None)] == [inside.id]


def test_a_listening_journey_takes_in_nobody(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    for number in range(6):
        event_journey(acme, key=f"slow-{number}", event_where=slow("event.properties"))
    event_journey(acme, key="quick", event_where={"field": "event.properties.n", "op": "eq", "value": 7})
    report(server, ada, n=7, **LARGE)
    in_time(machine, CALL, expressions=2 * 6)
    assert [job.trigger.journey.key for job in EnrollmentJob.objects.all()] == ["quick"]
    slowest = Journey.objects.get(key="slow-0")
    stats = data(server.get(f"/api/v1/journeys/{acme.id}/{slowest.id}/stats"), status=200)
    assert stats["events"] == {"too_slow": 1}
    machine.seconds = 0.0
    body = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"n": 7, **LARGE}}
    (tried,) = data(server.post(customers_path(acme, "events?dryRun=true"), body), status=200)["events"]
    in_time(machine, CALL, expressions=14)
    missed = {one["key"]: one for one in tried["not"]}
    assert {missed[f"slow-{number}"]["reason"] for number in range(6)} == {"too_slow"}
    assert missed["slow-0"]["details"][0].endswith(FIGURE)


def test_a_rule_of_answers_fails(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    body = quote('{"list": [[1]FILL]}')
    url = receiver.url(f"/answer?body={body}&with=,[1]&fill=12000")
    call = {"id": "call", "type": "webhook", "url": url, "ok": slow("answer.body"), "keep": {"a": "list[0]"}}
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[call, DONE]), ada)
    let_workers_walk()
    machine.seconds = 0.0
    send()
    in_time(machine, TURN)
    let_workers_walk()
    runs = StepRun.objects.filter(enrollment=enrollment, step_id="call")
    assert list(runs.values_list("state", flat=True)) == ["failed"]
    assert runs.get().detail == f"The rule ok of its step takes more than 100 {FIGURE}"


def test_inputs_are_checked_in_time(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    connect(acme, receiver.url(), inputs=SCHEMA, body={})
    step = {"id": "mail", "type": "send", "connection": "mailer", "inputs": {"list": {"$value": "api.payload.list"}}}
    enrollment = enter(server, journey_of(acme, step, DONE), ada, **LARGE)
    machine.seconds = 0.0
    let_workers_walk()
    in_time(machine, TURN)
    assert history(enrollment) == [("mail", "failed"), ("done", "done")]
    assert told(enrollment)["mail"] == f"To check inputs takes more than 100 {FIGURE}"
    machine.seconds = 0.0
    steps = [{**step, "inputs": LARGE}]
    told_of = server.put(f"/api/v1/journeys/{acme.id}/fixed", {"name": "Fixed", "steps": steps})
    in_time(machine, CALL)
    assert told_of.status_code == 422
    assert told_of.json()["details"][0]["place"] == "steps[0].inputs"
    assert told_of.json()["message"].endswith(FIGURE)
    assert not Journey.objects.filter(key="fixed").exists()
    connect(acme, receiver.url(), inputs={"type": "object", "additionalProperties": True}, body={}, confirmed=True)
    journey_of(acme, *steps, key="fixed")
    machine.seconds = 0.0
    body = {"url": receiver.url(), "inputs": SCHEMA}
    refusal = server.put(f"/api/v1/connections/{acme.id}/mailer", body, headers={"If-Match": "*"})
    in_time(machine, CALL)
    assert refusal.status_code == 422
    assert "fixed, step mail, takes more than" in refusal.json()["message"]


def test_what_waits_is_sent_as_it_was(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    """Where the inputs of a changed connection take too long to be checked again."""
    connect(acme, receiver.url(), inputs={"type": "object", "additionalProperties": True}, body={})
    step = {"id": "mail", "type": "send", "connection": "mailer", "inputs": {"list": {"$value": "api.payload.list"}}}
    enter(server, journey_of(acme, step), ada, **LARGE)
    let_workers_walk()
    connect(acme, receiver.url(), inputs=SCHEMA, body={}, confirmed=True)
    machine.seconds = 0.0
    send()
    in_time(machine, TURN)
    assert len(receiver.arrived) == 1


def test_a_save_looks_at_as_many_customers_as_there_is_time_for(
    machine: SlowMachine, server: ServerClient, acme: Workspace
) -> None:
    crowd(acme, 100)
    steps = [{"id": "soon", "type": "delay", "at": "{{ customer.departs }}" + LOOP}]
    answer = server.put(f"/api/v1/journeys/{acme.id}/soon", {"name": "Soon", "steps": steps})
    in_time(machine, CALL / 10, expressions=4)
    assert answer.status_code == 201


@pytest.mark.django_db(transaction=True)
def test_a_connection_is_tried_in_time(machine: SlowMachine, acme: Workspace, receiver: Receiver) -> None:
    connection = connect(acme, receiver.url(), inputs=SCHEMA, body={}).row
    tried = send_once(connection, dict(LARGE), now=timezone.now())
    in_time(machine, TURN)
    assert (tried.ok, tried.verdict) == (False, f"To check inputs takes more than 100 {FIGURE}")


def test_a_payload_is_refused_in_time(
    machine: SlowMachine, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    journey = JourneyFactory.create(workspace=acme, payload_schema=SCHEMA)
    answer = trigger(server, journey, {"external_id": "ada", "payload": LARGE})
    in_time(machine, CALL)
    assert (answer.status_code, answer.json()["code"]) == (422, "payload_invalid")
    assert answer.json()["message"] == f"To check payload takes more than 300 {FIGURE} Send less at once."
    recipients = [{"external_id": "ada", "payload": LARGE}, {"external_id": "ada"}]
    told_of = data(trigger(server, journey, {"recipients": recipients}))
    in_time(machine, CALL / 3 + 2 * ITEM)
    assert [(one["index"], one["code"]) for one in told_of["refused"]] == [(0, "payload_invalid")]


def test_a_fetch_answers_what_is_ready(machine: SlowMachine, acme: Workspace, ada: Customer) -> None:
    page = SdkClient(AppFactory.create(workspace=acme, in_app=App.InApp.OPEN))
    offer(acme)
    offer(acme, key="slow", content={**CONTENT, "title": LOOP})
    first = deliver(ada, priority=9, values={"coupon": "A"})
    for _ in range(40):
        deliver(ada, priority=5, message_id="slow", values={"coupon": "B"})
    machine.seconds = 0.0
    answer = page.get("/api/v1/sdk/messages?external_id=ada")
    in_time(machine, CALL, expressions=5)
    assert [one["deliveryId"] for one in data(answer, status=200)["messages"]] == [first.id]
    assert answer["ETag"].endswith('-"')  # of a part
    shown = {"call": "shown", "external_id": "ada", "messageId": "offer", "deliveryId": first.id}
    batch = page.post("/api/v1/sdk/bridge/batch", {"calls": [shown] * 20})
    in_time(machine, CALL + 20 * ITEM, expressions=20)
    assert {one["status"] for one in data(batch, status=200)["results"]} == {200}

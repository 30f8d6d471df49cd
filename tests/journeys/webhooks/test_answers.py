"""Requests as providers want them: forms and credentials, and what a step makes of the answer."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import quote

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.steering.holding import hold, resume
from journeys.engine.webhooks.circuits import try_now
from journeys.engine.webhooks.giving_up import give_up_late
from journeys.engine.webhooks.resending import resend
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import (
    Enrollment,
    Journey,
    SteeredHost,
    WebhookAttempt,
    WebhookCircuit,
    WebhookDelivery,
    WebhookHost,
)
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import customers_path, data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db
STOCK = {"items": [{"left": 3}, {"left": None}], "odd name": ["a"], "deep": {"b": [1.5, {"c": True}]}}
Walk = Callable[..., Enrollment]


def answer(receiver: Receiver, body: object = None, **query: object) -> str:
    given = query | ({} if body is None else {"body": body if isinstance(body, str) else json.dumps(body)})
    return receiver.url("/answer?" + "&".join(f"{name}={quote(str(value))}" for name, value in given.items()))


@pytest.fixture
def walks(server: ServerClient, acme: Workspace, ada: Customer) -> Walk:
    """Has Ada walk these steps, and sends what is due on the way."""

    def walk_them(*steps: dict[str, Any], payload: Any = None, rounds: int = 2, **journey: Any) -> Enrollment:
        written = [{"id": f"s{number}", "type": "webhook", **step} for number, step in enumerate(steps)]
        made = JourneyFactory.create(workspace=acme, steps=written, **journey)
        data(trigger(server, made, {"external_id": "ada", "payload": payload or {}}))
        for _ in range(rounds):
            let_workers_walk()
            send()
        let_workers_walk()
        return Enrollment.objects.get(journey=made)

    return walk_them


def last() -> WebhookDelivery:
    return WebhookDelivery.objects.latest("id")


FORM = {
    "To": "{{ customer.external_id }}", "n": {"$value": "api.payload.n"}, "yes": True, "half": 0.5, "big": 1e21,
    "void": None, "none": {"$value": "api.payload.nobody"}, "tags": {"$value": "api.payload.tags"},
    "of": {"a": [1, "ü"]}, "text": "a&b=c d/é{{ api.payload.evil }}",
}  # fmt: skip


def test_a_form_is_sent_as_providers_read_it(walks: Walk, receiver: Receiver) -> None:
    payload = {"n": 42, "tags": ["x y", 1, None, {"k": "v"}], "evil": "&To=else%00"}
    walks({"url": receiver.url(), "form": FORM}, payload=payload)
    [request] = receiver.arrived
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert sorted(request.body.split(b"&")) == sorted(
        b"To=ada&n=42&yes=true&half=0.5&big=1000000000000000000000&tags=x+y&tags=1&tags=%7B%22k%22%3A%22v%22%7D"
        b"&of=%7B%22a%22%3A%5B1%2C%22%C3%BC%22%5D%7D&text=a%26b%3Dc+d%2F%C3%A9%26To%3Delse%2500".split(b"&")
    )


def test_credentials_are_sent_and_not_stored_as_they_are(walks: Walk, receiver: Receiver) -> None:
    walks({"url": receiver.url(), "auth": {"basic": {"user": "key-ü", "password": "s3cret:x"}}})
    walks({"url": receiver.url(), "auth": {"bearer": "t0ken-of-theirs"}, "body": {}})
    assert [request.headers["authorization"] for request in receiver.arrived] == [
        "Basic a2V5LcO8OnMzY3JldDp4",
        "Bearer t0ken-of-theirs",
    ]
    with connection.cursor() as cursor:
        for table in ("journeys_webhookdelivery", "journeys_journeyrevision"):
            cursor.execute(f"SELECT string_agg(r::text, '') FROM {table} AS r")
            stored = str(cursor.fetchone()[0])
            assert not any(secret in stored for secret in ("s3cret", "t0ken", "a2V5LcO8"))


SENT = {"field": "answer.body.sent", "op": "eq", "value": True}


@pytest.mark.parametrize(
    ("ok", "query", "body", "result"),
    [
        (SENT, {}, {"sent": True}, "delivered: Answered 200."),
        (SENT, {}, {"sent": 1}, "failed: Answered 200. By the rule of its step, that is not ok."),
        (SENT, {}, "<html>", "failed: Answered 200. By the rule of its step, that is not ok."),
        (SENT, {"status": 409}, {"sent": True}, "delivered: Answered 409."),
        (SENT, {"status": 500}, {"sent": False}, "waiting: "),
        ({"field": "answer.headers.Content-Length", "op": "eq", "value": "2"}, {}, "[]", "delivered: Answered 200."),
        ({"field": "answer.status", "op": "in", "value": [200, 404]}, {"status": 404}, "", "delivered: Answered 404."),
        ({"field": "answer.status", "op": "eq", "value": 201}, {}, "",
         "failed: Answered 200. By the rule of its step, that is not ok."),
        (SENT, {"status": 503, "says": "abort-message"}, "",
         "failed: Answered 503. By the rule of its step, that is not ok. Its receiver asked not to send it again."),
        (None, {"status": 503, "says": "Abort-Message"}, "",
         "failed: Answered 503. Its receiver asked not to send it again."),
        (None, {"says": "abort-message"}, "", "delivered: Answered 200."),
    ],
)  # fmt: skip
def test_what_is_ok_is_decided_by_the_step(
    walks: Walk, receiver: Receiver, ok: Any, query: dict[str, Any], body: Any, result: str
) -> None:
    walks({"url": answer(receiver, body, **query), **({} if ok is None else {"ok": ok})})
    delivery = last()
    assert f"{delivery.state}: {delivery.result}" == result
    assert delivery.attempts == 1
    assert not WebhookHost.objects.exists() or query["status"] == 500 or "says" in query


def test_what_is_kept_is_read_by_templates_values_and_conditions(
    walks: Walk, receiver: Receiver, ada: Customer
) -> None:
    keep = {"left": "items[0].left", "none": "items[1].left", "odd": '["odd name"][0]', "deep": "deep.b", "no": "a.b"}
    kept = {"status": 202, "left": 3, "none": None, "odd": "a", "deep": [1.5, {"c": True}]}
    value = {name: {"$value": f"steps.s0.{name}"} for name in [*keep, "status"]}
    note = {
        "type": "update_profile",
        "attributes": {"kept": value, "text": "{{ steps.s0.left }} of {{ steps.s0.odd }}"},
    }
    case = {"if": {"field": "steps.s0.left", "op": "lt", "to": "steps.s0.status"}, "next": None}
    which = {"type": "branch", "cases": [case]}
    end = {"type": "exit", "reason": "No."}
    enrollment = walks({"url": answer(receiver, STOCK, status=202), "keep": keep}, note, which, end)
    ada.refresh_from_db()
    assert ada.attributes["kept"] == kept
    assert ada.attributes["text"] == "3 of a"
    assert enrollment.state == "completed"
    assert last().kept_answer == kept
    assert enrollment.step_runs.get(ordinal=1).missing == ["steps.s0.no"]


@pytest.mark.parametrize(
    ("spoiled", "mended"),
    [('"Ada \\ud83d"', "Ada \ufffd"), ('"\\u0000"', "\ufffd"), ("1" * 23, None), ("[NaN, 1]", [None, 1])],
)
def test_what_cannot_be_stored_spoils_no_other_value(
    walks: Walk, receiver: Receiver, spoiled: str, mended: Any
) -> None:
    body = f'{{"sent": true, "user": {spoiled}, "\\ud83d": 1}}'
    walks({"url": answer(receiver, body), "ok": SENT, "keep": {"user": "user"}})
    assert (last().state, last().kept_answer) == ("delivered", {"status": 200, "user": mended})


def test_the_last_answer_counts_and_no_answer_keeps_nothing(walks: Walk, receiver: Receiver, ada: Customer) -> None:
    note = {"type": "update_profile", "attributes": {"seen": {"$value": "steps.s0.n", "default": "none"}}}
    again = {"url": f"{receiver.url('/answer')}?status={{{{ steps.s0.status | default: 200 }}}}"}
    first = {"url": f"{answer(receiver, {'n': 1})}&x={{{{ customer.seen }}}}", "keep": {"n": "n"}}
    walks(first, note, again)
    ada.refresh_from_db()
    assert ada.attributes["seen"] == 1
    assert receiver.arrived[-1].path == "/answer?status=200"
    walks({"url": answer(receiver, {"n": 1}, status=404), "keep": {"n": "n"}}, note)
    ada.refresh_from_db()
    assert (ada.attributes["seen"], last().state, last().kept_answer) == (1, "failed", {"status": 404, "n": 1})
    walks({"url": receiver.url("/huge"), "keep": {"n": "n"}}, note)
    ada.refresh_from_db()
    assert (ada.attributes["seen"], last().state, last().kept_answer) == ("none", "failed", {"status": 200})
    assert last().result == "Its answer is larger than 64 KiB, so it cannot be read."


def test_too_much_to_keep_fails_and_is_never_blank(walks: Walk, receiver: Receiver) -> None:
    enrollment = walks({"url": answer(receiver, ["FILL"], fill=17_000), "keep": {"a": "[0]"}, "onFailure": "exit"})
    assert enrollment.exit_reason == (
        "The webhook 's0' failed. What is to be kept of its answer is 17021 bytes of JSON; the maximum is 16384."
    )
    assert last().kept_answer == {"status": 200}


def test_a_wait_and_an_exit_know_what_was_kept(
    walks: Walk, receiver: Receiver, server: ServerClient, acme: Workspace
) -> None:
    where = {"field": "event.properties.order", "op": "eq", "to": "steps.s0.order"}
    wait = {"type": "wait_for_event", "event": "paid", "where": where, "timeout": "P1D"}
    enrollment = walks({"url": answer(receiver, {"order": 7}), "keep": {"order": "order"}}, wait)
    for order, state in ((8, "active"), (7, "completed")):
        event = {"external_id": "ada", "eventName": "paid", "eventProperties": {"order": order}}
        data(server.post(customers_path(acme, "events"), event))
        let_workers_walk()
        enrollment.refresh_from_db()
        assert enrollment.state == state


def test_kept_answers_go_where_the_history_goes(
    walks: Walk, receiver: Receiver, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    walks({"url": answer(receiver, {"who": "Lovelace"}), "keep": {"who": "who"}})
    exported = data(server.get(customers_path(acme, ada.id, "export")), status=200)
    assert '{"who": "Lovelace", "status": 200}' in json.dumps(exported)
    with time_machine.travel(timezone.now() + timedelta(days=91)):
        call_command("prune", stdout=StringIO())
    assert not WebhookDelivery.objects.exists()


def test_nothing_is_tried_later_than_its_step_says(walks: Walk, receiver: Receiver) -> None:
    step = {"url": receiver.url("/status/500"), "giveUpAfter": "PT4S"}
    enrollment = walks(step, {**step, "giveUpAfter": "PT10M"})
    first, second = WebhookDelivery.objects.order_by("id")
    assert (first.state, first.attempts) == ("failed", 1)
    assert first.result == "Given up after 1 attempt, as its step says (giveUpAfter). The last one: Answered 500."
    assert (second.state, second.attempts) == ("waiting", 1)
    make_due()
    send()  # the next attempt would be in five minutes
    second.refresh_from_db()
    assert (second.state, second.attempts) == ("waiting", 2)
    WebhookDelivery.objects.update(give_up_at=timezone.now())
    make_due()
    send()
    let_workers_walk()
    second.refresh_from_db()
    assert second.result == "Given up: its turn came later than its step says (giveUpAfter)."
    assert len(receiver.arrived) == 3
    assert WebhookCircuit.objects.get(source__endswith=":s1").failures == 2  # it says nothing of the host
    enrollment.refresh_from_db()
    assert enrollment.state == "completed"
    assert len(resend(WebhookDelivery.objects.filter(id=second.id))) == 1
    make_due()
    send()
    assert len(receiver.arrived) == 4


def test_what_a_hold_has_made_too_late_is_given_up(walks: Walk, receiver: Receiver, acme: Workspace) -> None:
    enrollment = walks({"url": receiver.url(), "giveUpAfter": "PT10M"}, rounds=0)
    journey = Journey.objects.get(id=enrollment.journey_id)
    hold(journey, reason="", actor="staff root")
    send()
    assert last().state == "held"
    WebhookDelivery.objects.update(give_up_at=timezone.now() - timedelta(minutes=1))
    assert not give_up_late().walk
    resume(journey, reason="", actor="staff root")
    send()
    assert (last().state, last().result[:8], receiver.arrived) == ("failed", "Given up", [])


def test_what_is_too_late_does_not_wait_behind_a_circuit(walks: Walk, receiver: Receiver, acme: Workspace) -> None:
    walks({"url": receiver.url(), "giveUpAfter": "PT10M"}, rounds=0)
    WebhookHost.objects.create(workspace=acme, host=receiver.host, open_until=timezone.now() + timedelta(hours=1))
    WebhookDelivery.objects.update(give_up_at=timezone.now() - timedelta(seconds=31))
    held = SteeredHost.objects.create(workspace=acme, host=receiver.host, held_at=timezone.now())
    assert not give_up_late().walk
    held.delete()
    assert give_up_late().walk
    assert not give_up_late().walk
    assert (last().state, last().result[:8], WebhookAttempt.objects.get().status) == ("failed", "Given up", None)


@pytest.mark.parametrize("status", [200, 410, 503])
def test_a_receiver_that_disables_holds_the_step_and_nothing_else(
    walks: Walk, receiver: Receiver, admin_client: Client, status: int
) -> None:
    steps = [{"url": answer(receiver, status=status, says="disable")}, {"url": receiver.url()}]
    first = walks(*steps)
    journey = Journey.objects.get(id=first.journey_id)
    assert last().source.endswith(":s1" if status != 503 else ":s0")
    [circuit] = WebhookCircuit.objects.all()
    assert (circuit.source, circuit.open_until.year) == (f"step:{journey.id}:s0", 9999)  # type: ignore[union-attr]
    assert not WebhookHost.objects.exists()
    page = admin_client.get("/admin/").content.decode()
    assert "Its receiver asked for nothing more (webhook-delivery: disable)." in page
    assert "the step s0 of" in page
    Enrollment.objects.all().delete()
    WebhookDelivery.objects.all().delete()
    before = len(receiver.arrived)
    walks({"url": receiver.url("/ok")})  # another journey's step goes on at the host
    assert len(receiver.arrived) == before + 1
    assert WebhookCircuit.objects.count() == 1


def test_a_step_that_is_held_waits_until_staff_have_it_tried(
    walks: Walk, receiver: Receiver, server: ServerClient, acme: Workspace
) -> None:
    enrollment = walks({"url": receiver.url("/first/500/then/200")})
    source = last().source
    WebhookCircuit.objects.all().delete()
    WebhookCircuit.objects.create(
        workspace=acme, host=receiver.host, source=source, open_until="9999-01-01T00:00Z", last_failure="It asked."
    )
    make_due()
    assert send() == []
    path = f"/api/v1/journeys/{acme.id}/enrollments/{enrollment.id}"
    told = data(server.get(path), status=200)
    assert (told["goesOnAt"], told["steps"][0]["webhook"]["nextAttemptAt"]) == (None, None)
    assert told["steps"][0]["webhook"]["waitsBecause"] == "It asked."
    assert try_now(workspace_id=acme.id, host=receiver.host, source=source)
    send()
    assert (last().state, WebhookCircuit.objects.exists()) == ("delivered", False)


def statements_of_a_walk(walks: Walk, step: dict[str, Any]) -> list[str]:
    with CaptureQueriesContext(connection) as statements:
        walks(step)
    return [one["sql"][:40] for one in statements]


def test_a_step_without_these_fields_costs_no_statement_more(walks: Walk, receiver: Receiver) -> None:
    plain = {"url": receiver.url()}
    walks(plain)
    known = len(statements_of_a_walk(walks, plain))
    assert len(statements_of_a_walk(walks, {**plain, "ok": SENT, "giveUpAfter": "PT1H"})) == known
    reads = {**plain, "keep": {}, "body": {"$value": "steps.s0.status"}}
    assert len(statements_of_a_walk(walks, reads)) == known + 1


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"form": {"a": 1}, "body": {}}, "form must not be there beside body."),
    ({"form": {"a": 1}, "method": "GET"}, "form must not be there where the method is GET."),
    ({"form": "a=1"}, "form must be an object, but a string came."),
    ({"form": {"$value": "api.payload"}}, "form must be an object with a member of its own for each name"),
    ({"form": {"a": "{{ user.x }}"}}, "form.a reads user.x, which never has a value"),
    ({"form": {}, "headers": {"content-type": "application/json"}},
     "headers.content-type contradicts what is sent, which is application/x-www-form-urlencoded."),
    ({"body": {}, "headers": {"Content-Type": "text/html"}}, "headers.Content-Type contradicts what is sent"),
    ({"auth": {}}, "auth must hold basic or bearer."),
    ({"auth": {"basic": {"user": "a:b"}}}, "auth.basic.password is required."),
    ({"auth": {"basic": {"user": "a:b", "password": "x"}}}, "auth.basic.user must not hold a colon."),
    ({"auth": {"bearer": "x\ny"}}, "auth.bearer holds a line break or another control character."),
    ({"auth": {"bearer": "***"}}, "auth.bearer needs its value"),
    ({"auth": {"bearer": "x"}, "headers": {"authorization": "y"}}, "auth must not be there beside the header"),
    ({"ok": {"field": "customer.plan", "op": "exists"}}, "ok.field is 'customer.plan', which is no field here"),
    ({"ok": {"field": "answer.headers.a.b", "op": "exists"}}, "ok.field is 'answer.headers.a.b', which is no field"),
    ({"keep": {"status": "a"}}, "keep.status must have another name: the status of the answer is kept as status."),
    ({"keep": {"a b": "a"}}, "keep.a b is no name for what is kept"),
    ({"keep": {"a": "b | upcase"}}, "keep.a must be a path in the answer's body and nothing else"),
    ({"keep": {"a": "answer.body.id"}}, "keep.a must be a path in the answer's body, such as items[0].left: leave out"),
    ({"keep": {"a": 1}}, "keep.a must be a string, but a number came."),
    ({"giveUpAfter": "soon"}, "giveUpAfter must be"),
    ({"giveUpAfter": "PT0S"}, "giveUpAfter must be at least a second"),
    ({"body": "{{ steps.tell.x }}"}, "body reads steps.tell.x, which never has a value"),
    ({"body": {"$value": "steps.tell.x"}, "keep": {"y": "y"}}, "body.$value reads steps.tell.x, which never has"),
]  # fmt: skip


def test_each_mistake_has_its_place_and_what_is_right_is_saved(acme: Workspace) -> None:
    for fields, message in MISTAKES:
        step = {"id": "tell", "type": "webhook", "url": "https://a.example/", **fields}
        with pytest.raises(InvalidJourney) as refused:
            save_journey(workspace=acme, key="k", now=timezone.now(), steps=[step])
        assert refused.value.message.startswith(f"steps[0].{message}"), (fields, refused.value.message)
    right = [
        {"id": "a-1", "type": "webhook", "url": "https://a.example/", "form": {}, "keep": {"x": "[0].y"},
         "headers": {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}},
        {"id": "b", "type": "webhook", "url": "https://a.example/{{ steps.a-1.x }}", "body": {},
         "headers": {"Content-Type": "application/vnd.api+json", "authorization": "{{ steps.a-1.status }}"}},
        {"id": "c", "type": "branch", "cases": [{"if": {"field": "steps.a-1.x.z", "op": "exists"}, "next": None}]},
    ]  # fmt: skip
    exit_on = [{"if": {"field": "steps.a-1.status", "op": "gte", "value": 500}}]
    save_journey(workspace=acme, key="k", now=timezone.now(), steps=right, exit_on=exit_on)
    for name in ("steps.a-1.nobody", "steps.b.status"):
        test = {"field": name, "op": "exists"}
        with pytest.raises(InvalidJourney, match=f"asks for {name}, which no step keeps"):
            save_journey(workspace=acme, key="k", now=timezone.now(), steps=right, exit_on=[{"if": test}])

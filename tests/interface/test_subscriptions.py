"""Subscriptions: what the feed tells is pushed, signed, at least once, and nothing is lost where nobody takes it."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.postgres.functions import TransactionNow
from django.core.management import call_command
from django.utils import timezone
from standardwebhooks import Webhook

from customers.models import Customer
from engage.feed import FeedType, tell
from engage.models import AuditEntry, FeedBatch, Workspace
from journeys.engine.webhooks.client import Client, Limits
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.sending import send_due
from journeys.engine.webhooks.signing import new_secret
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import Journey, Push, Subscription, WebhookCircuit, WebhookSecret
from journeys.subscription.pushing import cutting
from journeys.subscription.pushing.outbox import Outbox
from journeys.subscription.pushing.results import DISABLED
from tests.support.calls import data, let_workers_decide, refused, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.processes import ROOT
from tests.support.receiver import Receiver, free_port
from tests.support.simultaneous import all_at_once
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
PATH = "/api/v1/subscriptions/acme"
SAMPLES = ROOT / "docs/samples/feed_receiver"


def subscribe(server: ServerClient, url: str, **fields: Any) -> Subscription:
    made = data(server.post(PATH, {"key": "crm", "url": url, **fields}), status=201)
    return Subscription.objects.get(pk=made["id"])


def push(*, turns: int = 1) -> None:
    """As the sender's task does, with what is due by now."""
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, limits=Limits(connect=0.3, total=0.6))
    for _ in range(turns):
        list(send_due(threads=8, client=client, seconds=10, pushes=Outbox()))


def make_due() -> None:
    Push.objects.filter(state="waiting").update(due_at=TransactionNow())


def tell_of(workspace: Workspace, *names: str) -> None:
    for name in names:
        tell(FeedType.MESSAGE_REFUSED, workspace_id=workspace.id, result=name)


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in receiver.arrived]


def results(receiver: Receiver) -> list[str]:
    return [event["result"] for body in bodies(receiver) for event in body["events"]]


# What is pushed -------------------------------------------------------------------------------------------------------


def test_what_happens_is_pushed_as_the_feed_tells_it_in_batches_and_signed(
    acme: Workspace, server: ServerClient, ada: Customer, journey: Journey, receiver: Receiver
) -> None:
    tell_of(acme, "before it subscribed")
    subscribe(server, receiver.url(), batch=3)
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    push()
    told = data(server.get(f"/api/v1/feed/{acme.id}"), status=200)["events"]
    assert [event["type"] for event in told] == [
        "job.decided", "enrollment.started", "enrollment.completed", "trigger.completed"
    ]  # fmt: skip
    assert sorted((len(body["events"]), body["subscription"]) for body in bodies(receiver)) == [(1, "crm"), (3, "crm")]
    pushed = [event for body in bodies(receiver) for event in body["events"]]
    assert sorted(pushed, key=lambda event: event["eventId"]) == sorted(told, key=lambda event: event["eventId"])
    for request in receiver.arrived:
        Webhook(WebhookSecret.objects.get().secret).verify(request.body, request.headers)
    assert set(Push.objects.values_list("state", "attempts", "status")) == {("delivered", 1, 200)}
    push()
    assert len(receiver.arrived) == 2


@pytest.mark.parametrize("before", ["unread", "paused"])
def test_a_new_one_is_told_nothing_that_happened_before(
    acme: Workspace, server: ServerClient, receiver: Receiver, before: str
) -> None:
    acme.feed = True
    acme.save()
    if before == "paused":
        old = subscribe(server, receiver.url("/"))
        Subscription.objects.filter(pk=old.pk).update(key="old", paused_at=timezone.now())
    tell_of(acme, "earlier")
    subscribe(server, receiver.url("/"))
    tell_of(acme, "now")
    push()
    assert results(receiver) == ["now"]


def test_only_what_is_wanted_is_pushed(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    wanted, other = (JourneyFactory.create(workspace=acme, key=key) for key in ("wanted", "other"))
    subscribe(server, receiver.url(), types=["journey.held"], journeys=["wanted"])
    for journey in (wanted, other):
        for kind in (FeedType.JOURNEY_HELD, FeedType.WEBHOOK_FAILED):
            tell(kind, workspace_id=acme.id, journey_id=journey.id, reason=journey.key)
    tell_of(acme, "of no journey")
    push()
    [body] = bodies(receiver)
    assert [(event["type"], event["journeyId"]) for event in body["events"]] == [("journey.held", wanted.id)]
    assert Subscription.objects.get().position == FeedBatch.objects.latest("position").position


def test_a_call_of_many_is_few_requests_and_no_more_wait_than_there_is_room_for(
    acme: Workspace, server: ServerClient, receiver: Receiver
) -> None:
    subscription = subscribe(server, receiver.url("/status/503"), batch=10)
    tell_of(acme, *(f"{number}" for number in range(200)))
    push()
    assert Push.objects.filter(state="waiting").count() == 8
    make_due()
    push()
    assert Push.objects.count() == 8
    Subscription.objects.update(url=receiver.url())
    make_due()
    WebhookCircuit.objects.all().delete()
    push()
    assert Push.objects.filter(state="delivered").count() == 20
    assert sorted(results(receiver)[-200:], key=int) == [f"{number}" for number in range(200)]
    subscription.refresh_from_db()
    assert (subscription.failing_since, subscription.last_failure) == (None, "")


def test_many_subscriptions_keep_no_sender_from_webhooks_and_each_has_its_turn(
    acme: Workspace, server: ServerClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        data(server.post(PATH, {"key": f"crm-{number}", "url": receiver.url()}), status=201)
    tell_of(acme, "all")
    monkeypatch.setattr(cutting, "_SECONDS", 0.0)
    assert [cutting.cut_pushes(whole=False) for _ in range(7)] == [1, 1, 1, 1, 1, 0, 0]


def test_two_senders_push_nothing_twice(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    subscribe(server, receiver.url(), batch=5)
    tell_of(acme, *(f"{number}" for number in range(60)))
    claimed = [Outbox().claim(HostSlots(64)) for _ in range(2)]
    assert [len(one) for one in claimed] == [8, 0]


@pytest.mark.django_db(transaction=True)
def test_however_many_send_at_once_each_event_is_in_one_push_and_none_is_lost(
    acme: Workspace, server: ServerClient, receiver: Receiver
) -> None:
    """While events are told, each first attempt fails, a sender dies with what it has claimed, and it is paused."""
    subscription = subscribe(server, receiver.url("/first/500/then/200"), batch=3)

    def tells(begin: int) -> None:
        for number in range(begin, begin + 30):
            tell_of(acme, f"{number}")

    def pauses() -> None:
        for _ in range(5):
            Subscription.objects.update(paused_at=timezone.now())
            assert data(server.post(f"{PATH}/crm/resume", None), status=200)["changed"] is True

    def pushes() -> None:
        for _ in range(5):
            push()
            make_due()
            WebhookCircuit.objects.all().delete()

    dies = partial(Outbox().claim, HostSlots(64))
    calls: list[Callable[[], object]] = [pushes, pushes, pushes, partial(tells, 0), partial(tells, 30), pauses]
    calls += [dies, dies]
    all_at_once(calls)
    for _ in range(40):
        pushes()
        if not Push.objects.filter(state="waiting").exists():
            break
    assert set(results(receiver)) == {f"{number}" for number in range(60)}
    pushed = {
        (event["eventId"], one.webhook_id) for one in receiver.arrived for event in json.loads(one.body)["events"]
    }
    assert len(pushed) == 60
    assert set(Push.objects.values_list("state", flat=True)) == {"delivered"}
    assert sum(Push.objects.values_list("size", flat=True)) == 60
    subscription.refresh_from_db()
    assert (subscription.paused_at, subscription.position) == (None, FeedBatch.objects.latest("position").position)


# What is not taken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 404, 302, 429])
def test_what_is_not_taken_is_tried_again_whatever_the_answer(
    acme: Workspace, server: ServerClient, receiver: Receiver, status: int
) -> None:
    subscription = subscribe(server, receiver.url(f"/first/{status}/then/200"))
    tell_of(acme, "once")
    push()
    waiting = Push.objects.get()
    assert (waiting.state, waiting.attempts, waiting.status) == ("waiting", 1, status)
    push()
    assert len(receiver.arrived) == 1
    subscription.refresh_from_db()
    assert subscription.failing_since is not None
    Push.objects.update(attempts=30)  # far behind the ladder's end
    make_due()
    push()
    assert Push.objects.get().state == "delivered"
    assert len({request.webhook_id for request in receiver.arrived}) == 1
    assert len({event["eventId"] for body in bodies(receiver) for event in body["events"]}) == 1
    assert not FeedBatch.objects.filter(type="webhook.failed").exists()


def test_a_receiver_may_ask_not_to_send_it_again_or_for_nothing_more(
    acme: Workspace, server: ServerClient, receiver: Receiver
) -> None:
    subscription = subscribe(server, receiver.url("/answer?status=400&says=abort-message"), batch=1)
    tell_of(acme, "poison")
    push()
    assert Push.objects.get().state == "failed"
    Subscription.objects.update(url=receiver.url("/answer?status=410&says=disable"))
    tell_of(acme, "no more")
    push()
    subscription.refresh_from_db()
    assert (subscription.paused_at is not None, subscription.last_failure) == (True, DISABLED)
    tell_of(acme, "later")
    make_due()
    push()
    assert len(receiver.arrived) == 2


def test_five_days_of_failures_pause_it_and_resumed_it_goes_on_where_it_stopped(
    acme: Workspace, server: ServerClient, receiver: Receiver
) -> None:
    subscription = subscribe(server, receiver.url("/status/500"), batch=1)
    tell_of(acme, *(f"{number}" for number in range(10)))
    push()
    assert data(server.get(PATH), status=200)["subscriptions"][0]["waiting"] == 8
    Subscription.objects.update(failing_since=timezone.now() - timedelta(days=4, hours=23))
    make_due()
    push()
    subscription.refresh_from_db()
    assert subscription.paused_at is None
    WebhookCircuit.objects.all().delete()
    Subscription.objects.update(failing_since=timezone.now() - timedelta(days=5, hours=1))
    make_due()
    push()
    [listed] = data(server.get(PATH), status=200)["subscriptions"]
    assert listed["pausedAt"] is not None
    assert listed["lastFailure"] == "Answered 500."
    receiver.arrived.clear()
    make_due()
    push()
    assert receiver.arrived == []
    Subscription.objects.update(url=receiver.url())
    assert data(server.post(f"{PATH}/crm/resume", None), status=200)["changed"] is True
    assert data(server.post(f"{PATH}/crm/resume", None), status=200)["changed"] is False
    push()
    assert sorted(results(receiver), key=int) == [f"{number}" for number in range(10)]
    assert AuditEntry.objects.filter(object_kind="subscription", action="changed").exists()


def test_what_was_pruned_meanwhile_is_not_pushed(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    subscribe(server, receiver.url("/status/500"))
    tell_of(acme, "gone")
    push()
    FeedBatch.objects.all().delete()
    make_due()
    push()
    assert (len(receiver.arrived), Push.objects.get().state) == (1, "failed")
    Push.objects.update(due_at=timezone.now() - timedelta(days=15))
    call_command("prune", verbosity=0)
    assert not Push.objects.exists()


def test_an_erased_person_is_in_no_later_attempt(
    acme: Workspace, server: ServerClient, ada: Customer, journey: Journey, receiver: Receiver
) -> None:
    subscribe(server, receiver.url("/first/500/then/200"), types=["job.decided"])
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    push()
    assert server.delete(f"/api/v1/customers/acme/{ada.id}").succeeded
    make_due()
    push()
    first, second = (body["events"][0] for body in bodies(receiver)[:2])
    assert (first["external_id"], "external_id" in second) == ("ada", False)
    assert first["eventId"] == second["eventId"]


# The calls ------------------------------------------------------------------------------------------------------------


def test_the_feed_is_kept_while_there_is_a_subscription(
    acme: Workspace, server: ServerClient, receiver: Receiver
) -> None:
    feed = f"/api/v1/feed/{acme.id}"
    refused(server.get(feed), status=409, error="Feed off")
    subscribe(server, receiver.url())
    assert server.get(feed).succeeded
    data(server.delete(f"{PATH}/crm", headers={"If-Match": "*"}), status=200)
    refused(server.get(feed), status=409, error="Feed off")


def test_a_key_is_made_where_none_is_given_and_none_is_taken_twice(acme: Workspace, server: ServerClient) -> None:
    url = "http://127.0.0.1:8002/x"
    made = data(server.post(PATH, {"url": url}), status=201)
    assert made["definition"] == {"key": made["key"], "url": url, "types": None, "journeys": None, "batch": 100}
    refused(server.post(PATH, {"url": url, "key": made["key"]}), status=409, error="Subscription exists")
    refused(server.post(PATH, {}), status=400, error="Missing required parameter")
    bad = {"url": "ftp://x", "types": ["job.decided", "nonsense"], "journeys": ["nobody"], "batch": 101, "more": 1}
    assert refused_details(server, bad) == {"url", "types[1]", "journeys[0]", "batch", "more"}
    message = refused(server.post(PATH, {"url": url, "key": 5}), status=422, error="Definition invalid")
    assert message == "key must be a string, but a number came."
    assert refused_details(server, {**bad, "key": []}) == {"key", "url", "types[1]", "journeys[0]", "batch", "more"}


def refused_details(server: ServerClient, body: dict[str, Any]) -> set[str]:
    answer = server.post(PATH, body)
    refused(answer, status=422, error="Definition invalid")
    return {one["place"] for one in answer.json()["details"]}


def test_other_wishes_cut_anew_what_is_on_its_way(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    subscribe(server, receiver.url("/status/500"), types=["webhook.failed"])
    tell_of(acme, "first")
    tell(FeedType.WEBHOOK_FAILED, workspace_id=acme.id, reason="second")
    tell_of(acme, "third")
    push()
    body = {"url": receiver.url(), "types": ["message.refused", "webhook.failed"]}
    assert data(server.put(f"{PATH}/crm", body, headers={"If-Match": "*"}), status=200)["outcome"] == "changed"
    receiver.arrived.clear()
    push()
    kinds = [event["type"] for body in bodies(receiver) for event in body["events"]]
    assert kinds == ["message.refused", "webhook.failed", "message.refused"]


def test_a_test_is_sent_once_also_where_it_is_paused(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    subscribe(server, receiver.url("/status/500"))
    Subscription.objects.update(paused_at=timezone.now())
    sent = data(server.post(f"{PATH}/crm/test", None), status=202)["deliveryId"]
    push()
    [body] = bodies(receiver)
    assert [event["type"] for event in body["events"]] == ["test"]
    [told] = data(server.get(f"{PATH}/crm/deliveries"), status=200)["deliveries"]
    assert (told["deliveryId"], told["isTest"], told["state"], told["result"]) == (
        sent,
        True,
        "failed",
        "Answered 500.",
    )
    assert receiver.arrived[0].webhook_id == sent
    assert Subscription.objects.get().failing_since is None


def test_deliveries_are_listed_page_by_page(acme: Workspace, server: ServerClient, receiver: Receiver) -> None:
    subscribe(server, receiver.url(), batch=1)
    tell_of(acme, *"abcde")
    push()
    first = data(server.get(f"{PATH}/crm/deliveries", query_params={"limit": 3}), status=200)
    second = data(server.get(f"{PATH}/crm/deliveries", query_params={"limit": 3, "after": first["next"]}), status=200)
    ids = [one["deliveryId"] for page in (first, second) for one in page["deliveries"]]
    assert (len(set(ids)), len(first["deliveries"]), second["next"]) == (5, 3, None)


# Seed files -----------------------------------------------------------------------------------------------------------


def test_a_seed_file_makes_them_and_is_exported_the_same(acme: Workspace, tmp_path: Path) -> None:
    described = {
        "workspace": {"key": "acme", "name": acme.name},
        "journeys": [{"key": "new", "name": "New", "trigger": "api", "steps": []}],
        "subscriptions": [
            {"key": "crm", "url": "http://127.0.0.1:8002/x", "types": None, "journeys": ["new"], "batch": 5}
        ],
    }
    file = tmp_path / "acme.json"
    file.write_text(json.dumps(described))
    call_command("seed_workspace", str(file), verbosity=0)
    said = StringIO()
    call_command("export_workspace", "acme", stdout=said)
    assert json.loads(said.getvalue())["subscriptions"] == described["subscriptions"]
    assert Workspace.objects.get(pk=acme.pk).subscribed


# Receivers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sample", "program"), [("receiver.py", sys.executable), ("receiver.mjs", "node")])
def test_a_sample_applies_each_event_once_and_takes_nothing_from_others(
    acme: Workspace, server: ServerClient, tmp_path: Path, sample: str, program: str
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: {sample} was left out.")
    secret, port = current_secrets([acme.id])[acme.id], free_port()
    said = {"WEBHOOK_SECRET": secret, "PORT": str(port)}
    with subprocess.Popen(
        [program, str(SAMPLES / sample)], env={**os.environ, **said}, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: is_open(port), what=sample)
            subscribe(server, f"http://127.0.0.1:{port}/")
            tell_of(acme, "one", "two")
            push()
            Push.objects.update(state="waiting", attempts=0, due_at=TransactionNow())
            push()
            assert set(Push.objects.values_list("state", "result")) == {("delivered", "Answered 204.")}
            WebhookSecret.objects.update(secret=new_secret())
            tell_of(acme, "of somebody else")
            push()
            assert Push.objects.get(state="waiting").status == 401
        finally:
            process.kill()
        assert process.stdout
        assert [line.split()[0] for line in process.stdout] == ["message.refused"] * 2


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0

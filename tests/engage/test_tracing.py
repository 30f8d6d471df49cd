"""One trace leads from a call over its decision and walk to the receiver of its webhook."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import enumerate as enumerate_threads
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.conf import settings
from pytest_django import Settings

from customers.models import Customer
from engage.models import Workspace
from engage.process import tracing
from journeys.engine.webhooks.client import Client
from journeys.engine.webhooks.sending import send_due
from journeys.models import Enrollment, Journey, Trigger, WebhookDelivery
from journeys.subscription.pushing.outbox import Outbox
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.processes import WORKER, celery
from tests.support.receiver import Receiver
from tests.support.telemetry import Told, ToldSpan, telling
from tests.support.waiting import wait_until
from tests.support.web_server import web_server

pytestmark = pytest.mark.django_db
SERVER, CLIENT = 2, 3
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{CALLER}-01", f"00-{TRACE}-{CALLER}-00"


@pytest.fixture
def told(settings: Settings) -> Iterator[Told]:
    with telling(settings) as server:
        yield server


def calling(url: str) -> list[dict[str, Any]]:
    return [{"id": "call", "type": "webhook", "url": f"{url}?who={{{{ customer.external_id }}}}"}]


def call(server: ServerClient, journey: Journey, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    return data(trigger(server, journey, body or {"external_id": "ada"}, headers={"X-Request-Id": "call-1", **headers}))


def sent_on(receiver: Receiver) -> list[str]:
    """The ids of the traceparents that it got."""
    return [request.headers["traceparent"][3:-3] for request in receiver.arrived]


def named(spans: list[ToldSpan], name: str) -> list[ToldSpan]:
    return [span for span in spans if span.name == name]


def test_one_trace_leads_from_the_caller_to_the_receiver(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, told: Told
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=calling(receiver.url("/first/503/then/200")))
    queued = call(server, journey, traceparent=SAMPLED)
    let_workers_walk()
    send()
    make_due()
    send()
    called, decide, walk, failing, answered = told.spans()
    assert {span.trace for span in told.spans()} == {TRACE}
    assert (called.kind, called.parent_id) == (SERVER, CALLER)
    assert called.name == "POST api/v1/journeys/<str:workspace_id>/<str:journey_id>/trigger"
    assert called.names == {
        "http.request.method": "POST",
        "http.route": called.name.removeprefix("POST "),
        "http.response.status_code": 202,
        "engage.request_id": "call-1",
        "engage.workspace_id": acme.id,
    }
    assert {span.parent_id for span in (decide, walk, failing, answered)} == {called.id}
    ids = {
        "engage.trigger_id": queued["triggerId"], "engage.request_id": "call-1", "engage.workspace_id": acme.id,
    }  # fmt: skip
    assert (decide.name, walk.name) == ("decide", "walk")
    assert decide.names == {**ids, "engage.journey_id": journey.id, "engage.jobs.enrolled": 1}
    delivery = WebhookDelivery.objects.get()
    ids["engage.enrollment_id"] = delivery.enrollment_id
    assert walk.names == {**ids, "engage.journey_id": journey.id}
    assert walk.events == [("step", {"engage.step_id": "call", "engage.step": "webhook", "engage.result": "waiting"})]
    assert [(one.name, one.kind, one.failed) for one in (failing, answered)] == [
        ("webhook", CLIENT, True),
        ("webhook", CLIENT, False),
    ]
    assert sent_on(receiver) == [failing.ids, answered.ids]
    assert failing.names == {
        **ids,
        "http.request.method": "POST",
        "http.response.status_code": 503,
        "server.address": receiver.host,
        "engage.webhook_id": delivery.webhook_id,
        "engage.attempt": 1,
        "engage.result": "retried",
    }
    assert all(span.seconds > 0 for span in told.spans())


def test_what_is_done_at_once_for_several_is_in_the_trace_of_each_and_linked(
    server: ServerClient, acme: Workspace, told: Told
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    for number in range(4):
        CustomerFactory.create(workspace=acme, external_id=f"c-{number}")
        sent = {} if number == 3 else {"traceparent": f"00-{number + 1:032x}-{CALLER}-0{number % 2}"}
        call(server, journey, {"external_id": f"c-{number}"}, **sent)
    let_workers_walk()
    spans = told.spans()
    for name in ("decide", "walk"):
        first, other = named(spans, name)  # the second, which is sampled, and the one that began here
        assert first.trace == f"{2:032x}"
        assert (first.links, other.links) == ([], [first.ids])
    assert len([span for span in spans if span.kind == SERVER]) == 2


def test_a_call_that_is_not_sampled_leaves_what_its_caller_sent(
    server: ServerClient, acme: Workspace, receiver: Receiver, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    journey = JourneyFactory.create(workspace=acme, steps=calling(receiver.url()))
    for name, headers in {"ada": {"traceparent": UNSAMPLED}, "bob": {}}.items():
        CustomerFactory.create(workspace=acme, external_id=name)
        call(server, journey, {"external_id": name}, **headers)
        let_workers_walk()
        send()
    assert list(Trigger.objects.order_by("queued_at").values_list("traceparent", flat=True)) == [UNSAMPLED, None]
    assert [request.headers.get("traceparent") for request in receiver.arrived] == [UNSAMPLED, None]
    assert not told.spans()


@pytest.mark.parametrize(("sampler", "traced"), [("parentbased_always_on", False), ("always_on", True)])
def test_what_a_caller_does_not_sample_is_left_to_the_sampler(
    sampler: str, traced: bool, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    with tracing.span("work", parent=UNSAMPLED, begins=True):
        pass
    assert len(told.spans()) == traced


@pytest.mark.parametrize("sampler", ["traceidratio", "parentbased_traceidratio"])
def test_a_share_of_the_traces_that_begin_here_is_sampled(
    sampler: str, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    for _ in range(2000):
        with tracing.span("work", parent=None, begins=True):
            pass
    traces = {span.trace for span in told.spans()}
    assert 380 < len(traces) < 620
    # Others that sample by the same share take them as well.
    assert all(int(trace[16:], 16) < 2**62 for trace in traces)


def test_a_call_for_many_does_not_fill_its_trace(
    server: ServerClient, acme: Workspace, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_MOST_OF_A_TRACE", 3)
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    for number in range(5):
        CustomerFactory.create(workspace=acme, external_id=f"c-{number}")
    trace = f"00-{'c' * 32}-{CALLER}-01"
    call(server, journey, {"external_ids": [f"c-{number}" for number in range(5)]}, traceparent=trace)
    let_workers_walk()
    spans = told.spans()
    assert (len(named(spans, "decide")), len(named(spans, "walk"))) == (1, 2)
    assert named(spans, "decide")[0].names["engage.jobs.enrolled"] == 5


def test_a_push_begins_a_trace_that_its_receiver_gets(
    server: ServerClient, acme: Workspace, receiver: Receiver, told: Told
) -> None:
    path = f"/api/v1/subscriptions/{acme.id}"
    data(server.post(path, {"key": "crm", "url": receiver.url()}), status=201)
    data(server.post(f"{path}/crm/test", {}))
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS)
    list(send_due(threads=1, client=client, seconds=10, pushes=Outbox()))
    [push] = named(told.spans(), "push")
    assert (push.kind, push.parent_id, push.failed) == (CLIENT, "", False)
    assert sent_on(receiver) == [push.ids]


def test_probes_are_not_traced_and_what_fails_is_marked(server: ServerClient, acme: Workspace, told: Told) -> None:
    for path in ("/livez", "/readyz", "/nowhere"):
        server.get(path)
    [span] = told.spans()
    assert (span.name, span.names["http.response.status_code"], span.failed) == ("GET", 404, False)
    with pytest.raises(LookupError), tracing.span("work", parent=SAMPLED):
        raise LookupError("ada@example.com")
    [work] = named(told.spans(), "work")
    assert (work.failed, work.names, work.events) == (True, {"error.type": "LookupError"}, [])


def test_off_nothing_begins(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme)
    call(server, journey, traceparent=SAMPLED)
    let_workers_decide()
    assert Trigger.objects.get().traceparent == SAMPLED
    assert tracing.span("any", parent=SAMPLED, begins=True) is tracing.UNTRACED
    assert not [thread.name for thread in enumerate_threads() if thread.name.startswith("Otel")]


def test_a_collector_that_is_away_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engage.process.tracing_sdk._LAST_MILLISECONDS", 300)
    monkeypatch.setattr(tracing.destination, "endpoint", "http://127.0.0.1:1")
    began = time.monotonic()
    with tracing.span("any", parent=SAMPLED) as span:
        assert span.traceparent
    tracing.send_last()
    assert time.monotonic() - began < 5


@pytest.mark.mostly_waits
@pytest.mark.django_db(transaction=True)
def test_processes_send_what_is_left_when_they_end(
    server: ServerClient, acme: Workspace, ada: Customer, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Children that were forked as well; none of them sends anything before."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", told.server.url("/ok"))
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    with celery(*WORKER, log=tmp_path / "worker.log") as worker, web_server(tmp_path, WEB_WORKERS="1") as served:
        url = f"http://127.0.0.1:{served.port}/api/v1/journeys/{acme.id}/{journey.id}/trigger"
        headers = {**server.headers, "Content-Type": "application/json", "traceparent": SAMPLED}
        with urlopen(Request(url, json.dumps({"external_id": "ada"}).encode(), headers), timeout=30) as answer:
            assert answer.status == 202
        wait_until(lambda: Enrollment.objects.filter(step_began_at__isnull=False).exists(), what="the walk")
        assert not told.server.arrived
        for process in (worker, served.process):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    spans = told.spans()
    assert {span.trace for span in spans} == {TRACE}
    assert sorted(span.name.split()[0] for span in spans) == ["POST", "decide", "walk"]

"""A call's request id and traceparent lead to the end: to receivers, and into the lines about whatever fails."""

from typing import Any

import pytest
from django.db import connection
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from customers.models import Customer
from engage.models import Workspace
from engage.process.request_log import Trail, read_traceparent
from journeys.engine.enrollments.trails import of_enrollments, of_triggers
from journeys.engine.walking.loop import walk_due
from journeys.engine.webhooks.giving_up import give_up_late
from journeys.models import Chunk, Enrollment, Trigger, WebhookDelivery
from journeys.rules.failures import MAX_ATTEMPTS
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import data, let_workers_decide, let_workers_walk, serve_until_empty, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db
IDS = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SENT = {"X-Request-Id": "call-1", "traceparent": f"00-{IDS}"}
TRAIL = {"request_id": "call-1", "traceparent": f"00-{IDS}"}


@each(
    "sent, taken",
    [
        (f"00-{IDS}", True),
        (f"cc-{IDS}-more", True),  # of a later version, that which 00 has
        (f"00-{IDS}-more", False),
        (f"ff-{IDS}", False),
        (f"00-{IDS.upper()}", False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01", False),
        (f"00-{IDS}\n", False),
        ("", False),
    ],
)
def test_a_traceparent_is_taken_if_it_is_one(sent: str, taken: bool) -> None:
    assert read_traceparent(sent) == (f"00-{IDS}" if taken else None)


def calling(url: str, **step: Any) -> list[dict[str, Any]]:
    return [{"id": "call", "type": "webhook", "url": url, **step}]


def test_receivers_get_the_trail_of_the_call_and_what_fails_names_it(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=calling(receiver.url("/first/503/then/404")))
    queued = data(trigger(server, journey, {"external_id": "ada"}, headers=SENT))
    let_workers_walk()
    with capture_logs(processors=[merge_contextvars]) as lines:
        send()
        make_due()
        send()
    for request in receiver.arrived:
        assert request.headers["webhook-request-id"] == "call-1"
        assert request.headers["traceparent"] == f"00-{IDS}"
    delivery = WebhookDelivery.objects.get()
    told = [(line["event"], line["attempt"], line["status"]) for line in lines if "attempt" in line]
    assert told == [("webhook_retried", 1, 503), ("webhook_given_up", 2, 404)]
    names = {"enrollment_id": delivery.enrollment_id, "trigger_id": queued["triggerId"], **TRAIL}
    for line in lines:
        if "attempt" in line:
            assert names | {"webhook_id": delivery.webhook_id} == {name: line[name] for name in (*names, "webhook_id")}


def test_what_comes_too_late_for_an_attempt_names_its_call_as_well(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=calling(receiver.url(), giveUpAfter="PT1M"))
    data(trigger(server, journey, {"external_id": "ada"}, headers=SENT))
    let_workers_walk()
    WebhookDelivery.objects.update(give_up_at="2020-01-01T00:00Z")
    with capture_logs() as lines:
        give_up_late()
    [line] = [line for line in lines if line["event"] == "webhook_given_up"]
    assert line["request_id"] == "call-1"


def test_a_step_s_own_traceparent_is_sent_and_without_any_none(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver
) -> None:
    own = JourneyFactory.create(workspace=acme, steps=calling(receiver.url("/own"), headers={"TraceParent": "mine"}))
    plain = JourneyFactory.create(workspace=acme, steps=calling(receiver.url("/plain")))
    data(trigger(server, own, {"external_id": "ada"}, headers=SENT))
    data(trigger(server, plain, {"external_id": "ada"}, headers={"X-Request-Id": "call-2", "traceparent": "nonsense"}))
    let_workers_walk()
    send()
    told = {(one.path, one.headers.get("traceparent"), one.headers["webhook-request-id"]) for one in receiver.arrived}
    assert told == {("/own", "mine", "call-1"), ("/plain", None, "call-2")}


def test_every_way_to_queue_keeps_the_trail_also_by_way_of_events(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    first = JourneyFactory.create(
        workspace=acme, steps=[{"id": "tell", "type": "track_event", "eventName": "told"}], allow_reenrollment=True
    )
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="told", allow_reenrollment=True)
    for body in (
        {"external_id": "ada"},
        {"external_ids": ["ada"]},
        {"recipients": [{"external_id": "ada", "payload": {}}]},
    ):
        data(trigger(server, first, body, headers=SENT))
        let_workers_walk()
    trails = [Trail(*one) for one in Trigger.objects.values_list("request_id", "traceparent")]
    assert trails == [Trail(**TRAIL)] * 6


@pytest.mark.django_db(transaction=True)
@each("table, event", [("enrollment", "job_given_up"), ("steprun", "enrollment_given_up")])
def test_work_that_is_given_up_names_its_call(
    server: ServerClient, acme: Workspace, ada: Customer, table: str, event: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    queued = data(trigger(server, journey, {"external_id": "ada"}, headers=SENT))
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'spoilt'; END $$;"
            f"CREATE TRIGGER spoil BEFORE INSERT ON journeys_{table} FOR EACH ROW "
            f"{'WHEN (NEW.type <> $$$$)' if table == 'steprun' else ''} EXECUTE FUNCTION spoil()"
        )
    try:
        with capture_logs() as lines:
            for _ in range(MAX_ATTEMPTS + 1):
                Chunk.objects.update(due_at="2020-01-01T00:00Z")
                let_workers_decide()
                Enrollment.objects.filter(state="active").update(due_at="2020-01-01T00:00Z")
                walk_due(seconds=1)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TRIGGER spoil ON journeys_{table}; DROP FUNCTION spoil()")
    serve_until_empty()
    told = [line for line in lines if line.get("trigger_id") == queued["triggerId"] and line["log_level"] != "info"]
    assert told[-1]["event"] == event
    assert "spoilt" in told[-1]["error"]
    assert len(told) == MAX_ATTEMPTS + 1
    for line in told:
        assert {name: line[name] for name in TRAIL} == TRAIL


def test_of_what_nothing_is_known_the_id_is_named(django_assert_num_queries: Any) -> None:
    assert of_triggers(["none"]) == {"trigger_id": "none"}
    assert of_enrollments(["none", "none", "neither"]) == {
        "of": [{"enrollment_id": "none"}, {"enrollment_id": "neither"}]
    }
    with django_assert_num_queries(1):
        assert len(of_enrollments([str(number) for number in range(99)])["of"]) == 50

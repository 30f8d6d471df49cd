"""POST /api/v1/customers/{workspaceId}/events: events that a server reports, one or up to 1,000."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Event
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.models import EnrollmentJob, Trigger
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory, crowd
from tests.support.simultaneous import done_with_customers_locked_in_order

pytestmark = pytest.mark.ada(email="ada@acme.example", phone="+4915112345678", user_id="u-1")


def report(server: ServerClient, workspace: Workspace, body: Any) -> Answer:
    return server.post(customers_path(workspace, "events"), body)


def refused_without_a_trace(answer: Answer, *, status: int = 400, error: str = "Invalid request") -> str:
    """The message of a refusal that recorded nothing and created nobody."""
    customers = Customer.objects.count()
    message = refused(answer, status=status, error=error)
    assert not Event.objects.exists()
    assert Customer.objects.count() == customers
    return message


# One event -----------------------------------------------------------------------------------------------------------


def test_one_event_is_recorded_and_its_id_answered(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    properties = {"total": 59.9, "items": [{"sku": "a"}]}
    answer = report(
        server,
        acme,
        {
            "external_id": "ada",
            "eventName": "ordered",
            "eventProperties": properties,
            "occurredAt": "2026-11-20T21:08:00.123+02:00",
        },
    )
    event = Event.objects.get()
    assert (answer.status_code, answer.json()) == (
        202,
        {"success": True, "message": "The event is recorded.", "data": {"eventId": event.id, "customerId": ada.id}},
    )
    assert (event.workspace, event.customer, event.name, event.properties) == (acme, ada, "ordered", properties)
    assert (event.source, event.chain) == ("api", 0)
    assert iso_utc(event.occurred_at) == "2026-11-20T19:08:00.123Z"


def test_without_properties_and_time_it_is_an_event_of_now(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    data(report(server, acme, {"external_id": "ada", "eventName": "seen", "eventProperties": None}))
    event = Event.objects.get()
    assert event.properties == {}
    assert abs(datetime.now(UTC) - event.occurred_at) < timedelta(seconds=20)


@each(
    "known_by",
    [
        {"external_id": "ada"},
        {"externalId": "ada"},
        {"email": " ADA@acme.example "},
        {"phone": "+49 151 12345678"},
        {"userId": "u-1"},
        {"external_id": " ", "userId": "u-1"},
        {"external_id": "ada", "email": "bob@acme.example", "phone": "+4915100000000"},
    ],
)
def test_the_first_identifier_that_came_decides_alone(
    acme: Workspace, server: ServerClient, ada: Customer, known_by: dict[str, str]
) -> None:
    CustomerFactory.create(workspace=acme, email="bob@acme.example")
    assert data(report(server, acme, {**known_by, "eventName": "seen"}))["customerId"] == ada.id


def test_a_customer_id_comes_before_all_others(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    bob = CustomerFactory.create(workspace=acme)
    sent = {"customerId": bob.id, "external_id": "ada", "eventName": "seen"}
    assert data(report(server, acme, sent))["customerId"] == bob.id


@each(
    "known_by, named",
    [
        ({"external_id": "nobody"}, "external_id"),
        ({"external_id": "nobody", "email": "ada@acme.example"}, "external_id"),
        ({"customerId": "0" * 24, "external_id": "ada"}, "customerId"),
        ({"customerId": "no id", "external_id": "ada"}, "customerId"),
    ],
)
def test_an_unknown_customer_is_not_found_and_nobody_is_created(
    acme: Workspace, server: ServerClient, ada: Customer, known_by: dict[str, str], named: str
) -> None:
    answer = report(server, acme, {**known_by, "eventName": "seen"})
    message = refused_without_a_trace(answer, status=404, error="Customer not found")
    assert message.startswith(f"This workspace has no customer with this {named}.")
    assert [customer.id for customer in Customer.objects.all()] == [ada.id]


@each(
    "fields, message",
    [
        ({"eventName": None}, "eventName is required."),
        ({"eventName": "  "}, "eventName is required."),
        ({"external_id": ""}, "Send at least one of customerId, external_id, email, phone, userId."),
    ],
)
def test_what_the_call_needs(
    acme: Workspace, server: ServerClient, ada: Customer, fields: dict[str, Any], message: str
) -> None:
    answer = report(server, acme, {"external_id": "ada", "eventName": "seen", **fields})
    assert refused_without_a_trace(answer, error="Missing required parameter") == message


DEEP: Any = 1
for _ in range(10):
    DEEP = [DEEP]


@each(
    "fields, message",
    [
        ({"eventName": 7}, "eventName must be a string, but a number came."),
        ({"eventName": "x" * 256}, "eventName must be at most 255 characters long, not 256."),
        ({"eventProperties": []}, "eventProperties must be an object, but an array came."),
        ({"eventProperties": {"a": DEEP}}, "eventProperties is nested more than 10 deep."),
        ({"eventProperties": {"a": "x" * 65536}}, "eventProperties is 65544 bytes of JSON; its maximum is 65536."),
        ({"email": "nonsense"}, "email must be an e-mail address."),
        ({"occurredAt": 1795201680}, "occurredAt must be a string, but a number came."),
        ({"external_id": "ada", "externalId": "bob"}, "external_id and externalId are two spellings"),
    ],
)
def test_what_is_no_event_is_refused(
    acme: Workspace, server: ServerClient, ada: Customer, fields: dict[str, Any], message: str
) -> None:
    answer = report(server, acme, {"external_id": "ada", "eventName": "seen", **fields})
    assert refused_without_a_trace(answer).startswith(message)


@each(
    "text",
    [
        "yesterday",
        "2026-11-20",
        "2026-11-20T19:08:00",
        "2026-02-30T19:08:00Z",
        "2026-W01-1T00:00:00Z",
        "1795201680",
    ],
)
def test_a_time_that_is_no_instant_is_refused(acme: Workspace, server: ServerClient, ada: Customer, text: str) -> None:
    answer = report(server, acme, {"external_id": "ada", "eventName": "seen", "occurredAt": text})
    message = refused_without_a_trace(answer)
    assert message == "occurredAt must be an instant in ISO 8601 with an offset, like 2026-11-20T19:08:00Z."


def test_a_time_is_5_minutes_ahead_and_ten_years_ago_at_most(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    now, a_moment = datetime(2030, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
    latest, oldest = now + timedelta(minutes=5), now - timedelta(days=3653)

    def reported(text: str) -> Answer:
        return report(server, acme, {"external_id": "ada", "eventName": "seen", "occurredAt": text})

    with time_machine.travel(now, tick=False):
        ahead = reported(iso_utc(latest + a_moment))
        assert refused_without_a_trace(ahead) == "occurredAt is more than 5 minutes in the future."
        for past in (iso_utc(oldest - a_moment), "0001-01-01T00:00:00+14:00"):
            assert refused_without_a_trace(reported(past)) == "occurredAt is more than ten years ago."
        for text in (iso_utc(latest), iso_utc(oldest)):
            data(reported(text))
    assert set(Event.objects.values_list("occurred_at", flat=True)) == {latest, oldest}


# Many events ---------------------------------------------------------------------------------------------------------


def test_every_event_of_many_has_its_result_in_order(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    answer = report(
        server,
        acme,
        {
            "events": [
                {"email": "ada@acme.example", "eventName": "ordered", "eventProperties": {"n": 1}},
                {"external_id": "nobody", "eventName": "ordered"},
                {"customerId": bob.id, "eventName": "ordered", "eventProperties": {"n": 2}},
            ]
        },
    )
    first, second = (Event.objects.get(properties={"n": number}) for number in (1, 2))
    assert (answer.status_code, answer.json()) == (
        202,
        {
            "success": True,
            "message": "2 recorded, 1 failed.",
            "data": {
                "recorded": 2,
                "failed": 1,
                "results": [
                    {"index": 0, "external_id": None, "status": "recorded", "eventId": first.id, "customerId": ada.id},
                    {
                        "index": 1,
                        "external_id": "nobody",
                        "status": "failed",
                        "error": "Customer not found",
                        "code": "customer_not_found",
                        "message": "This workspace has no customer with this external_id. "
                        "The customer must exist before an event is reported of them.",
                    },
                    {"index": 2, "external_id": None, "status": "recorded", "eventId": second.id, "customerId": bob.id},
                ],
            },
        },
    )
    assert [event.properties for event in (first, second)] == [{"n": 1}, {"n": 2}]


@each(
    "bad, message",
    [
        (7, "An event must be an object, but a number came."),
        (None, "An event must be an object, but null came."),
        ({"external_id": "ada"}, "eventName is required."),
        ({"eventName": "seen"}, "Send at least one of customerId"),
        ({"external_id": 7, "eventName": "seen"}, "external_id must be a string, but a number came."),
        ({"email": "nonsense", "eventName": "seen"}, "email must be an e-mail address."),
        ({"external_id": "ada", "eventName": "seen", "occurredAt": "2999-01-01T00:00:00Z"}, "occurredAt is more than"),
        ({"external_id": "ada", "eventName": "seen", "eventProperties": 1}, "eventProperties must be an object"),
    ],
)
def test_one_bad_event_fails_alone(
    acme: Workspace, server: ServerClient, ada: Customer, bad: Any, message: str
) -> None:
    good = {"external_id": "ada", "eventName": "seen"}
    answered = data(report(server, acme, {"events": [good, bad, good]}))
    assert (answered["recorded"], answered["failed"]) == (2, 1)
    assert [result["status"] for result in answered["results"]] == ["recorded", "failed", "recorded"]
    assert answered["results"][1]["message"].startswith(message)
    assert set(Event.objects.values_list("id", flat=True)) == {answered["results"][n]["eventId"] for n in (0, 2)}


def test_where_all_fail_nothing_is_recorded(acme: Workspace, server: ServerClient) -> None:
    answered = data(report(server, acme, {"events": [{"external_id": "nobody", "eventName": "seen"}, {}]}))
    assert (answered["recorded"], answered["failed"]) == (0, 2)
    assert not Event.objects.exists()


def test_no_event_is_fine_and_nobody_is_looked_at(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    with CaptureQueriesContext(connection) as queries:
        answered = data(report(server, acme, {"events": []}))
    assert answered == {"recorded": 0, "failed": 0, "results": []}
    assert not [query for query in queries.captured_queries if "customers_customer" in query["sql"]]


def test_one_event_beside_many_is_refused(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event = {"external_id": "ada", "eventName": "seen"}
    message = refused_without_a_trace(report(server, acme, {**event, "events": [event]}))
    assert message == "events holds many events, and external_id is of one; send the one or the other."


def test_more_than_1000_are_refused_whole(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    answer = report(server, acme, {"events": [{"external_id": "ada", "eventName": "seen"}] * 1001})
    message = refused_without_a_trace(answer, error="Array size exceeded")
    assert message == "events holds 1001 items; its maximum is 1000."


def test_events_must_be_an_array(acme: Workspace, server: ServerClient) -> None:
    message = refused_without_a_trace(report(server, acme, {"events": {"eventName": "seen"}}))
    assert message == "events must be an array, but an object came."


def test_a_thousand_events_cost_as_many_statements_as_one(acme: Workspace, server: ServerClient) -> None:
    names = crowd(acme, 1000)
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    data(report(server, acme, {"external_id": names[0], "eventName": "other"}))  # notes that the key was used
    counts = []
    for chosen in (names[:1], names):
        events = [{"external_id": name, "eventName": "ordered", "eventProperties": {"of": name}} for name in chosen]
        with CaptureQueriesContext(connection) as queries:
            assert data(report(server, acme, {"events": events}))["recorded"] == len(chosen)
        counts.append(len(queries))
    # The key; the customers; the event; whom it ends or moves; which journeys it starts; their jobs; three pairs of
    # ends: of the test's own savepoint, which stands for the transaction, and of the one around the jobs.
    assert counts == [10, 10]
    assert EnrollmentJob.objects.count() == Trigger.objects.count() == 1001


# Who may, and whose --------------------------------------------------------------------------------------------------


@each("limits, allowed", [({"rate_limit": "1/d"}, 10), ({"rate_limit": "9/d", "events_rate_limit": "2/d"}, 2)])
def test_reports_count_under_a_limit_of_their_own(
    acme: Workspace, ada: Customer, limits: dict[str, str], allowed: int
) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme, **limits))
    event = {"external_id": "ada", "eventName": "seen"}
    answers = [report(server, acme, event) for _ in range(allowed + 1)]
    assert [answer.status_code for answer in answers] == [202] * allowed + [429]
    assert answers[0]["RateLimit-Policy"] == f'"events";q={allowed};w=86400'
    assert Event.objects.count() == allowed
    data(server.put(customers_path(acme), {"external_id": "ada"}), status=200)


@pytest.mark.django_db(transaction=True)
def test_a_report_of_many_locks_its_customers_in_the_order_of_their_ids(acme: Workspace, server: ServerClient) -> None:
    people = [CustomerFactory.create(workspace=acme, id=letter * 24) for letter in "bca"]
    body = {"events": [{"customerId": customer.id, "eventName": "ordered"} for customer in people]}
    answer = done_with_customers_locked_in_order(lambda: server.post(customers_path(acme, "events"), body))
    assert data(answer)["recorded"] == 3

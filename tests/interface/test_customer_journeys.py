"""GET /api/v1/customers/{workspaceId}/{customerId}/journeys: what named a customer for journeys, and what it led to."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Event
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, WebhookDelivery
from tests.support.calls import customers_path, data, job_of, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory

pytestmark = pytest.mark.journey(name="Follow-up", steps=[DAY])


def read(server: ServerClient, customer: Customer, query: str = "") -> dict[str, Any]:
    return data(server.get(customers_path(customer.workspace, customer.id, "journeys") + query), status=200)


def test_triggers_are_told_newest_first_with_what_was_decided(
    server: ServerClient, ada: Customer, journey: Journey
) -> None:
    first = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_walk()
    second = data(trigger(server, journey, {"external_ids": ["ada"]}))
    let_workers_decide()
    third = data(trigger(server, journey, {"customerId": ada.id}))
    answer = server.get(customers_path(ada.workspace, ada.id, "journeys"))
    assert answer.json()["message"] == "What queued the customer for journeys, newest first."
    enrollment = Enrollment.objects.get()
    assert enrollment.due_at is not None
    of_all = {"journeyId": journey.id, "journeyName": "Follow-up", "eventId": None, "eventName": None}
    jobs = {
        job_id: job_of(server, ada.workspace_id, job_id)
        for job_id in (first["jobId"], second["jobIds"][0], third["jobId"])
    }
    queued, refused_, enrolled = answer.json()["data"].pop("triggers")
    assert queued == {
        **of_all,
        "triggerId": third["triggerId"],
        "form": "single",
        "jobId": third["jobId"],
        "status": "queued",
        "result": None,
        "reason": None,
        "details": [],
        "queuedAt": jobs[third["jobId"]]["queuedAt"],
        "decidedAt": None,
        "enrollment": None,
    }
    assert refused_ == {
        **of_all,
        "triggerId": second["triggerId"],
        "form": "bulk",
        "jobId": second["jobIds"][0],
        "status": "decided",
        "result": "already_enrolled",
        "reason": f"The customer was in the journey already: enrollment {enrollment.id}.",
        "details": [],
        "queuedAt": jobs[second["jobIds"][0]]["queuedAt"],
        "decidedAt": jobs[second["jobIds"][0]]["decidedAt"],
        "enrollment": None,
    }
    assert enrolled == {
        **of_all,
        "triggerId": first["triggerId"],
        "form": "single",
        "jobId": first["jobId"],
        "status": "decided",
        "result": "enrolled",
        "reason": "The customer met the entry rules.",
        "details": [],
        "queuedAt": jobs[first["jobId"]]["queuedAt"],
        "decidedAt": jobs[first["jobId"]]["decidedAt"],
        "enrollment": {
            "enrollmentId": enrollment.id,
            "state": "active",
            "stepId": "day",
            "goesOnAt": iso_utc(enrollment.due_at),
            "exitReason": None,
            "enteredAt": iso_utc(enrollment.entered_at),
            "endedAt": None,
        },
    }
    rest = read(server, ada)
    assert (rest["customerId"], rest["nextCursor"]) == (ada.id, None)


def test_an_exited_enrollment_tells_its_reason(server: ServerClient, ada: Customer, journey: Journey) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_walk()
    path = f"/api/v1/journeys/{journey.workspace_id}/enrollments/{Enrollment.objects.get().id}/exit"
    data(server.post(path, {"reason": "Refunded."}), status=200)
    (named,) = read(server, ada)["triggers"]
    entered = named["enrollment"]
    assert (entered["state"], entered["exitReason"], entered["goesOnAt"]) == ("exited", "Refunded.", None)
    assert entered["endedAt"] is not None


def test_who_waits_for_a_webhook_goes_on_when_that_is_tried_next(
    server: ServerClient, ada: Customer, journey: Journey
) -> None:
    bob = CustomerFactory.create(workspace=ada.workspace, external_id="bob")
    data(trigger(server, journey, {"external_ids": ["ada", "bob"]}))
    let_workers_walk()
    enrollment = Enrollment.objects.get(customer=ada)
    due_at, enrollment.due_at, enrollment.steps_begun = enrollment.due_at, None, 2
    enrollment.save()
    assert due_at is not None
    earlier = due_at - timedelta(hours=1)
    for whose, ordinal, state, due in [
        (enrollment, 0, "delivered", earlier),
        (enrollment, 1, "waiting", due_at),
        (Enrollment.objects.get(customer=bob), 1, "waiting", earlier),
    ]:
        WebhookDelivery.objects.create(
            workspace_id=ada.workspace_id, enrollment=whose, ordinal=ordinal, state=state, due_at=due
        )
    (named,) = read(server, ada)["triggers"]
    assert named["enrollment"]["goesOnAt"] == iso_utc(due_at)
    enrollment.state = "completed"  # and staff have the webhook sent again
    enrollment.save()
    (named,) = read(server, ada)["triggers"]
    assert named["enrollment"]["goesOnAt"] is None


def test_an_event_that_named_the_customer_is_there_by_its_name(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    event = data(server.post(customers_path(acme, "events"), {"external_id": "ada", "eventName": "ordered"}))
    (named,) = read(server, ada)["triggers"]
    assert (named["eventId"], named["eventName"], named["form"]) == (event["eventId"], "ordered", "single")
    Event.objects.all().delete()
    (named,) = read(server, ada)["triggers"]
    assert (named["eventId"], named["eventName"]) == (None, None)


def test_a_cancelled_job_is_there_with_its_reason(server: ServerClient, ada: Customer, journey: Journey) -> None:
    job_id = data(trigger(server, journey, {"external_id": "ada"}))["jobId"]
    data(server.delete(f"/api/v1/journeys/{journey.workspace_id}/jobs/{job_id}"), status=200)
    (named,) = read(server, ada)["triggers"]
    assert (named["status"], named["result"]) == ("cancelled", "cancelled")
    assert named["reason"] == "Cancelled by a call, before it was decided."


def test_nothing_named_the_customer(server: ServerClient, ada: Customer) -> None:
    assert read(server, ada) == {"customerId": ada.id, "triggers": [], "next": None, "nextCursor": None}


def test_pages_tell_everything_once(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    CustomerFactory.create(workspace=acme, external_id="bob")
    journeys = [JourneyFactory.create(workspace=acme) for _ in range(3)]
    for _ in range(4):
        for journey in journeys:
            data(trigger(server, journey, {"external_ids": ["ada", "bob"]}))
    # As if the calls to the three journeys had come in the same milliseconds.
    for number, job in enumerate(EnrollmentJob.objects.filter(customer=ada).order_by("id")):
        EnrollmentJob.objects.filter(id=job.id).update(queued_ms=1000 + number // 3)
    wanted = [job.job_id for job in EnrollmentJob.objects.filter(customer=ada).order_by("-queued_ms", "-journey_id")]
    for limit in (1, 5, 12):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = read(server, ada, f"?limit={limit}&cursor={cursor}")
            assert 1 <= len(page["triggers"]) <= limit
            seen += [named["jobId"] for named in page["triggers"]]
            cursor = page["nextCursor"]
        assert seen == wanted


def test_twenty_are_a_page_unless_said(server: ServerClient, ada: Customer, journey: Journey) -> None:
    for _ in range(21):
        data(trigger(server, journey, {"external_id": "ada"}))
    assert len(read(server, ada)["triggers"]) == 20
    assert len(read(server, ada, "?limit=100")["triggers"]) == 21


@each(
    "query, message",
    [
        ("limit=101", "limit must be a whole number from 1 to 100."),
        ("limit=1&limit=2", "limit stands more than once in the query string."),
        ("cursor=a&cursor=a", "cursor stands more than once in the query string."),
        ("cursor=nonsense", "cursor must be the nextCursor of an answer to the same call."),
        ("cursor=WzFd", "cursor must be the nextCursor of an answer to the same call."),  # [1]
        ("cursor=WzEsIngiXQ", "cursor must be the nextCursor of an answer to the same call."),  # [1,"x"]
        ("cursor=WzEsIlx1MDAwMCJd", "cursor must be the nextCursor of an answer to the same call."),  # [1,"\u0000"]
    ],
)
def test_a_page_that_is_none_is_refused(server: ServerClient, ada: Customer, query: str, message: str) -> None:
    answer = server.get(customers_path(ada.workspace, ada.id, f"journeys?{query}"))
    assert refused(answer, status=400, error="Invalid request") == message


@pytest.mark.slow
def test_a_page_costs_three_statements(server: ServerClient, ada: Customer, journey: Journey) -> None:
    counts = []
    for calls in (1, 30):
        for _ in range(calls):
            data(trigger(server, journey, {"external_id": "ada"}))
        let_workers_decide()
        with CaptureQueriesContext(connection) as queries:
            read(server, ada, "?limit=100")
        counts.append(len(queries))
    assert counts == [3, 3]  # the key, the customer, the page

"""GET /api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}: how an enrollment goes, and why."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Event
from engage.http.paging import written_place
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.engine.webhooks.client import Limits
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery
from tests.journeys.walking.stories import enter, walked
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import data, let_workers_walk, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory
from tests.support.receiver import running

NOW = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
SECRET_HEADERS = {
    "Content-Type": "application/json",
    "X-Order": "A-1042",
    "Authorization": "Bearer s3cret",
    "X-Api-Key": "s3cret",
    "x-shop-token": "s3cret",
    "Cookie": "session=s3cret",
}


def path_of(enrollment: Enrollment) -> str:
    return f"/api/v1/journeys/{enrollment.workspace_id}/enrollments/{enrollment.id}"


def look_up(server: ServerClient, enrollment: Enrollment, query: str = "") -> dict[str, Any]:
    return data(server.get(path_of(enrollment) + query), status=200)


@pytest.fixture
def waiting(acme: Workspace, server: ServerClient) -> Enrollment:
    return walked(server, acme, [DAY])


def webhook_step(enrollment: Enrollment, ordinal: int, **fields: Any) -> WebhookDelivery:
    """A webhook step in the history, as a walker writes it down."""
    StepRun.objects.create(
        workspace_id=enrollment.workspace_id, enrollment=enrollment, ordinal=ordinal, step_id="tell", type="webhook",
        state="waiting", detail="Sends POST to shop.example.", began_at=NOW,
    )  # fmt: skip
    written = {
        "host": "shop.example:443", "method": "POST", "url": "https://shop.example/orders?order=7&api_key=s3cret",
        "headers": SECRET_HEADERS, "body": '{"order":7}', "due_at": NOW + timedelta(minutes=5), **fields,
    }  # fmt: skip
    return WebhookDelivery.objects.create(
        workspace_id=enrollment.workspace_id, enrollment=enrollment, ordinal=ordinal, **written
    )


def attempt(delivery: WebhookDelivery, number: int, **fields: Any) -> WebhookAttempt:
    written = {"at": NOW, "milliseconds": 2004, "status": 503, "answer": "Back soon.", **fields}
    return WebhookAttempt.objects.create(
        workspace_id=delivery.workspace_id, delivery=delivery, number=number, **written
    )


# Where it stands -----------------------------------------------------------------------------------------------------


def test_an_enrollment_tells_where_it_stands_and_when_it_goes_on(server: ServerClient, waiting: Enrollment) -> None:
    answer = server.get(path_of(waiting))
    run = StepRun.objects.get()
    assert waiting.due_at is not None
    assert waiting.job is not None
    assert answer.json() == {
        "success": True,
        "message": "The enrollment as it stands.",
        "data": {
            "enrollmentId": waiting.id,
            "journeyId": waiting.journey_id,
            "journeyName": "Welcome",
            "revision": 1,
            "customerId": waiting.customer_id,
            "triggerId": waiting.job.trigger_id,
            "jobId": waiting.job.job_id,
            "state": "active",
            "stepId": "day",
            "awaitsEvent": None,
            "goesOnAt": iso_utc(waiting.due_at),
            "exitReason": None,
            "error": None,
            "enteredAt": iso_utc(waiting.entered_at),
            "endedAt": None,
            "stepsBegun": 1,
            "next": None,
            "nextCursor": None,
            "steps": [
                {
                    "ordinal": 0,
                    "stepId": "day",
                    "type": "delay",
                    "state": "waiting",
                    "detail": run.detail,
                    "missing": [],
                    "because": [],
                    "policy": None,
                    "eventId": None,
                    "beganAt": iso_utc(run.began_at),
                    "endedAt": None,
                    "webhook": None,
                }
            ],
        },
    }


def test_who_has_just_entered_has_ended_only_where_there_are_no_steps(server: ServerClient, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    before, done = (
        look_up(server, enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)) for steps in ([DAY], [])
    )
    assert (before["state"], before["stepId"], before["endedAt"]) == ("active", "day", None)
    assert (done["state"], done["endedAt"]) == ("completed", done["enteredAt"])


def test_an_exited_enrollment_tells_why_and_a_completed_one_nothing(server: ServerClient, acme: Workspace) -> None:
    exited = look_up(server, walked(server, acme, [{"id": "out", "type": "exit", "reason": "Nothing to say."}]))
    assert (exited["state"], exited["stepId"], exited["exitReason"]) == ("exited", "out", "Nothing to say.")
    assert exited["goesOnAt"] is None
    assert exited["endedAt"] is not None
    completed = look_up(server, walked(server, acme, []))
    assert (completed["state"], completed["stepId"], completed["exitReason"]) == ("completed", None, None)
    assert completed["steps"] == []


def test_who_could_not_go_on_tells_the_error(server: ServerClient, waiting: Enrollment) -> None:
    Enrollment.objects.update(error="KeyError: 'gone'")
    assert look_up(server, waiting)["error"] == "KeyError: 'gone'"


def test_a_step_tells_its_missing_names_and_its_event(server: ServerClient, waiting: Enrollment) -> None:
    event = Event.objects.create(
        workspace_id=waiting.workspace_id, customer_id=waiting.customer_id, name="noted", source="journey",
        occurred_at=NOW,
    )  # fmt: skip
    StepRun.objects.update(missing=["customer.first_name"], event=event)
    (step,) = look_up(server, waiting)["steps"]
    assert (step["missing"], step["eventId"]) == (["customer.first_name"], event.id)


def test_a_branch_tells_which_values_led_where(server: ServerClient, acme: Workspace) -> None:
    free = {"field": "api.payload.plan", "op": "eq", "value": "free"}
    steps = [
        {"id": "which", "type": "branch", "cases": [{"if": {"not": free}, "next": "out"}, {"if": free, "next": "out"}]},
        {"id": "out", "type": "exit", "reason": "Enough."},
    ]
    which, out = look_up(server, walked(server, acme, steps, plan="free"))["steps"]
    assert (which["detail"], which["because"]) == (
        "Case 2 of 2 holds: goes on to 'out'.",
        ['api.payload.plan is "free"'],
    )
    assert out["because"] == []
    enrollment = Enrollment.objects.get()
    path = f"/api/v1/journeys/{acme.id}/{enrollment.journey_id}/trigger?dryRun=true"
    body = {"customerId": enrollment.customer_id, "payload": {"plan": "free"}}
    tried = data(server.post(path, body), status=200)
    assert [step["because"] for step in tried["rehearsal"]["steps"]] == [which["because"], []]


# Webhooks ------------------------------------------------------------------------------------------------------------


def test_nobody_waits_for_a_webhook_that_is_only_sent_again(server: ServerClient, waiting: Enrollment) -> None:
    webhook_step(waiting, 1, due_at=NOW, again=True)
    webhook_step(waiting, 2, due_at=NOW + timedelta(hours=1))
    Enrollment.objects.update(step_id="tell", due_at=None, steps_begun=3)
    assert look_up(server, waiting)["goesOnAt"] == "2026-11-20T20:08:00.000Z"
    Enrollment.objects.update(state="completed", ended_at=NOW, steps_begun=2)
    assert look_up(server, waiting)["goesOnAt"] is None


def test_a_webhook_tells_its_request_its_attempts_and_the_next_one(server: ServerClient, waiting: Enrollment) -> None:
    delivery = webhook_step(waiting, 1, attempts=2)
    attempt(delivery, 1)
    attempt(delivery, 2, status=None, answer="", error="The connection was refused.", milliseconds=3)
    Enrollment.objects.update(step_id="tell", due_at=None, steps_begun=2)
    found = look_up(server, waiting)
    assert (found["stepId"], found["goesOnAt"]) == ("tell", "2026-11-20T19:13:00.000Z")
    assert found["steps"][1]["webhook"] == {
        "webhookId": f"msg_{waiting.id}_1",
        "method": "POST",
        "url": "https://shop.example/orders?order=7&api_key=***",
        "headers": {
            "Content-Type": "application/json",
            "X-Order": "***",
            "Authorization": "***",
            "X-Api-Key": "***",
            "x-shop-token": "***",
            "Cookie": "***",
        },
        "body": '{"order":7}',
        "state": "waiting",
        "result": None,
        "waitsBecause": None,
        "kept": None,
        "attemptsMade": 2,
        "nextAttemptAt": "2026-11-20T19:13:00.000Z",
        "attempts": [
            {
                "number": 1,
                "at": "2026-11-20T19:08:00.000Z",
                "milliseconds": 2004,
                "status": 503,
                "answer": "Back soon.",
                "error": None,
            },
            {
                "number": 2,
                "at": "2026-11-20T19:08:00.000Z",
                "milliseconds": 3,
                "status": None,
                "answer": "",
                "error": "The connection was refused.",
            },
        ],
    }


@each("state", ["delivered", "failed", "dropped"])
def test_a_webhook_that_is_over_has_a_result_and_no_next_attempt(
    server: ServerClient, waiting: Enrollment, state: str
) -> None:
    webhook_step(waiting, 1, state=state, result="The receiver answered 410.", body=None, method="GET")
    webhook = look_up(server, waiting)["steps"][1]["webhook"]
    assert (webhook["state"], webhook["result"]) == (state, "The receiver answered 410.")
    assert (webhook["nextAttemptAt"], webhook["body"], webhook["attempts"]) == (None, None, [])


def test_of_many_attempts_the_latest_twenty_are_shown(server: ServerClient, waiting: Enrollment) -> None:
    delivery = webhook_step(waiting, 1, attempts=25)
    for number in range(1, 26):
        attempt(delivery, number)
    webhook = look_up(server, waiting)["steps"][1]["webhook"]
    assert webhook["attemptsMade"] == 25
    assert [one["number"] for one in webhook["attempts"]] == list(range(6, 26))


def test_a_webhook_is_followed_from_its_first_attempt_to_its_delivery(server: ServerClient, acme: Workspace) -> None:
    """Written by the walker and the sender themselves."""
    with running() as receiver:
        tell = {
            "id": "tell",
            "type": "webhook",
            "url": receiver.url("/first/503/then/200"),
            "headers": {"Authorization": "Bearer s3cret"},
            "body": {"order": "{{ api.payload.order }}"},
        }
        enrollment = walked(server, acme, [tell], order="A-1042")
        send(limits=Limits())
        tried = look_up(server, enrollment)
        make_due()
        send(limits=Limits())
    let_workers_walk()
    (step,) = tried["steps"]
    assert (step["state"], step["endedAt"]) == ("waiting", None)
    assert tried["goesOnAt"] == step["webhook"]["nextAttemptAt"] > step["beganAt"]
    assert [one["status"] for one in step["webhook"]["attempts"]] == [503]
    assert step["webhook"]["headers"]["Authorization"] == "***"
    assert receiver.arrived[0].headers["authorization"] == "Bearer s3cret"
    over = look_up(server, enrollment)
    assert over["state"] == "completed"
    (step,) = over["steps"]
    assert (step["state"], step["webhook"]["state"], step["webhook"]["attemptsMade"]) == ("done", "delivered", 2)
    assert [one["status"] for one in step["webhook"]["attempts"]] == [503, 200]
    assert step["webhook"]["body"] == '{"order":"A-1042"}'


# Pages ---------------------------------------------------------------------------------------------------------------


def long_history(enrollment: Enrollment, steps: int) -> None:
    for ordinal in range(1, steps):
        attempt(webhook_step(enrollment, ordinal), 1)
    Enrollment.objects.update(steps_begun=steps)


@each("limit, expected", [(50, [50, 50, 20]), (1, [1, 1, 1])])
def test_a_long_history_is_read_page_by_page_in_order(
    server: ServerClient, waiting: Enrollment, limit: int, expected: list[int]
) -> None:
    long_history(waiting, sum(expected))
    seen: list[int] = []
    sizes, query = [], f"?limit={limit}"
    while True:
        page = look_up(server, waiting, query)
        assert page["stepsBegun"] == sum(expected)
        seen += [step["ordinal"] for step in page["steps"]]
        sizes.append(len(page["steps"]))
        if page["nextCursor"] is None:
            break
        query = f"?limit={limit}&cursor={page['nextCursor']}"
    assert (seen, sizes) == (list(range(sum(expected))), expected)


def test_fifty_steps_are_a_page_unless_said(server: ServerClient, waiting: Enrollment) -> None:
    long_history(waiting, 120)
    assert len(look_up(server, waiting)["steps"]) == 50
    assert len(look_up(server, waiting, "?limit=100")["steps"]) == 100


@each(
    "query, message",
    [
        ("limit=", "limit must be a whole number from 1 to 100."),
        ("limit=0", "limit must be a whole number from 1 to 100."),
        ("limit=101", "limit must be a whole number from 1 to 100."),
        ("limit=-1", "limit must be a whole number from 1 to 100."),
        ("limit=ten", "limit must be a whole number from 1 to 100."),
        ("limit=" + "1" * 5000, "limit must be a whole number from 1 to 100."),  # more digits than Python reads
        ("limit=%C2%B2", "limit must be a whole number from 1 to 100."),
        ("cursor=nonsense", "cursor must be the nextCursor of an answer to the same call."),
        ("cursor=Wz!Fd", "cursor must be the nextCursor of an answer to the same call."),  # [1], and a "!"
        ("cursor=WzFd&after=WzFd", "cursor and after are two spellings of one place: send after alone."),
        ("after=nonsense", "after must be the next of an answer to the same call."),
        ("cursor=%00", "cursor must be the nextCursor of an answer to the same call."),
        ("cursor=WyJhIl0", "cursor must be the nextCursor of an answer to the same call."),  # ["a"]
        ("cursor=W3RydWVd", "cursor must be the nextCursor of an answer to the same call."),  # [true]
        ("cursor=Wy0xXQ", "cursor must be the nextCursor of an answer to the same call."),  # [-1]
        ("cursor=WzFlOTld", "cursor must be the nextCursor of an answer to the same call."),  # [1e99]
        (f"cursor={written_place(2**63)}", "cursor must be the nextCursor of an answer to the same call."),
        ("cursor=" + "W1tb" * 2000, "cursor must be the nextCursor of an answer to the same call."),  # [[[[[[…
    ],
)
def test_a_page_that_is_none_is_refused(server: ServerClient, waiting: Enrollment, query: str, message: str) -> None:
    answer = server.get(f"{path_of(waiting)}?{query}")
    assert refused(answer, status=400, error="Invalid request") == message


def test_a_page_costs_as_many_statements_whatever_is_on_it(server: ServerClient, waiting: Enrollment) -> None:
    counts = []
    for steps in (2, 100):
        StepRun.objects.filter(type="webhook").delete()
        WebhookDelivery.objects.all().delete()
        long_history(waiting, steps)
        look_up(server, waiting)
        with CaptureQueriesContext(connection) as queries:
            assert len(look_up(server, waiting, "?limit=100")["steps"]) == steps
        counts.append(len(queries))
    assert counts == [3, 3]  # the key, all that is told, and what the webhooks wait for


# Whose ---------------------------------------------------------------------------------------------------------------

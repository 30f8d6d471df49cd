"""GET /api/v1/feed/{workspaceId}: what happens, in one order, told in the transaction that does it."""

import re
import threading
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from bridge.models import Message
from customers.erasure import erase_customer
from customers.models import Customer
from engage.feed import FeedType, tell, without_values
from engage.models import App, FeedBatch, Workspace
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.feed import numbering, reading
from journeys.models import Chunk, EnrollmentJob, Journey
from tests.journeys.webhooks.standing import send
from tests.support.calls import data, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory, AppFactory, CustomerFactory, JourneyFactory, crowd
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once, elsewhere

pytestmark = pytest.mark.django_db
WAIT: list[dict[str, Any]] = [{"id": "wait", "type": "delay", "for": "P1D"}]


@pytest.fixture
def told(acme: Workspace) -> Workspace:
    """Acme, whose feed is on."""
    return turn_on(acme)


def turn_on(workspace: Workspace) -> Workspace:
    workspace.feed = True
    workspace.save(update_fields=["feed"])
    return workspace


def page(server: ServerClient, **query: Any) -> dict[str, Any]:
    return data(server.get(f"/api/v1/feed/{server.key.workspace_id}", query_params=query), status=200)


def events(server: ServerClient, **query: Any) -> list[dict[str, Any]]:
    return list(page(server, limit=1000, **query)["events"])


def types(server: ServerClient, **query: Any) -> list[str]:
    return [event["type"] for event in events(server, **query)]


# Whether it is on -----------------------------------------------------------------------------------------------------


def test_it_is_off_unless_it_was_turned_on_and_then_nothing_is_kept(
    acme: Workspace, server: ServerClient, ada: Customer, journey: Journey
) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_walk()
    assert refused(server.get(f"/api/v1/feed/{acme.id}"), status=409, error="Feed off") == reading.FeedOff.says
    assert not FeedBatch.objects.exists()
    turn_on(acme)
    assert page(server)["events"] == []


def test_on_it_costs_no_further_statement_where_jobs_are_decided_and_walked(
    acme: Workspace, server: ServerClient, journey: Journey, cast: dict[str, Customer]
) -> None:
    def statements(name: str) -> list[str]:
        data(trigger(server, journey, {"external_id": name}))
        with CaptureQueriesContext(connection) as queries:
            let_workers_walk()
        return [re.sub(r"s\d+_x\d+", "", query["sql"].split("(")[0][:60]) for query in queries.captured_queries]

    off = statements("ada")
    turn_on(acme)
    assert statements("grace") == off
    assert FeedBatch.objects.count() == 3


# What it tells --------------------------------------------------------------------------------------------------------


def test_an_entry_is_told_from_its_decision_to_its_end(
    told: Workspace, server: ServerClient, ada: Customer, journey: Journey
) -> None:
    call = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    decided, started, completed, done = events(server)
    whose = {"journeyId": journey.id, "customerId": ada.id, "external_id": "ada", "jobId": call["jobId"]}
    whose["triggerId"] = call["triggerId"]
    assert {name: decided[name] for name in whose} == whose
    assert (decided["type"], decided["result"]) == ("job.decided", "enrolled")
    assert decided["reason"] == EnrollmentJob.objects.get().reason
    assert (started["type"], completed["type"]) == ("enrollment.started", "enrollment.completed")
    assert {name: started[name] for name in whose} == whose
    assert started["enrollmentId"] == completed["enrollmentId"]
    assert {name for name in done if name not in {"eventId", "at"}} == {"type", "journeyId", "triggerId"}
    assert (done["type"], done["triggerId"]) == ("trigger.completed", call["triggerId"])
    assert len({event["eventId"] for event in events(server)}) == 4


def test_who_is_refused_cancelled_or_exited_is_told_with_the_reason(
    told: Workspace, server: ServerClient, cast: dict[str, Customer]
) -> None:
    waiting = JourneyFactory.create(workspace=told, steps=WAIT)
    for _ in range(2):
        data(trigger(server, waiting, {"external_id": "ada"}))
        let_workers_decide()
    cancelled = data(trigger(server, waiting, {"external_id": "grace"}))["jobId"]
    assert server.delete(f"/api/v1/journeys/{told.id}/jobs/{cancelled}").succeeded
    [started] = events(server, types="enrollment.started")
    path = f"/api/v1/journeys/{told.id}/enrollments/{started['enrollmentId']}/exit"
    assert server.post(path, {"reason": "Refunded."}).succeeded
    assert [event["result"] for event in events(server, types="job.decided")] == [
        "enrolled", "already_enrolled", "cancelled"
    ]  # fmt: skip
    [exited] = events(server, types="enrollment.exited")
    assert (exited["customerId"], exited["reason"]) == (cast["ada"].id, "Refunded.")
    assert len(events(server, types="trigger.completed")) == 3


def test_a_walk_that_ends_and_a_webhook_that_fails_are_told(
    told: Workspace, server: ServerClient, ada: Customer, receiver: Receiver
) -> None:
    steps = [{"id": "call", "type": "webhook", "url": receiver.url("/status/404"), "onFailure": "exit"}]
    failing = JourneyFactory.create(workspace=told, steps=steps)
    data(trigger(server, failing, {"external_id": "ada"}))
    let_workers_walk()
    send()
    let_workers_walk()
    failed, exited = (event for event in events(server) if event["type"] in {"webhook.failed", "enrollment.exited"})
    assert (failed["reason"], failed["customerId"], failed["journeyId"]) == ("Answered 404.", ada.id, failing.id)
    assert failed["enrollmentId"] == exited["enrollmentId"]
    assert exited["reason"] == "The webhook 'call' failed."


def test_a_hold_an_erasure_and_a_refused_message_are_told(
    told: Workspace, server: ServerClient, ada: Customer, journey: Journey
) -> None:
    strict = SdkClient(AppFactory.create(workspace=told, message_policy=App.MessagePolicy.ENFORCE))
    Message.objects.create(workspace=told, key="sale", status="active")
    body = {"messageId": "sale", "userId": "u", "actionType": "track_event", "actionData": {"eventName": "x"}}
    keyed = {"headers": {"Idempotency-Key": "once"}}
    for options, message_id in (({}, "sale"), (keyed, "sale"), ({}, "none")):
        assert not strict.post("/api/v1/sdk/bridge/action", {**body, "messageId": message_id}, **options).succeeded
    assert server.post(f"/api/v1/journeys/{told.id}/{journey.id}/hold", {"reason": "Wrong price."}).succeeded
    data(trigger(server, journey, {"external_id": "ada"}))
    assert server.delete(f"/api/v1/customers/{told.id}/{ada.id}").succeeded
    let_workers_decide()
    assert [(one["result"], one["reason"]) for one in events(server, types="message.refused")] == [
        ("event_not_listed", "The message sale."),
        ("event_not_listed", "The message sale."),
        ("message_not_registered", "No message that is registered."),
    ]
    [held, erased, decided, _] = events(server)[3:]
    assert (held["type"], held["journeyId"], held["reason"]) == ("journey.held", journey.id, "Wrong price.")
    assert (erased["type"], erased["customerId"], erased["external_id"]) == ("customer.erased", ada.id, "ada")
    assert (decided["result"], decided["customerId"]) == ("customer_deleted", ada.id)
    assert "external_id" not in decided


def test_each_type_is_told_somewhere_here() -> None:
    here = Path(__file__).read_text()
    assert [kind for kind in FeedType.values if f'"{kind}"' not in here] == []


def test_reasons_have_no_values() -> None:
    with connection.cursor() as cursor:
        for reason, told in (
            ("Given up after 5 attempts: ValueError: ada@example.com", "Given up after 5 attempts."),
            ("The webhook 'call' failed. Its url has no 'ada'.", "The webhook 'call' failed."),
            ("The delay 'd' has no time to wait for. 'ada' is none.", "The delay 'd' has no time to wait for."),
            ("The order was refunded. Twice.", "The order was refunded. Twice."),
            ("", None),
        ):
            cursor.execute(f"SELECT {without_values('%s')}", [reason])
            assert cursor.fetchone() == (told,)


def test_somebody_merged_has_the_external_id_of_whom_they_are_now(
    told: Workspace, server: ServerClient, ada: Customer, journey: Journey
) -> None:
    anonymous = CustomerFactory.create(workspace=told, external_id=None, user_id="anon-1")
    data(trigger(server, journey, {"customerId": anonymous.id}))
    let_workers_decide()
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada"}}
    assert server.post(f"/api/v1/customers/{told.id}/merge", body).succeeded
    [started] = events(server, types="enrollment.started")
    assert (started["customerId"], started["external_id"]) == (anonymous.id, "ada")
    assert types(server).count("job.decided") == 1
    assert "customer.erased" not in types(server)


def test_a_call_is_complete_once_and_behind_all_of_its_decisions(
    told: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its readers number a few at a time, and a page ends within a batch."""
    journey = JourneyFactory.create(workspace=told)
    many = data(trigger(server, journey, {"external_ids": crowd(told, 7)}))
    hour = timedelta(hours=1)
    Chunk.objects.update(stop=3)
    Chunk.objects.create(
        workspace=told, trigger_id=many["triggerId"], start=3, stop=7, lane="bulk", turn_at=timezone.now() - hour,
        due_at=timezone.now() + hour,
    )  # fmt: skip
    let_workers_decide()
    assert "trigger.completed" not in types(server)
    Chunk.objects.update(due_at=timezone.now() - hour)
    monkeypatch.setattr(numbering, "_AT_ONCE", 1)
    let_workers_decide()
    found, cursor = [], dict[str, Any]()
    fresh = FeedBatch.objects.filter(position=None)
    left = fresh.count()
    while (part := page(server, limit=4, **cursor))["events"]:
        left = max(left - 1, 0)
        assert fresh.count() == left  # none has all to number
        cursor = {"after": part["next"]}
        found += part["events"]
    assert Counter(event["type"] for event in found) == {
        "job.decided": 7, "enrollment.started": 7, "enrollment.completed": 7, "trigger.completed": 1
    }  # fmt: skip
    assert found == events(server)
    kinds = [event["type"] for event in found]
    assert kinds.index("trigger.completed") > max(n for n, kind in enumerate(kinds) if kind == "job.decided")


# Reading --------------------------------------------------------------------------------------------------------------


def test_an_empty_page_says_when_to_ask_again_and_keeps_the_place(
    told: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold(number: int) -> None:
        for _ in range(number):
            tell(FeedType.JOURNEY_HELD, workspace_id=told.id)

    empty = server.get(f"/api/v1/feed/{told.id}")
    assert (empty.json()["data"]["events"], empty["Retry-After"]) == ([], "1")
    hold(3)
    first = page(server, after=empty.json()["data"]["next"])
    assert len(first["events"]) == 3
    assert page(server, after=first["next"]) == {"events": [], "next": first["next"]}
    hold(2)
    assert len(page(server, after=first["next"])["events"]) == 2
    # Where little is wanted, a call looks at some of what is there, and says at once where to go on.
    monkeypatch.setattr(reading, "_MOST_LOOKED_AT", 2)
    tell(FeedType.CUSTOMER_ERASED, workspace_id=told.id)
    seen, cursor, pages = [], dict[str, Any](), 0
    path, wanted = f"/api/v1/feed/{told.id}", {"types": "customer.erased"}
    while "Retry-After" not in (answer := server.get(path, query_params={**wanted, **cursor})):
        seen += answer.json()["data"]["events"]
        cursor, pages = {"after": answer.json()["data"]["next"]}, pages + 1
        assert pages < 9
    assert len(seen) == 1


def test_what_is_asked_for_wrongly_is_named(told: Workspace, server: ServerClient) -> None:
    for query, message in (
        ({"types": "job.decided,nonsense"}, "types must be of job.decided, "),
        ({"types": ","}, "types must name from 1 to 50"),
        ({"journeys": ""}, "journeys must name from 1 to 50"),
        ({"after": "x"}, "after must be the next of an answer"),
        ({"limit": "1001"}, "limit must be a whole number from 1 to 1000."),
    ):
        answer = server.get(f"/api/v1/feed/{told.id}", query_params=query)
        assert refused(answer, status=400, error="Invalid request").startswith(message), query
    refused(server.get(f"/api/v1/feed/{told.id}?journeys=none"), status=404, error="Journey not found")


def test_a_key_that_is_for_some_journeys_reads_theirs_alone_and_rival_reads_none(
    told: Workspace, server: ServerClient, ada: Customer, rival_server: ServerClient, rival: Workspace
) -> None:
    one, other = (JourneyFactory.create(workspace=told, key=key) for key in ("one", "other"))
    for journey in (one, other):
        data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    tell(FeedType.CUSTOMER_ERASED, workspace_id=told.id)
    limited = ServerClient(ApiKeyFactory.create(workspace=told, journeys=[one.id], scopes=["feed"]))
    assert {event["journeyId"] for event in events(limited)} == {one.id}
    assert events(limited, journeys="other") == []
    assert {event["journeyId"] for event in events(server, journeys=f"other,{one.id}")} == {one.id, other.id}
    assert len(events(server)) == 9
    turn_on(rival)
    assert events(rival_server) == []


def test_it_is_turned_on_by_a_seed_file_and_pruned_by_its_setting(
    acme: Workspace, server: ServerClient, settings: Settings, tmp_path: Any
) -> None:
    file = tmp_path / "acme.json"
    for feed in ("true", "false"):
        file.write_text(f'{{"workspace": {{"key": "acme", "feed": {feed}}}}}')
        call_command("seed_workspace", str(file))
        acme.refresh_from_db()
        assert acme.feed == (feed == "true")
        assert acme.name == "Acme"
    turn_on(acme)
    tell(FeedType.JOURNEY_HELD, workspace_id=acme.id)
    old = FeedBatch.objects.get()
    FeedBatch.objects.update(id=f"00000000{old.id[8:]}", at=timezone.now() - timedelta(days=15))
    tell(FeedType.JOURNEY_HELD, workspace_id=acme.id)
    settings.RETAIN_FEED_DAYS = 14
    call_command("prune")
    assert len(events(server)) == 1


# Under commits at the same time ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_what_commits_late_is_read_late_and_holds_nobody_up(told: Workspace, server: ServerClient) -> None:
    with transaction.atomic():
        tell(FeedType.JOURNEY_HELD, workspace_id=told.id, reason="first")
        elsewhere(lambda: tell(FeedType.JOURNEY_HELD, workspace_id=told.id, reason="second"))
        seen = elsewhere(lambda: page(server))
    assert [event["reason"] for event in seen["events"]] == ["second"]
    assert [event["reason"] for event in page(server, after=seen["next"])["events"]] == ["first"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_readers_that_poll_beside_32_writers_miss_nothing_and_get_nothing_twice(
    told: Workspace, server: ServerClient
) -> None:
    """Some writers decide jobs, some erase people, some roll back; the readers agree about the order."""
    journey = JourneyFactory.create(workspace=told)
    names = crowd(told, 96)
    for n in range(0, 64, 4):
        data(trigger(server, journey, {"external_ids": names[n : n + 4]}))
    gone = list(Customer.objects.filter(external_id__in=names[64:80]).values_list("id", flat=True))
    writing = threading.Event()
    writing.set()

    def decide() -> None:
        for lane in Chunk.Lane:
            serve_lane(lane=lane, named=None, seconds=20)

    def erase(customer_id: str) -> None:
        with transaction.atomic():
            erase_customer(workspace_id=told.id, customer_id=customer_id)
            if customer_id in gone[::2]:
                raise InterruptedError

    def erase_or_not(customer_id: str) -> None:
        with suppress(InterruptedError):
            erase(customer_id)

    read_by = [_Reader(server) for _ in range(2)]
    readers = [threading.Thread(target=one.poll, args=(writing,)) for one in read_by]
    for reader in readers:
        reader.start()
    try:
        all_at_once([decide] * 16 + [partial(erase_or_not, one) for one in gone])
        let_workers_decide()
    finally:
        writing.clear()
        for reader in readers:
            reader.join(60)
    for one in read_by:
        one.read()  # alone: while the other one numbers what is new, there may be nothing to see
    first, second = (one.found for one in read_by)
    assert [event["eventId"] for event in first] == [event["eventId"] for event in second]
    assert len({event["eventId"] for event in first}) == len(first)
    assert Counter(event["type"] for event in first) == {
        "job.decided": 64, "enrollment.started": 64, "enrollment.completed": 64, "trigger.completed": 16,
        "customer.erased": 8,
    }  # fmt: skip
    jobs = {event["jobId"] for event in first if event["type"] == "job.decided"}
    assert jobs == {job.job_id for job in EnrollmentJob.objects.all()}


class _Reader:
    """What somebody has read of the feed, and from where they go on."""

    def __init__(self, server: ServerClient) -> None:
        self.found: list[dict[str, Any]] = []
        self._server, self._cursor = server, dict[str, Any]()

    def read(self) -> None:
        while (part := page(self._server, limit=7, **self._cursor))["events"]:
            self._cursor = {"after": part["next"]}
            self.found += part["events"]

    def poll(self, writing: threading.Event) -> None:
        while writing.is_set():
            self.read()
        connections.close_all()

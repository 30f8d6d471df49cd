"""How many customers the calls of one app from one address may create, and how many journeys they may start."""

from datetime import UTC, datetime
from typing import Any

import pytest
import redis
import time_machine
from pytest_django import Settings
from structlog.testing import capture_logs

from bridge.caps import count_customer_created, count_journeys_started
from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import IdempotencyRecord, Workspace
from engage.redis.metric_counters import metric_counters
from journeys.models import Enrollment, EnrollmentJob
from tests.support.bridge_calls import ACTION, CAPTURE, both_calls_apart, call
from tests.support.calls import data, let_workers_decide, refused, trigger
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory, JourneyFactory

pytestmark = pytest.mark.usefixtures("_two_a_day")

ONE_DAY = [{"id": "pause", "type": "delay", "for": "P1D"}]


@pytest.fixture
def _two_a_day(settings: Settings) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = settings.BRIDGE_JOURNEYS_STARTED_LIMIT = "2/d"


def new_person(sdk: SdkClient, number: int, *, path: str = ACTION, address: str = "198.51.100.1") -> Answer:
    return call(sdk, path, {"userId": f"new-{number}"}, REMOTE_ADDR=address)


@both_calls_apart
def test_over_the_cap_nobody_is_created_and_nothing_recorded(sdk: SdkClient, path: str) -> None:
    *_, last = [new_person(sdk, number, path=path) for number in range(3)]
    seconds = int(last["Retry-After"])
    assert 1 <= seconds <= 86_400
    message = refused(last, status=429, error="Rate limit exceeded")
    assert message == f"More than 2 new customers in 86,400 seconds. Try again in {int(seconds):,} seconds."
    assert last.json()["code"] == "customers_created_limit_exceeded"
    assert int(last["X-RateLimit-Remaining"]) > 0  # it may still call
    assert (Customer.objects.count(), Interaction.objects.count()) == (2, 2)


@pytest.mark.parametrize("begun", [0, 17, 59])
def test_who_waits_as_long_as_told_may_create_and_nobody_before(sdk: SdkClient, settings: Settings, begun: int) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "2/d"
    with time_machine.travel(datetime(2030, 1, 1, 12, 0, begun, tzinfo=UTC), tick=False) as clock:
        *_, last = [new_person(sdk, number) for number in range(3)]
        seconds = int(last["Retry-After"])
        clock.shift(seconds - 1)
        assert new_person(sdk, 3).status_code == 429
        clock.shift(1)
        assert new_person(sdk, 3).status_code == 200


def test_no_count_stays_in_redis_for_long_after_its_window(sdk: SdkClient, settings: Settings) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "2/m"
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.flushdb()
    new_person(sdk, 0)
    counts = list(client.scan_iter("*cap:customers_created*"))
    assert [0 < client.ttl(count) <= 61 for count in counts] == [True]


def test_who_is_known_is_served_as_before(sdk: SdkClient) -> None:
    for number in (0, 1, 2, 3):
        new_person(sdk, number)
    assert [new_person(sdk, number).status_code for number in (0, 1, 0, 2)] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (ACTION, {"actionType": "update_profile", "actionData": {"profileAttributes": {"plan": "pro"}}}),
        (CAPTURE, {"submitAction": {"type": "update_profile", "profileAttributes": {"plan": "pro"}}}),
    ],
)
def test_who_is_known_is_no_new_customer_also_where_their_profile_is_written(
    sdk: SdkClient, acme: Workspace, path: str, fields: dict[str, Any]
) -> None:
    CustomerFactory.create(workspace=acme, user_id="ada")
    written = [call(sdk, path, {"userId": "ada", **fields}, REMOTE_ADDR="198.51.100.1") for _ in range(3)]
    assert [answer.status_code for answer in written] == [200, 200, 200]
    assert [new_person(sdk, number).status_code for number in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (ACTION, {"actionType": "update_profile", "actionData": {"profileAttributes": {"$set": 1}}}),
        (CAPTURE, {"formData": {"constructor": 1}}),
    ],
)
def test_a_refused_call_creates_nobody_and_counts_nobody(sdk: SdkClient, path: str, fields: dict[str, Any]) -> None:
    for number in range(3):
        answer = call(sdk, path, {"userId": f"refused-{number}", **fields}, REMOTE_ADDR="198.51.100.1")
        refused(answer, status=400, error="Invalid request")
    assert [new_person(sdk, number).status_code for number in range(3)] == [200, 200, 429]


def test_apps_and_addresses_count_apart(sdk: SdkClient, acme: Workspace) -> None:
    neighbour = SdkClient(AppFactory.create(workspace=acme))
    for first, who, address in [(0, sdk, "198.51.100.1"), (10, sdk, "198.51.100.2"), (20, neighbour, "198.51.100.1")]:
        statuses = [new_person(who, first + number, address=address).status_code for number in range(3)]
        assert statuses == [200, 200, 429]


def test_it_holds_while_redis_is_away(sdk: SdkClient, redis_is_away: None) -> None:
    assert [new_person(sdk, number).status_code for number in range(4)] == [200, 200, 429, 429]


def test_a_refused_call_may_be_sent_again_with_its_idempotency_key(sdk: SdkClient, settings: Settings) -> None:
    for number in range(3):
        call(sdk, ACTION, {"userId": f"new-{number}"}, headers={"Idempotency-Key": str(number)})
    assert IdempotencyRecord.objects.count() == 2
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "10/d"
    answer = call(sdk, ACTION, {"userId": "new-2"}, headers={"Idempotency-Key": "2"})
    assert (answer.status_code, "Idempotency-Replayed" in answer) == (200, False)


def click(sdk: SdkClient, *, address: str = "198.51.100.1", user_id: str = "ada") -> Answer:
    fields = {"userId": user_id, "actionType": "track_event", "actionData": {"eventName": "clicked"}}
    return call(sdk, ACTION, fields, REMOTE_ADDR=address)


def test_over_the_cap_an_event_is_recorded_and_starts_no_journey(
    sdk: SdkClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        JourneyFactory.create(workspace=acme, trigger_type="event", event_name="clicked")
    CustomerFactory.create(workspace=acme, user_id="ada")
    counted: list[tuple[str, int]] = []
    monkeypatch.setattr(metric_counters, "count", lambda name, by=1: counted.append((name, by)))
    with capture_logs() as lines:
        answers = [click(sdk) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert (Event.objects.count(), Interaction.objects.count(), EnrollmentJob.objects.count()) == (2, 2, 2)
    noted = [(line["number"], line["limit"]) for line in lines if line["event"] == "journeys_not_started"]
    assert noted == [(2, "2/d")]
    assert counted == [("journeys_not_started", 2)]
    click(sdk, address="198.51.100.2")
    assert EnrollmentJob.objects.count() == 4


def test_over_the_cap_an_event_still_ends_an_enrollment(
    sdk: SdkClient, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    left = JourneyFactory.create(workspace=acme, steps=ONE_DAY, steps__exit_on=[{"event": "clicked"}])
    data(trigger(server, left, {"external_id": "ada"}))
    let_workers_decide()
    for _ in range(3):
        JourneyFactory.create(workspace=acme, trigger_type="event", event_name="clicked")
    fields = {"external_id": "ada", "actionType": "track_event", "actionData": {"eventName": "clicked"}}
    assert call(sdk, ACTION, fields).status_code == 200
    assert Enrollment.objects.get().state == "exited"
    assert EnrollmentJob.objects.count() == 1


def test_who_starts_too_many_journeys_may_still_create_customers(sdk: SdkClient, acme: Workspace) -> None:
    for _ in range(3):
        JourneyFactory.create(workspace=acme, trigger_type="event", event_name="clicked")
    assert [click(sdk, user_id=f"new-{number}").status_code for number in range(3)] == [200, 200, 429]
    assert (Customer.objects.count(), EnrollmentJob.objects.count()) == (2, 0)


def test_journeys_started_are_counted_by_their_number_and_apart_from_new_customers() -> None:
    for _ in range(2):
        count_customer_created(app_id="journeys", address="198.51.100.1")
    for number in (1, 1):
        assert count_journeys_started(app_id="journeys", address="198.51.100.1", number=number)
    assert not count_journeys_started(app_id="journeys", address="198.51.100.1", number=1)
    assert not count_journeys_started(app_id="journeys", address="198.51.100.2", number=3)

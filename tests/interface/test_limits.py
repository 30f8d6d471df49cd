"""How often a key may trigger, and what the headers say of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection, transaction

from engage.models import DEFAULT_RATE_LIMIT, ApiKey, Workspace
from engage.notations.sizes import MAX_BODY_BYTES
from journeys.models import EnrollmentJob, Journey
from tests.support.bridge_calls import CAPTURE, LEAST
from tests.support.calls import data, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.usefixtures("ada")


@pytest.fixture(autouse=True)
def _one_moment() -> Iterator[None]:
    """No window ends in the middle of a test."""
    with time_machine.travel(datetime.now(UTC), tick=False):
        yield


def limited(workspace: Workspace, rate: str) -> ServerClient:
    return ServerClient(ApiKeyFactory.create(workspace=workspace, rate_limit=rate))


def test_a_key_may_trigger_100_times_a_minute_by_default(acme: Workspace, journey: Journey) -> None:
    assert DEFAULT_RATE_LIMIT == "100/m"
    assert ApiKey(workspace=acme, name="new").rate_limit == "100/m"
    answer = trigger(limited(acme, DEFAULT_RATE_LIMIT), journey, {"external_id": "ada"})
    assert answer["X-RateLimit-Limit"] == "100"


def test_the_headers_tell_limit_remaining_and_reset(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, "5/m")
    for remaining in ("4", "3"):
        answer = trigger(server, journey, {"external_id": "ada"})
        reset_in = int(answer["X-RateLimit-Reset"]) - time.time()
        assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("5", remaining)
        assert 0 <= reset_in <= 61
        assert answer["RateLimit-Policy"] == '"trigger";q=5;w=60'
        assert answer["RateLimit"].startswith(f'"trigger";r={remaining};t=')


@each("rate, seconds", [("5/s", 1), ("5/m", 60), ("5/h", 3600), ("5/d", 86_400), ("5/30s", 30), ("5/15m", 900)])
def test_a_rate_names_its_window(acme: Workspace, journey: Journey, rate: str, seconds: int) -> None:
    answer = trigger(limited(acme, rate), journey, {"external_id": "ada"})
    assert answer["RateLimit-Policy"] == f'"trigger";q=5;w={seconds}'
    assert 1 <= int(answer["RateLimit"].partition(";t=")[2]) <= seconds


def test_over_the_limit_nothing_is_queued(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, "2/m")
    answers = [trigger(server, journey, {"external_id": "ada"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [202, 202, 429, 429]
    refused(answers[-1], status=429, error="Rate limit exceeded")
    assert answers[-1]["X-RateLimit-Remaining"] == "0"
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert EnrollmentJob.objects.count() == 2


def test_other_calls_use_up_no_triggers(acme: Workspace, journey: Journey) -> None:
    """Those of customers and events, and look-ups, have counts of their own, and ten times the limit."""
    server = limited(acme, "2/m")
    customers, ada = f"/api/v1/customers/{acme.id}", {"external_id": "ada"}
    for _ in range(10):
        data(server.put(customers, ada), status=200)
        data(server.post(f"{customers}/events", {**ada, "eventName": "seen"}))
        refused(server.get(f"/api/v1/journeys/{acme.id}/jobs/none"), status=404, error="Job not found")
    assert [trigger(server, journey, ada).status_code for _ in range(3)] == [202, 202, 429]
    assert trigger(server, journey, ada)["RateLimit-Policy"] == '"trigger";q=2;w=60'
    assert server.put(customers, ada)["RateLimit"].startswith('"customers";r=9;t=')


def test_refusals_carry_the_headers_and_count(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, "5/m")
    for remaining, body in enumerate([{}, {"external_id": 7}, {"external_id": "nobody"}, b"not json"]):
        assert trigger(server, journey, body)["X-RateLimit-Remaining"] == str(4 - remaining)


# Which answers tell the limit ----------------------------------------------------------------------------------------

LIMIT_HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"}
KEY = {"Idempotency-Key": "4711"}


@dataclass(frozen=True)
class Endpoint:
    """A limited call, with a body that succeeds."""

    caller: ServerClient | SdkClient
    path: str
    body: dict[str, Any]

    def call(self, method: str = "POST", *, body: Any = None, **options: Any) -> Answer:
        return self.caller.call(method, self.path, body or self.body, **options)


@pytest.fixture(params=["trigger", "bridge"])
def endpoint(request: pytest.FixtureRequest, server: ServerClient, sdk: SdkClient, journey: Journey) -> Endpoint:
    if request.param == "bridge":
        return Endpoint(sdk, CAPTURE, LEAST[CAPTURE])
    return Endpoint(server, f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger", {"external_id": "ada"})


@contextmanager
def failing(beginning: str, error: Exception) -> Iterator[None]:
    """Every statement with these words fails so."""

    def execute(run: Callable[..., Any], sql: str, *beside: Any) -> Any:
        if beginning in sql:
            raise error
        return run(sql, *beside)

    with connection.execute_wrapper(execute):
        yield


@each(
    "status, method, options",
    [
        (405, "DELETE", {}),
        (406, "POST", {"headers": {"Accept": "text/html"}}),
        (413, "POST", {"body": b" " * (MAX_BODY_BYTES + 1)}),
        (415, "POST", {"content_type": "text/html"}),
    ],
)
def test_what_is_refused_whatever_it_asks_for_tells_the_limit(
    endpoint: Endpoint, status: int, method: str, options: dict[str, Any]
) -> None:
    answer = endpoint.call(method, **options)
    assert (answer.status_code, LIMIT_HEADERS - set(answer.headers)) == (status, set())


def test_a_key_that_came_with_another_body_tells_the_limit(endpoint: Endpoint) -> None:
    assert endpoint.call(headers=KEY).succeeded
    answer = endpoint.call(body={**endpoint.body, "another": True}, headers=KEY)
    assert (answer.status_code, LIMIT_HEADERS - set(answer.headers)) == (422, set())


@pytest.mark.django_db(transaction=True)
def test_a_key_that_is_being_served_tells_the_limit(endpoint: Endpoint) -> None:
    assert endpoint.call().succeeded  # notes the key's use
    with transaction.atomic():  # the first call, not committed yet
        assert endpoint.call(headers=KEY).succeeded
        (answer,) = all_at_once([lambda: endpoint.call(headers=KEY)])
    assert (answer.status_code, LIMIT_HEADERS - set(answer.headers)) == (409, set())


@each("error, status", [(RuntimeError("our mistake"), 500), (OperationalError("server closed the connection"), 503)])
def test_a_failure_after_the_count_tells_the_limit(endpoint: Endpoint, error: Exception, status: int) -> None:
    with failing("INSERT INTO", error):
        answer = endpoint.call()
    assert (answer.status_code, LIMIT_HEADERS - set(answer.headers)) == (status, set())


@each("headers, status", [({"Authorization": None, "X-App-Id": None}, 401), ({"Host": "no_host"}, 400)])
def test_what_is_refused_before_the_count_tells_no_limit(
    endpoint: Endpoint, headers: dict[str, str | None], status: int
) -> None:
    answer = endpoint.call(headers=headers)
    assert (answer.status_code, LIMIT_HEADERS & set(answer.headers)) == (status, set())


def test_a_failure_before_the_count_tells_no_limit(endpoint: Endpoint) -> None:
    with failing("FROM engage_", OperationalError("server closed the connection")):
        answer = endpoint.call()
    assert (answer.status_code, LIMIT_HEADERS & set(answer.headers)) == (503, set())


# What comes first ----------------------------------------------------------------------------------------------------


def test_the_key_and_the_limit_come_before_what_the_caller_accepts(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, "1/d")
    html = {"Accept": "text/html"}
    nobody = trigger(server, journey, {"external_id": "ada"}, headers={**html, "Authorization": "Bearer nobody"})
    refused(nobody, status=401, error="Unauthorized")
    answer = trigger(server, journey, {"external_id": "ada"}, headers=html)
    refused(answer, status=406, error="Not acceptable")
    assert answer["X-RateLimit-Remaining"] == "0"
    refused(trigger(server, journey, {}, headers=html), status=429, error="Rate limit exceeded")


def test_the_limit_is_checked_before_the_body(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, "1/d")
    data(trigger(server, journey, {"external_id": "ada"}))
    refused(trigger(server, journey, b"not json"), status=429, error="Rate limit exceeded")


def test_each_key_counts_for_itself(acme: Workspace, journey: Journey) -> None:
    one, other = limited(acme, "1/d"), limited(acme, "1/d")
    data(trigger(one, journey, {"external_id": "ada"}))
    data(trigger(other, journey, {"external_id": "ada"}))
    refused(trigger(one, journey, {"external_id": "ada"}), status=429, error="Rate limit exceeded")


@each("rate", ["1/s", "1/7s", "1/m"])
@each("begun", [0.0, 0.4, 3.0, 6.9, 17.5, 59.0])
def test_who_waits_as_long_as_told_is_served(acme: Workspace, journey: Journey, rate: str, begun: float) -> None:
    server = limited(acme, rate)
    with time_machine.travel(datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=begun), tick=False) as clock:
        data(trigger(server, journey, {"external_id": "ada"}))
        answer = trigger(server, journey, {"external_id": "ada"})
        seconds = int(answer["Retry-After"])
        now = int(datetime.now(UTC).timestamp())
        assert (answer["X-RateLimit-Reset"], answer["RateLimit"]) == (str(now + seconds), f'"trigger";r=0;t={seconds}')
        clock.shift(seconds - 1)
        assert trigger(server, journey, {"external_id": "ada"}).status_code == 429
        clock.shift(1)
        data(trigger(server, journey, {"external_id": "ada"}))


def test_the_hundredth_call_of_a_minute_is_served_and_the_next_is_not(acme: Workspace, journey: Journey) -> None:
    server = limited(acme, DEFAULT_RATE_LIMIT)
    answers = [trigger(server, journey, b"not json") for _ in range(101)]
    assert [answer.status_code for answer in answers] == [400] * 100 + [429]


def test_no_proxy_or_browser_keeps_what_is_known_of_people(endpoint: Endpoint) -> None:
    for answer in (endpoint.call(), endpoint.call(body=b"{"), endpoint.call("DELETE")):
        assert answer["Cache-Control"] == "no-store"

"""How often the bridge may be called: per app and address."""

import time

import pytest
from pytest_django import Settings

from bridge.models import Interaction
from engage.models import Workspace
from tests.bridge_calls import ACTION, CAPTURE, both_calls, call
from tests.calls import refused
from tests.clients import SdkClient
from tests.factories import AppFactory


@pytest.fixture
def _two_a_day(settings: Settings) -> None:
    settings.BRIDGE_RATE_LIMIT = "2/d"


@both_calls
@pytest.mark.usefixtures("_two_a_day")
def test_every_answer_tells_the_limit(sdk: SdkClient, path: str) -> None:
    for remaining, fields in enumerate([{"messageId": None}, {}]):
        answer = call(sdk, path, fields)
        left = int(answer["X-RateLimit-Reset"]) - time.time()
        assert 0 < left <= 86_400
        assert answer["X-RateLimit-Limit"] == "2"
        assert answer["X-RateLimit-Remaining"] == str(1 - remaining)
        assert answer["RateLimit-Policy"] == '"bridge";q=2;w=86400'
        policy, _, seconds = answer["RateLimit"].partition(";t=")
        assert policy == f'"bridge";r={1 - remaining}'
        assert abs(int(seconds) - left) < 5


@both_calls
@pytest.mark.usefixtures("_two_a_day")
def test_over_the_limit_nothing_is_done_until_the_window_ends(sdk: SdkClient, path: str) -> None:
    for _ in range(2):
        assert call(sdk, path, {}).status_code == 200
    answer = call(sdk, path, {})
    message = refused(answer, status=429, error="Rate limit exceeded")
    seconds = int(answer["Retry-After"])
    assert 1 <= seconds <= 86_400
    assert message == f"More than 2 calls in 86400 seconds. Try again in {seconds} seconds."
    assert (answer["X-RateLimit-Remaining"], answer["RateLimit"]) == ("0", f'"bridge";r=0;t={seconds}')
    assert Interaction.objects.count() == 2


@pytest.mark.usefixtures("_two_a_day")
def test_both_calls_count_together(sdk: SdkClient) -> None:
    assert [call(sdk, path, {}).status_code for path in (ACTION, CAPTURE, ACTION)] == [200, 200, 429]


@pytest.mark.usefixtures("_two_a_day")
def test_apps_and_addresses_count_apart(sdk: SdkClient, acme: Workspace) -> None:
    for address in ("198.51.100.1", "198.51.100.2", "2001:db8::1"):
        statuses = [call(sdk, ACTION, {}, REMOTE_ADDR=address).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
    neighbour = SdkClient(AppFactory.create(workspace=acme))
    assert call(neighbour, ACTION, {}, REMOTE_ADDR="198.51.100.1").status_code == 200


@pytest.mark.usefixtures("_two_a_day")
def test_without_trusted_proxies_a_caller_cannot_choose_an_address(sdk: SdkClient) -> None:
    calls = [
        call(sdk, ACTION, {}, headers={"X-Forwarded-For": f"198.51.100.{number}"}).status_code for number in range(3)
    ]
    assert calls == [200, 200, 429]


@pytest.mark.usefixtures("_two_a_day")
def test_behind_a_proxy_the_address_that_it_saw_counts(sdk: SdkClient, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = 1
    for seen in ("203.0.113.7", "203.0.113.8"):
        calls = [
            call(sdk, ACTION, {}, headers={"X-Forwarded-For": f"198.51.100.{n}, {seen}"}).status_code for n in range(3)
        ]
        assert calls == [200, 200, 429]

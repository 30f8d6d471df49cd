"""How often the bridge may be called: per app and address."""

import time
from datetime import UTC, datetime

import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from bridge.models import Interaction
from customers.models import Customer
from engage.models import Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, both_calls_apart, call
from tests.support.calls import refused
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory


@pytest.fixture
def _two_a_day(settings: Settings) -> None:
    settings.BRIDGE_RATE_LIMIT = "2/d"


@both_calls_apart
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


@both_calls_apart
@pytest.mark.usefixtures("_two_a_day")
def test_over_the_limit_nothing_is_done_until_the_window_ends(sdk: SdkClient, path: str) -> None:
    for _ in range(2):
        assert call(sdk, path, {}).status_code == 200
    answer = call(sdk, path, {})
    message = refused(answer, status=429, error="Rate limit exceeded")
    seconds = int(answer["Retry-After"])
    assert 1 <= seconds <= 86_400
    assert message == f"More than 2 calls in 86,400 seconds. Try again in {int(seconds):,} seconds."
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


# A whole IPv6 site, and a whole app -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_two_a_day")
def test_a_site_may_call_as_often_as_ten_of_its_networks(sdk: SdkClient) -> None:
    calls = [call(sdk, ACTION, {}, REMOTE_ADDR=f"2001:db8:7:{number}::1").status_code for number in range(21)]
    assert calls == [200] * 20 + [429]
    assert call(sdk, ACTION, {}, REMOTE_ADDR="2001:db8:8::1").status_code == 200
    assert Interaction.objects.count() == 21


def test_a_site_may_create_as_many_customers_as_ten_of_its_networks(sdk: SdkClient, settings: Settings) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "1/d"
    statuses = [
        call(sdk, ACTION, {"userId": f"u-{number}"}, REMOTE_ADDR=f"2001:db8:9:{number}::1").status_code
        for number in range(11)
    ]
    assert statuses == [200] * 10 + [429]
    assert Customer.objects.count() == 10


QUOTAS = [
    ("BRIDGE_APP_DAILY_CALLS", 2, "calls"),
    ("BRIDGE_APP_DAILY_NEW_CUSTOMERS", 2, "new customers"),
    ("BRIDGE_APP_DAILY_KIB", 4, "KiB of bodies"),
]


@pytest.mark.parametrize(("setting", "limit", "quota"), QUOTAS)
def test_an_app_has_its_quota_of_a_day_whatever_the_addresses(
    sdk: SdkClient, acme: Workspace, settings: Settings, setting: str, limit: int, quota: str
) -> None:
    setattr(settings, setting, limit)
    answers = [
        call(sdk, CAPTURE, {"userId": f"u-{number}", "formData": {"a": "x" * 1500}}, REMOTE_ADDR=f"198.51.100.{number}")
        for number in range(3)
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    message = refused(answers[-1], status=429, error="Rate limit exceeded")
    assert message == f"This app has had its {limit} {quota} of today. The next day begins at midnight UTC."
    assert (answers[-1].json()["code"], 1 <= int(answers[-1]["Retry-After"]) <= 86_400) == ("app_quota_exceeded", True)
    assert (Customer.objects.count(), Interaction.objects.count()) == (2, 2)
    neighbour = SdkClient(AppFactory.create(workspace=acme))
    assert call(neighbour, CAPTURE, {"userId": "u-9"}).status_code == 200


def test_the_next_day_begins_at_midnight(sdk: SdkClient, settings: Settings) -> None:
    settings.BRIDGE_APP_DAILY_CALLS = 1
    with time_machine.travel(datetime(2030, 1, 1, 23, 59, 58, tzinfo=UTC), tick=False) as clock:
        assert [call(sdk, ACTION, {}).status_code for _ in range(2)] == [200, 429]
        clock.shift(2)
        assert call(sdk, ACTION, {}).status_code == 200


def test_the_apps_page_tells_what_is_used(sdk: SdkClient, admin_client: Client, settings: Settings) -> None:
    settings.BRIDGE_APP_DAILY_CALLS = 5
    for _ in range(2):
        call(sdk, ACTION, {})
    page = admin_client.get(f"/admin/engage/app/{sdk.app.id}/change/").content.decode()
    assert "2 of 5 calls, 1 of 200,000 new customers, 2 of 10,000,000 KiB of bodies" in page


@pytest.mark.usefixtures("redis_is_away")
def test_the_apps_page_says_that_redis_is_away(sdk: SdkClient, admin_client: Client) -> None:
    page = admin_client.get(f"/admin/engage/app/{sdk.app.id}/change/").content.decode()
    assert "not known while Redis is away" in page

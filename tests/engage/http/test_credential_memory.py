"""A key or an app that was found is known for a moment; what is revoked meanwhile is refused soon after."""

import time
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from bridge.models import Interaction
from customers.models import Customer
from engage.http.credential_memory import CredentialMemory
from engage.models import ApiKey, App, Workspace
from tests.support.calls import customers_path
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory

pytestmark = pytest.mark.django_db
_MOMENT = 0.5
_MISSING_JOB = "enroll-0123456789abcdef01234567-0123456789abcdef01234567-1"


@pytest.fixture(autouse=True)
def _known_for_a_moment(settings: Settings) -> None:
    settings.CREDENTIALS_KEPT_SECONDS = _MOMENT


def ask(server: ServerClient, workspace: Workspace) -> int:
    return server.get(f"/api/v1/journeys/{workspace.id}/jobs/{_MISSING_JOB}").status_code


def click(sdk: SdkClient) -> int:
    body = {"external_id": "ada", "messageId": "sale", "actionType": "close"}
    return sdk.post("/api/v1/sdk/bridge/action", body).status_code


def test_a_key_is_looked_up_once_in_a_moment(server: ServerClient, acme: Workspace, settings: Settings) -> None:
    settings.CREDENTIALS_KEPT_SECONDS = 60  # longer than two calls take on a busy machine
    assert ask(server, acme) == 404
    with CaptureQueriesContext(connection) as queries:
        assert ask(server, acme) == 404
    assert not [query for query in queries if "engage_apikey" in query["sql"]]


def test_a_revoked_key_is_refused_a_moment_later(server: ServerClient, acme: Workspace) -> None:
    assert ask(server, acme) == 404
    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    time.sleep(_MOMENT)
    assert ask(server, acme) == 401


def test_a_key_that_expires_is_refused_at_that_time(server: ServerClient, acme: Workspace, settings: Settings) -> None:
    settings.CREDENTIALS_KEPT_SECONDS = 60
    with connection.cursor() as cursor:
        cursor.execute("UPDATE engage_apikey SET expires_at = clock_timestamp() + interval '200 milliseconds'")
    assert ask(server, acme) == 404
    time.sleep(0.25)
    assert ask(server, acme) == 401


def test_an_app_that_is_switched_off_is_refused_a_moment_later(sdk: SdkClient) -> None:
    assert click(sdk) == 200
    App.objects.update(enabled=False)
    time.sleep(_MOMENT)
    assert click(sdk) == 401


@pytest.mark.django_db(transaction=True)
def test_a_call_of_an_app_that_was_deleted_a_moment_ago_leaves_nothing_behind(sdk: SdkClient) -> None:
    assert click(sdk) == 200
    App.objects.all().delete()
    assert click(sdk) == 503
    assert not Interaction.objects.exists()
    time.sleep(_MOMENT)
    assert click(sdk) == 401


def test_what_was_not_found_is_asked_for_again(sdk: SdkClient) -> None:
    App.objects.update(enabled=False)
    assert click(sdk) == 401
    App.objects.update(enabled=True)
    assert click(sdk) == 200


def test_only_so_many_are_known_at_once() -> None:
    memory, asked = CredentialMemory[str](most=2), list[str]()

    def look_up(name: str) -> str:
        asked.append(name)
        return name

    for name in ("a", "b", "b", "c", "b"):
        assert memory.recall(name, partial(look_up, name)) == name
    assert asked == ["a", "b", "c"]
    memory.recall("a", partial(look_up, "a"))
    assert asked == ["a", "b", "c", "a"]


def test_keys_of_two_workspaces_are_not_taken_for_each_other(
    server: ServerClient, rival_server: ServerClient, acme: Workspace, rival: Workspace
) -> None:
    """Both are known, and each sees its own customer alone."""
    ours, theirs = CustomerFactory.create(workspace=acme), CustomerFactory.create(workspace=rival)
    for _ in range(2):
        assert read(server, ours) == read(rival_server, theirs) == 200
        assert read(server, theirs) == read(rival_server, ours) == 404


def read(server: ServerClient, customer: Customer) -> int:
    return server.get(customers_path(customer.workspace, customer.id)).status_code

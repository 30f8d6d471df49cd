"""When and from where a key was last used is noted, at most once a minute."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from engage.models import ApiKey, Workspace
from tests.support.clients import ServerClient
from tests.support.clock import later
from tests.support.factories import ApiKeyFactory
from tests.support.simultaneous import elsewhere

pytestmark = pytest.mark.django_db


def use(server: ServerClient, workspace: Workspace) -> int:
    return server.get(f"/api/v1/journeys/{workspace.id}/jobs/none").status_code


def last_used_at(server: ServerClient) -> Any:
    return ApiKey.objects.get(id=server.key.id).last_used_at


def test_the_first_use_is_noted(server: ServerClient, acme: Workspace) -> None:
    assert last_used_at(server) is None
    use(server, acme)
    assert timezone.now() - last_used_at(server) < timedelta(seconds=10)


def test_the_address_is_noted_with_the_time(server: ServerClient, acme: Workspace) -> None:
    for minute, (address, noted) in enumerate(
        [("2001:db8:1:2:3::9", "2001:db8:1:2:3::9"), ("::ffff:10.1.2.3", "10.1.2.3")]
    ):
        with later(seconds=120 * minute):
            server.get(f"/api/v1/journeys/{acme.id}/jobs/none", REMOTE_ADDR=address)
        assert ApiKey.objects.get().last_used_from == noted


def test_a_use_within_the_minute_writes_nothing(
    server: ServerClient, acme: Workspace, django_assert_num_queries: Any
) -> None:
    use(server, acme)
    noted = last_used_at(server)
    with django_assert_num_queries(1):  # the key
        use(server, acme)
    assert last_used_at(server) == noted


def test_a_use_after_a_minute_is_noted_again(server: ServerClient, acme: Workspace) -> None:
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    use(server, acme)
    assert timezone.now() - last_used_at(server) < timedelta(seconds=10)


@pytest.mark.django_db(transaction=True)
def test_a_call_does_not_wait_for_whoever_changes_its_key(server: ServerClient, acme: Workspace) -> None:
    with transaction.atomic():
        ApiKey.objects.select_for_update(no_key=True).get()
        assert elsewhere(lambda: use(server, acme)) == 404
    assert last_used_at(server) is None
    use(server, acme)
    assert last_used_at(server) is not None


def test_a_refused_key_is_not_noted(server: ServerClient, acme: Workspace) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())
    use(server, acme)
    assert last_used_at(server) is None


def test_a_key_valid_until_tomorrow_is_valid_today(acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=timezone.now() + timedelta(days=1))
    assert ServerClient(key).get(f"/api/v1/journeys/{acme.id}/jobs/none").status_code == 404

"""A walker that stood still for longer than its claim holds finds that others have walked on meanwhile."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from engage.models import Workspace
from journeys.models import Enrollment
from journeys.walking import walk_due
from tests.clients import ServerClient
from tests.factories import CustomerFactory, JourneyFactory
from tests.journeys.standstill import standing_still_while
from tests.journeys.walking.stories import enter, history

pytestmark = pytest.mark.django_db(transaction=True)

DAY = {"id": "day", "type": "delay", "for": "P1D"}


@pytest.fixture
def enrollment(server: ServerClient, acme: Workspace) -> Enrollment:
    """The day is still ahead of it."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    return enter(server, journey, CustomerFactory.create(workspace=acme))


def assert_it_waits_for_a_day(enrollment: Enrollment) -> None:
    enrollment.refresh_from_db()
    assert (enrollment.state, enrollment.attempts, enrollment.error) == ("active", 0, "")
    assert enrollment.due_at is not None
    assert enrollment.step_began_at is not None
    assert enrollment.due_at - enrollment.step_began_at == timedelta(days=1)
    assert history(enrollment) == [("day", "waiting")]


def test_who_was_claimed_by_another_since_is_not_walked(enrollment: Enrollment) -> None:
    with standing_still_while(lambda: walk_due(seconds=0)):
        assert walk_due(seconds=0).moved == 0
    assert_it_waits_for_a_day(enrollment)


def test_who_was_claimed_by_another_since_is_not_put_off_where_the_walk_fails(enrollment: Enrollment) -> None:
    failed = []

    def fail(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        """The claim's customers cannot be locked."""
        if "SELECT id FROM customers_customer" in sql:
            failed.append(sql)
            raise RuntimeError("no room for locks")
        return execute(sql, *rest)

    with standing_still_while(lambda: walk_due(seconds=0)), connection.execute_wrapper(fail):
        assert walk_due(seconds=0).moved == 0
    assert failed
    assert_it_waits_for_a_day(enrollment)

"""A walker that stood still for longer than its claim holds finds that others have walked on meanwhile."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.enrollments.locks import lock_customers_of
from journeys.engine.walking import walk_due
from journeys.engine.walking.claims import claim_longest_due, claim_tried
from journeys.engine.walking.positions import load_positions
from journeys.models import Enrollment
from tests.journeys.standstill import standing_still_while
from tests.journeys.walking.stories import enter, history
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, CustomerFactory, JourneyFactory
from tests.support.simultaneous import done_with_customers_locked_in_order, elsewhere

pytestmark = pytest.mark.django_db(transaction=True)


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


@pytest.mark.parametrize("model", [Customer, Enrollment])
def test_no_walker_waits_for_a_row_that_somebody_has_locked(
    server: ServerClient, enrollment: Enrollment, model: type[Customer] | type[Enrollment]
) -> None:
    other = enter(server, enrollment.journey, CustomerFactory.create(workspace=enrollment.workspace))
    held = enrollment.customer_id if model is Customer else enrollment.id
    with transaction.atomic():
        model._default_manager.select_for_update().get(id=held)
        assert [claimed.id for claimed in elsewhere(claim_longest_due).enrollments] == [other.id]


def test_who_walks_many_locks_their_customers_in_the_order_of_their_ids(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    people = [CustomerFactory.create(workspace=acme, id=letter * 24) for letter in "bca"]
    enrollment_ids = [enter(server, journey, customer).id for customer in people]

    def lock() -> None:
        with transaction.atomic():
            lock_customers_of(enrollment_ids)

    done_with_customers_locked_in_order(lock)


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


def test_who_was_claimed_together_when_a_walker_died_is_tried_alone(
    server: ServerClient, enrollment: Enrollment
) -> None:
    enter(server, enrollment.journey, CustomerFactory.create(workspace=enrollment.workspace))
    assert [one.attempts for one in claim_longest_due().enrollments] == [1, 1]
    assert claim_longest_due().enrollments == claim_tried() == []
    time_passes(seconds=6)
    assert claim_longest_due().enrollments == []
    assert [one.attempts for one in (*claim_tried(), *claim_tried())] == [2, 2]
    time_passes(seconds=6)
    assert [one.attempts for one in claim_tried()] == [3]


def test_whom_a_walker_of_the_version_before_has_claimed_since_is_left_to_it(enrollment: Enrollment) -> None:
    """It counts an attempt, and moves the due time; while it walks, the enrollment has no attempts again."""
    claimed = claim_longest_due().enrollments
    assert [position.claimed.id for position in load_positions(claimed)] == [enrollment.id]
    Enrollment.objects.update(attempts=1, due_at=Now() + timedelta(seconds=5))
    assert load_positions(claimed) == []
    Enrollment.objects.update(attempts=0, due_at=Now() + timedelta(days=1))
    assert load_positions(claimed) == []

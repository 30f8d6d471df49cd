"""What a look-up tells was so at one moment, whatever is committed between its statements."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django.db import connection

from engage.models import Workspace
from tests.journeys.walking.stories import enter
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.simultaneous import elsewhere

pytestmark = pytest.mark.django_db(transaction=True)


def told_while(
    change: Callable[[], Any], server: ServerClient, paths: Callable[[], str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What look-ups of these paths tell: the change is committed after the first statement of one, after the second …

    Each with the number of statements that it took.
    """
    for place in count(1):
        path, done = paths(), 0

        def execute_and_change(execute: Callable[..., Any], *statement: Any, at: int = place) -> Any:
            nonlocal done
            result = execute(*statement)
            done += 1
            if done == at:
                elsewhere(change)
            return result

        with connection.execute_wrapper(execute_and_change):
            told = data(server.get(path), status=200)
        yield done, told
        if done < place:
            return


def test_a_job_that_is_queued_has_no_enrollment(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme)

    def queued() -> str:
        ada = CustomerFactory.create(workspace=acme)
        return f"/api/v1/journeys/{acme.id}/jobs/{data(trigger(server, journey, {'customerId': ada.id}))['jobId']}"

    seen = {(job["status"], job["enrollmentId"] is None) for _, job in told_while(let_workers_decide, server, queued)}
    assert seen == {("queued", True), ("decided", False)}


def test_a_trigger_counts_each_of_its_jobs_once(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme)

    def queued() -> str:
        names = [CustomerFactory.create(workspace=acme).external_id for _ in range(3)]
        answered = data(trigger(server, journey, {"external_ids": names}))
        return f"/api/v1/journeys/{acme.id}/triggers/{answered['triggerId']}"

    seen = {(counts["queued"], counts["decided"]) for _, counts in told_while(let_workers_decide, server, queued)}
    assert seen == {(3, 0), (0, 3)}


def test_an_enrollment_stands_where_its_steps_end(server: ServerClient, acme: Workspace) -> None:
    note = {"id": "note", "type": "update_profile", "attributes": {"noted": True}}
    first, second = ({"id": name, "type": "delay", "for": "P1D"} for name in ("first", "second"))
    journey = JourneyFactory.create(workspace=acme, steps=[first, note, second])

    def waiting() -> str:
        enrollment = enter(server, journey, CustomerFactory.create(workspace=acme))
        let_workers_walk()
        return f"/api/v1/journeys/{acme.id}/enrollments/{enrollment.id}"

    def go_on() -> None:
        time_passes(days=1)
        let_workers_walk()

    seen = set()
    for statements, told in told_while(go_on, server, waiting):
        steps = [(step["stepId"], step["state"]) for step in told["steps"]]
        assert (len(steps), steps[-1]) == (told["stepsBegun"], (told["stepId"], "waiting"))
        assert statements == 2  # the key's, and all that is told
        seen.add(told["stepId"])
    assert seen == {"first", "second"}

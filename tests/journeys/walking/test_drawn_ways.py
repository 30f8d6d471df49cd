"""Who went one way at a split goes that way again, whatever its weights are by then."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.enrollments.revisions import courses_of
from journeys.engine.steering.going_on import go_on
from journeys.models import Enrollment, Journey, JourneyRevision, StepRun
from journeys.steps.split import Split
from tests.journeys.walking.stories import enter, history
from tests.support.bridge_calls import ANON
from tests.support.calls import customers_path, data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory, crowd

pytestmark = pytest.mark.django_db
NAMES = [f"user-{number}" for number in range(12)]


def steps(*weights: float, loop: bool = False) -> list[dict[str, Any]]:
    paths = [{"weight": weight, "next": f"to{number}"} for number, weight in enumerate(weights)]
    day = {"id": "day", "type": "delay", "for": "P1D", "next": "test"}
    ends: list[dict[str, Any]] = [
        {"id": one["next"], "type": "update_profile", "attributes": {"went": one["next"]}, "next": None}
        for one in paths
    ]
    return [{"id": "test", "type": "split", "paths": paths}, *[one | {"next": "day"} if loop else one for one in ends],
            *([day] if loop else [])]  # fmt: skip


def put(server: ServerClient, journey: Journey, *weights: float, query: str = "", loop: bool = False) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}{query}"
    body = {"steps": steps(*weights, loop=loop), "maxEntriesPerCustomer": 50}
    data(server.put(path, body, headers={"If-Match": "*"}), status=200)
    journey.refresh_from_db()


def journey_of(workspace: Workspace, *weights: float, loop: bool = False) -> Journey:
    made: Journey = JourneyFactory.create(
        workspace=workspace, steps=steps(*weights, loop=loop), max_entries_per_customer=50
    )
    return made


def sent(server: ServerClient, journey: Journey, names: list[str]) -> dict[str | None, str]:
    """The way that each goes, as profiles tell it; a dry run had said the same."""
    would: dict[str | None, str] = {}
    for name in names:
        path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
        would[name] = data(server.post(path, {"external_id": name}), status=200)["rehearsal"]["steps"][1]["stepId"]
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_walk()
    went = dict(Customer.objects.filter(external_id__in=names).values_list("external_id", "attributes__went"))
    assert went == would
    return went


def test_who_went_a_way_goes_it_again_and_others_go_by_the_new_weights(server: ServerClient, acme: Workspace) -> None:
    crowd(acme, 24)
    journey = journey_of(acme, 1, 1)
    went = sent(server, journey, NAMES)
    assert set(went.values()) == {"to0", "to1"}
    for weights in ((1, 1_000_000), (1_000_000, 1), (1, 1, 1_000_000)):
        put(server, journey, *weights)
        assert sent(server, journey, NAMES) == went
    assert set(sent(server, journey, [f"user-{number}" for number in range(12, 24)]).values()) == {"to2"}
    StepRun.objects.all().delete()  # as `prune` does
    assert sent(server, journey, NAMES) == went


def test_of_a_way_that_is_gone_others_are_drawn(server: ServerClient, acme: Workspace) -> None:
    crowd(acme, 12)
    journey = journey_of(acme, 1, 1, 1_000_000)
    assert set(sent(server, journey, NAMES).values()) == {"to2"}
    put(server, journey, 1, 1_000_000)
    assert set(sent(server, journey, NAMES).values()) == {"to1"}


def test_so_does_who_is_moved_along_and_who_is_merged(server: ServerClient, acme: Workspace) -> None:
    ids = {"external_id": None, "email": None, "phone": None}
    people = [CustomerFactory.create(workspace=acme, user_id=f"{ANON}{number}", **ids) for number in range(6)]
    known = [CustomerFactory.create(workspace=acme, external_id=name) for name in NAMES[:6]]
    journey = journey_of(acme, 1, 1, loop=True)
    enrollments = [enter(server, journey, one) for one in people]
    let_workers_walk()
    went = [history(one)[1][0] for one in enrollments]
    for weights, into in (((1, 1_000_000), known), ((1_000_000, 1), None)):
        for one, other in zip(people, into or (), strict=False):
            body = {"anonymous": {"userId": one.user_id}, "into": {"customerId": other.id}}
            data(server.post(customers_path(acme, "merge"), body), status=200)
        put(server, journey, *weights, query="?moveInside=true", loop=True)
        go_on(seconds=5)
        time_passes(days=1, minutes=1)
        let_workers_walk()
    assert [[step for step, _ in history(one) if step.startswith("to")] for one in enrollments] == [
        [way] * 3 for way in went
    ]


def test_nothing_is_asked_unless_weights_were_changed(server: ServerClient, acme: Workspace) -> None:
    ada, journey = CustomerFactory.create(workspace=acme), journey_of(acme, 1, 1)
    for weights, asks in (((1, 1), False), ((1, 2), True)):
        put(server, journey, *weights)
        enter(server, journey, ada)
        revision = JourneyRevision.objects.get(journey=journey, number=journey.revision)
        assert isinstance(courses_of([revision.id]).of(revision.id).steps["test"], Split)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            let_workers_walk()
        assert any("substring(detail" in one["sql"] for one in queries) == asks
    assert Enrollment.objects.filter(state="completed").count() == 2

"""A journey holds itself when more enter than its guard allows."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engage.models import AuditEntry, Workspace
from journeys.engine.steering.guards import note_entries
from journeys.engine.steering.holding import resume
from journeys.models import Enrollment, GuardedResults, Journey, SteeringAct
from tests.support.calls import data, let_workers_decide, let_workers_walk, serve_until_empty, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, crowd
from tests.support.simultaneous import all_at_once

GUARDS = {"entries": 3, "per": "PT1H"}
NOTE: dict[str, Any] = {"id": "note", "type": "update_profile", "attributes": {"came": True}}


def enter(server: ServerClient, journey: Journey, names: list[str]) -> Journey:
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()
    journey.refresh_from_db()
    return journey


def test_the_chunk_with_which_too_many_have_entered_holds_the_journey_before_anybody_steps(
    acme: Workspace, server: ServerClient
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[NOTE], guards=GUARDS)
    careless = JourneyFactory.create(workspace=acme, steps=[NOTE])
    names = crowd(acme, 8)
    enter(server, careless, names)
    assert enter(server, journey, names[:3]).state == "active"
    assert enter(server, journey, names[:4]).state == "held"  # three were inside already
    assert (journey.held_by, journey.held_because) == (
        "guard",
        "4 entered within 1 hour, where its guard allows 3.",
    )
    [act] = SteeringAct.objects.all()
    assert (act.journey_id, act.kind, act.actor, act.numbers) == (
        journey.id, "hold", "guard", {"entries": 4, "allowed": 3},
    )  # fmt: skip
    assert AuditEntry.objects.get(action="steered").actor_kind == "service"
    let_workers_walk()
    assert Enrollment.objects.filter(journey=journey, steps_begun=0).count() == 4
    enter(server, journey, names[4:7])  # who comes to a journey that is held does not count
    resume(journey, reason="", actor="staff root")
    assert not GuardedResults.objects.exists()  # it begins anew
    assert enter(server, journey, names[7:]).state == "active"
    assert list(GuardedResults.objects.get().entries.values()) == [1]


def test_a_journey_without_a_guard_costs_no_statement_more(acme: Workspace, server: ServerClient) -> None:
    names, numbers = crowd(acme, 2), []
    for guards in (None, {"failedShare": 0.5, "of": 50}, {"entries": 5, "per": "P1D"}):
        journey = JourneyFactory.create(workspace=acme, guards=guards)
        data(trigger(server, journey, {"external_ids": names}))
        with CaptureQueriesContext(connection) as queries:
            let_workers_decide()
        numbers.append(len(queries))
    assert [number - numbers[0] for number in numbers] == [0, 0, 1]


def test_who_entered_before_its_time_counts_no_more(acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, guards=GUARDS)

    def entered(number: int) -> str:
        note_entries({journey.id: number}, guards={journey.id: journey.guards})
        journey.refresh_from_db()
        return journey.state

    def minutes_pass(number: int) -> None:
        noted = GuardedResults.objects.get()
        noted.entries = {str(int(part) - number): count for part, count in noted.entries.items()}
        noted.save()

    assert entered(2) == "active"
    minutes_pass(58)
    assert entered(1) == "active"
    assert sorted(GuardedResults.objects.get().entries.values()) == [1, 2]
    minutes_pass(2)
    assert entered(2) == "active"
    assert sorted(GuardedResults.objects.get().entries.values()) == [1, 2]
    assert entered(1) == "held"
    entered(9)
    assert sum(GuardedResults.objects.get().entries.values()) == 4


def test_another_length_begins_anew(acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, guards=GUARDS)
    for per in ("PT1H", "P31D", "PT1M", "PT1H"):
        journey.guards = {"entries": 3, "per": per}
        note_entries({journey.id: 3}, guards={journey.id: journey.guards})
        journey.refresh_from_db()
        assert journey.state == "active"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_chunks_that_are_decided_at_once_count_together(acme: Workspace, server: ServerClient) -> None:
    """Eight workers, each with entries of its own: the one with which there are too many holds the journey."""
    journey = JourneyFactory.create(workspace=acme, guards={"entries": 799, "per": "PT1H"})
    everybody = crowd(acme, 800)
    for start in range(0, 800, 50):
        data(trigger(server, journey, {"external_ids": everybody[start : start + 50]}))
    all_at_once([serve_until_empty] * 8)
    journey.refresh_from_db()
    assert journey.held_because == "800 entered within 1 hour, where its guard allows 799."

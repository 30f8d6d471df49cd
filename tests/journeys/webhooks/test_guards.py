"""A journey holds itself when too many of its webhooks fail."""

import pytest
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.steering.holding import hold, resume
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import Enrollment, GuardedResults, Journey, SteeringAct
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.cases import each
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db


def guarded(workspace: Workspace, url: str, *, number: int, guards: object = None) -> Journey:
    """So many of its webhooks are due."""
    standing(workspace, url, number=number)
    journey = Journey.objects.filter(workspace=workspace).latest("id")
    Journey.objects.filter(id=journey.id).update(guards=guards or {"failedShare": 0.5, "of": 4})
    return journey


@pytest.mark.slow
def test_a_journey_that_fails_beyond_its_guard_is_held(acme: Workspace, rival: Workspace, receiver: Receiver) -> None:
    journey = guarded(acme, receiver.url("/status/404"), number=6)
    careless = guarded(rival, receiver.url("/status/404"), number=6)
    Journey.objects.filter(id=careless.id).update(guards=None)
    send(threads=2)
    journey.refresh_from_db()
    careless.refresh_from_db()
    assert (journey.state, journey.held_by) == ("held", "guard")
    assert journey.held_because == "4 of the latest 4 attempts at its webhooks failed."
    assert careless.state == "active"
    [act] = SteeringAct.objects.all()
    assert (act.journey_id, act.kind, act.actor) == (journey.id, "hold", "guard")
    assert act.numbers == {"failed": 4, "of": 4}
    resume(journey, reason="", actor="staff root")
    assert not GuardedResults.objects.exists()  # it begins anew


def test_as_many_failures_as_the_guard_allows_do_not_hold_the_journey(acme: Workspace, receiver: Receiver) -> None:
    journey = guarded(acme, receiver.url("/status/404"), number=2)
    send()
    Enrollment.objects.update(state="exited", due_at=None)
    fine = standing(acme, receiver.url(), number=2)
    Enrollment.objects.filter(deliveries__in=fine).update(journey=journey, revision=journey.revisions.get())
    send()
    assert sorted(GuardedResults.objects.get().latest) == ["0", "0", "1", "1"]
    make_due()
    journey.refresh_from_db()
    assert journey.state == "active"


def test_results_of_a_journey_that_is_held_already_do_not_count(acme: Workspace, receiver: Receiver) -> None:
    journey = guarded(acme, receiver.url("/status/404"), number=6)
    hold(journey, reason="Mine.", actor="staff root")
    send()
    journey.refresh_from_db()
    assert (journey.held_because, receiver.arrived) == ("Mine.", [])


@each(
    "guards, message",
    [
        ([], "guards must be an object, but an array came."),
        ({}, "guards must hold failedShare and of, or entries and per."),
        ({"failedShare": 0.5}, "guards.of is required."),
        ({"per": "PT1H"}, "guards.entries is required."),
        ({"share": 0.5}, "guards.share is not known; what may stand here is failedShare, of, entries, per."),
        ({"failedShare": 1, "of": 50}, "guards.failedShare must be a number from 0 to below 1."),
        ({"failedShare": True, "of": 50}, "guards.failedShare must be a number, but a boolean came."),
        ({"failedShare": 0.5, "of": 0}, "guards.of must be a whole number from 1 to 1000."),
        ({"failedShare": 0.5, "of": 5.5}, "guards.of must be a whole number from 1 to 1000."),
        ({"entries": 0, "per": "PT1H"}, "guards.entries must be a whole number from 1 to 1000000000."),
        ({"entries": 5, "per": "an hour"}, "guards.per must be an ISO 8601 duration such as P1D, PT2H30M or PT5S."),
        ({"entries": 5, "per": "PT59S"}, "guards.per must be from a minute (PT1M) to 31 days (P31D)."),
        ({"entries": 5, "per": "P32D"}, "guards.per must be from a minute (PT1M) to 31 days (P31D)."),
    ],
)
def test_guards_that_say_something_else_are_refused(acme: Workspace, guards: object, message: str) -> None:
    with pytest.raises(InvalidJourney) as refused:
        save_journey(workspace=acme, key="new", now=timezone.now(), guards=guards)
    assert refused.value.message == message
    assert refused.value.field == "guards"


def test_guards_may_stand_alone_or_together_and_all_mistakes_are_told(acme: Workspace) -> None:
    failures, entries = {"failedShare": 0, "of": 1}, {"entries": 50_000, "per": "PT1H"}
    for guards in (failures, entries, {**failures, **entries}, None):
        assert save_journey(workspace=acme, key="new", now=timezone.now(), guards=guards).journey.guards == guards
    with pytest.raises(InvalidJourney) as refused:
        save_journey(workspace=acme, key="new", now=timezone.now(), guards={"of": 0, "entries": 0, "per": "P0D"})
    assert len(refused.value.all_found()) == 3


def test_results_of_a_journey_that_is_guarded_against_entries_alone_are_not_noted(
    acme: Workspace, receiver: Receiver
) -> None:
    guarded(acme, receiver.url("/status/404"), number=2, guards={"entries": 1, "per": "PT1H"})
    send()
    assert not GuardedResults.objects.exists()

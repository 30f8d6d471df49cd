"""An event that leads to nothing is recorded in one statement, which never takes what matters for what does not."""

from typing import Any

import pytest
from django.db import transaction

from bridge.models import Interaction
from customers.identity.identifiers import Identifiers, find_or_create_customer
from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.journeys.walking.stories import enter
from tests.support.bridge_calls import click
from tests.support.calls import let_workers_walk
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

pytestmark = pytest.mark.ada(user_id="u-1")

WAIT = {"id": "wait", "type": "wait_for_event", "event": "bought", "timeout": "P9D"}
CLOSE: dict[str, Any] = {"actionType": "close"}
BUY = {"actionType": "track_event", "actionData": {"eventName": "bought", "eventProperties": {"price": 5}}}


def tracked(sdk: SdkClient, **fields: Any) -> Event:
    """The event that a click recorded."""
    assert click(sdk, **BUY, **fields).status_code == 200
    return Event.objects.latest("created_at")


def test_it_is_recorded_whole_and_with_the_interaction(sdk: SdkClient, ada: Customer) -> None:
    event = tracked(sdk)
    assert (event.customer, event.name, event.properties) == (ada, "bought", {"price": 5})
    assert (event.source, event.chain, event.workspace_id) == ("bridge_action", 0, ada.workspace_id)
    (interaction,) = event.interaction_set.all()
    assert (interaction.customer, interaction.kind) == (ada, "track_event")


def test_a_journey_of_another_workspace_or_that_is_off_is_not_started(
    sdk: SdkClient, ada: Customer, rival: Workspace
) -> None:
    JourneyFactory.create(workspace=rival, trigger_type="event", event_name="bought")
    JourneyFactory.create(workspace=ada.workspace, trigger_type="event", event_name="bought", active=False)
    tracked(sdk)
    assert not EnrollmentJob.objects.exists()


def test_a_journey_that_the_event_starts_is_started(sdk: SdkClient, ada: Customer) -> None:
    JourneyFactory.create(workspace=ada.workspace, trigger_type="event", event_name="bought")
    tracked(sdk)
    assert EnrollmentJob.objects.filter(customer=ada).count() == 1


def test_an_enrollment_that_the_event_ends_is_ended(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=ada.workspace, steps=[DAY], steps__exit_on=[{"event": "bought"}])
    enter(server, journey, ada)
    let_workers_walk()
    tracked(sdk)
    assert Enrollment.objects.get().state == "exited"


@pytest.mark.django_db(transaction=True)
def test_who_comes_to_wait_for_it_at_this_moment_is_moved(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    """A walker holds the customer while the event comes: it is recorded after the walk, and seen by it."""
    enter(server, JourneyFactory.create(workspace=ada.workspace, steps=[WAIT]), ada)
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(id=ada.id)
        let_workers_walk()
        recorded = made_to_wait(lambda: tracked(sdk))
    recorded.result(PATIENCE_SECONDS)
    let_workers_walk()
    assert Enrollment.objects.get().state == "completed"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("action", [CLOSE, BUY])
def test_who_is_erased_at_this_moment_begins_anew(sdk: SdkClient, ada: Customer, action: dict[str, Any]) -> None:
    with transaction.atomic():
        Customer.objects.filter(id=ada.id).delete()
        recorded = made_to_wait(lambda: click(sdk, **action))
    assert recorded.result(PATIENCE_SECONDS).status_code == 200
    interaction = Interaction.objects.get()
    assert (interaction.customer.user_id, interaction.created_customer) == ("u-1", True)


@pytest.mark.django_db(transaction=True)
def test_the_second_best_match_is_not_taken_while_the_best_is_held(sdk: SdkClient, ada: Customer) -> None:
    CustomerFactory.create(workspace=ada.workspace, external_id="bob")
    with transaction.atomic():
        find_or_create_customer(workspace_id=ada.workspace_id, known_by=Identifiers(user_id="u-1"))
        recorded = made_to_wait(lambda: tracked(sdk, external_id="bob"))
    assert recorded.result(PATIENCE_SECONDS).customer == ada

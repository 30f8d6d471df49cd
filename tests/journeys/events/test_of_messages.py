"""`event.messageId` and `event.verified`: two in-app messages with the same event name can be told apart."""

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.journeys.events.reporting import THANK, event_journey, inside, report
from tests.journeys.walking.stories import enter, history
from tests.support.bridge_calls import click
from tests.support.calls import data, let_workers_walk
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import JourneyFactory

OF_SALE = {"field": "event.messageId", "op": "eq", "value": "sale"}
PROVEN = {"field": "event.verified", "op": "eq", "value": True}
NOTE = {"id": "note", "type": "update_profile", "attributes": {"via": "{{ event.messageId }}"}}


def order(sdk: SdkClient, message: str) -> None:
    tracked = {"eventName": "ordered"}
    data(
        click(sdk, external_id="ada", userId=None, messageId=message, actionType="track_event", actionData=tracked),
        status=200,
    )


def test_a_message_starts_the_journey_that_asks_for_it(acme: Workspace, sdk: SdkClient, ada: Customer) -> None:
    event_journey(acme, event_where=OF_SALE, steps=[NOTE])

    order(sdk, "spring")
    order(sdk, "sale")
    let_workers_walk()

    assert EnrollmentJob.objects.count() == 1
    ada.refresh_from_db()
    assert ada.attributes == {"via": "sale"}


def test_entry_conditions_know_the_message(acme: Workspace, sdk: SdkClient, ada: Customer) -> None:
    journey = event_journey(acme, entry_conditions=OF_SALE)

    order(sdk, "spring")
    order(sdk, "sale")
    let_workers_walk()

    results = EnrollmentJob.objects.filter(journey=journey).order_by("queued_ms").values_list("result", flat=True)
    assert list(results) == ["conditions_not_met", "enrolled"]


def test_a_message_moves_and_ends_what_asks_for_it(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    wait = {"id": "wait", "type": "wait_for_event", "event": "ordered", "timeout": "P1D", "where": OF_SALE}
    waits = enter(server, JourneyFactory.create(workspace=acme, steps=[wait, THANK]), ada)
    ends = inside(server, ada, [{"event": "ordered", "where": OF_SALE}])

    order(sdk, "spring")
    let_workers_walk()
    assert Enrollment.objects.get(id=ends.id).state == "active"
    assert [step for step, *_ in history(waits)] == ["wait"]

    order(sdk, "sale")
    let_workers_walk()
    assert Enrollment.objects.get(id=ends.id).state == "exited"
    assert [step for step, *_ in history(waits)] == ["wait", "thank"]


def test_a_server_proves_whom_it_reports_of_and_an_open_app_nobody(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    event_journey(acme, event_where=PROVEN)

    order(sdk, "sale")
    assert not EnrollmentJob.objects.exists()

    report(server, ada)
    assert EnrollmentJob.objects.count() == 1
    assert list(Event.objects.order_by("serial").values_list("message_id", "verified")) == [
        ("sale", None),
        (None, True),
    ]

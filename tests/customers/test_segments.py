"""Segments with conditions, as a call names them: who belongs to one, and who never does."""

from typing import Any

import pytest

from customers.audience.segments import check_segment_conditions
from customers.conditions import InvalidCondition
from customers.models import Customer
from engage.models import Workspace
from journeys.models import EnrollmentJob, Journey, Trigger
from tests.support.calls import data, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import PRO, CustomerFactory, JourneyFactory, SegmentFactory


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    """Rival has an Ada, too, with the same attributes."""
    CustomerFactory.create(workspace=rival, external_id="ada", attributes={"plan": "pro"})
    return CustomerFactory.create(workspace=acme, external_id="ada", attributes={"plan": "pro"})


@pytest.fixture
def bob(acme: Workspace) -> Customer:
    return CustomerFactory.create(workspace=acme, external_id="bob", attributes={"plan": "free"})


def queued(server: ServerClient, journey: Journey, **body: Any) -> list[str]:
    return sorted(data(trigger(server, journey, body))["customerIds"])


def test_whoever_meets_the_conditions_belongs_to_the_segment(
    server: ServerClient, journey: Journey, ada: Customer, bob: Customer
) -> None:
    segment = SegmentFactory.create(workspace=journey.workspace, conditions=PRO)
    assert queued(server, journey, segment_ids=[segment.id]) == [ada.id]


def test_who_was_put_in_belongs_whatever_the_conditions(
    server: ServerClient, journey: Journey, ada: Customer, bob: Customer
) -> None:
    CustomerFactory.create(workspace=journey.workspace)
    segment = SegmentFactory.create(workspace=journey.workspace, conditions=PRO, members=[ada, bob])
    assert queued(server, journey, segment_ids=[segment.id]) == sorted([ada.id, bob.id])


def test_without_conditions_a_segment_is_who_was_put_in(
    server: ServerClient, journey: Journey, ada: Customer, bob: Customer
) -> None:
    segment = SegmentFactory.create(workspace=journey.workspace, members=[bob])
    assert queued(server, journey, segment_ids=[segment.id]) == [bob.id]


def test_who_meets_the_conditions_is_asked_at_the_time_of_the_call(
    server: ServerClient, journey: Journey, ada: Customer
) -> None:
    segment = SegmentFactory.create(workspace=journey.workspace, conditions=PRO)
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "free"})
    assert queued(server, journey, segment_ids=[segment.id]) == []


def test_several_segments_are_united_and_cut_with_the_external_ids(
    server: ServerClient, journey: Journey, ada: Customer, bob: Customer
) -> None:
    cleo = CustomerFactory.create(workspace=journey.workspace, external_id="cleo", attributes={"plan": "team"})
    pro = SegmentFactory.create(workspace=journey.workspace, conditions=PRO)
    team = SegmentFactory.create(workspace=journey.workspace, conditions=PRO | {"value": "team"})
    ids = [pro.id, team.id]
    assert queued(server, journey, segment_ids=ids) == sorted([ada.id, cleo.id])
    assert queued(server, journey, segment_ids=ids, external_ids=["ada", "bob"]) == [ada.id]
    assert queued(server, journey, segment_ids=ids, exclude_external_ids=["ada"]) == [cleo.id]


def test_conditions_that_everybody_meets_still_end_at_the_workspace(
    server: ServerClient, rival_server: ServerClient, journey: Journey, rival: Workspace, ada: Customer
) -> None:
    everybody = {"field": "customer.id", "op": "exists"}
    segment = SegmentFactory.create(workspace=journey.workspace, conditions=everybody)
    assert queued(server, journey, segment_ids=[segment.id]) == [ada.id]
    answer = trigger(rival_server, JourneyFactory.create(workspace=rival), {"segment_ids": [segment.id]})
    refused(answer, status=400, error="Error resolving segments")


def test_stored_conditions_that_are_unreadable_queue_nobody(
    server: ServerClient, journey: Journey, ada: Customer
) -> None:
    segment = SegmentFactory.create(workspace=journey.workspace, key="vip", conditions={"any": [PRO | {"op": "like"}]})
    answer = trigger(server, journey, {"segment_ids": [segment.id]})
    message = refused(answer, status=400, error="Error resolving segments")
    invalid = f"The stored conditions of the segment '{segment.id}' (vip) are invalid"
    assert message.startswith(f"{invalid}: conditions.any[0].op must be one of eq, ")
    assert not Trigger.objects.exists()
    assert not EnrollmentJob.objects.exists()


def test_a_segment_may_have_no_conditions_or_some_about_the_customer() -> None:
    check_segment_conditions(None)
    check_segment_conditions(PRO)


@each(
    "conditions, message",
    [
        ([], "conditions must be an object, but an array came."),
        (
            {"not": {"field": "api.payload.plan", "op": "exists"}},
            "conditions.not.field is 'api.payload.plan', which is no field here; a field is customer.<field>.",
        ),
        (
            {"field": "event.name", "op": "exists"},
            "conditions.field is 'event.name', which is no field here; a field is customer.<field>.",
        ),
    ],
)
def test_a_segments_conditions_know_the_customer_alone(conditions: object, message: str) -> None:
    with pytest.raises(InvalidCondition) as refusal:
        check_segment_conditions(conditions)
    assert refusal.value.message == message


def test_a_refusal_names_the_place_where_the_conditions_stand() -> None:
    with pytest.raises(InvalidCondition) as refusal:
        check_segment_conditions({"all": []}, place="segments[3].conditions")
    assert refusal.value.message == "segments[3].conditions.all must hold at least one condition."

"""Entry conditions where no call leads: event journeys, what may be saved, and what deciding costs."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from customers.audience.selection import Audience, Selection, select_audience
from customers.conditions import InvalidCondition
from customers.models import Customer, Event
from engage.database.fragment import Fragment
from engage.models import Workspace
from journeys.engine.entering.bulk import queue_jobs
from journeys.engine.entering.chunks import ClaimedChunk
from journeys.engine.entering.entry_conditions import failing_conditions
from journeys.engine.entering.entry_decisions import decide_jobs
from journeys.engine.entering.terms import Request
from journeys.engine.entering.waiting_jobs import Supposed, entered_journeys, jobs_of_chunks, read_jobs, supposed_jobs
from journeys.journey.conditions import check_entry_conditions
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger
from tests.support.calls import let_workers_decide
from tests.support.cases import each
from tests.support.factories import PRO, CustomerFactory, JourneyFactory


def selection_of(*customers: Customer) -> Selection:
    """These, who all have external ids."""
    names = tuple(str(customer.external_id) for customer in customers)
    return select_audience(workspace_id=customers[0].workspace_id, audience=Audience(external_ids=names), segments=[])


def result_of_event(customer: Customer, conditions: dict[str, Any]) -> str:
    """What becomes of the customer in an event journey that their purchase of a hat for 30 triggers."""
    journey = JourneyFactory.create(
        workspace=customer.workspace, trigger_type="event", event_name="bought", entry_conditions=conditions
    )
    properties = {"what": "hat", "price": 30}
    event = Event.objects.create(
        workspace=customer.workspace,
        customer=customer,
        name="bought",
        properties=properties,
        source=Event.Source.BRIDGE_ACTION,
        occurred_at=timezone.now(),
    )
    request = Request(workspace_id=customer.workspace_id, journey_id=journey.id, payload=properties)
    queued, _, _ = queue_jobs(request, selection_of(customer), serial=0, segment_ids=[])
    Trigger.objects.filter(id=queued.id).update(event=event)
    let_workers_decide()
    return EnrollmentJob.objects.get(trigger_id=queued.id).result


@each(
    "test, result",
    [
        ({"field": "event.properties.what", "op": "eq", "value": "hat"}, "enrolled"),
        ({"field": "event.properties.price", "op": "gt", "value": 30}, "conditions_not_met"),
        ({"field": "event.name", "op": "eq", "value": "bought"}, "enrolled"),
        ({"field": "event.name", "op": "ne", "value": "bought"}, "conditions_not_met"),
        ({"field": "api.payload.what", "op": "eq", "value": "hat"}, "enrolled"),
        ({"field": "customer.plan", "op": "eq", "value": "pro"}, "enrolled"),
    ],
)
def test_the_conditions_of_an_event_journey_speak_of_the_event(acme: Workspace, test: Any, result: str) -> None:
    ada = CustomerFactory.create(workspace=acme, attributes={"plan": "pro"})
    assert result_of_event(ada, test) == result


@each("trigger_type", Journey.TriggerType.values)
@each("field", ["customer.plan", "api.payload.plan", "api.properties.plan"])
def test_customer_and_payload_may_be_asked_for_in_every_journey(trigger_type: str, field: str) -> None:
    check_entry_conditions({"field": field, "op": "exists"}, trigger_type=trigger_type)


@each("field", ["event.name", "event.properties.plan"])
def test_the_event_may_be_asked_for_in_event_journeys_only(field: str) -> None:
    conditions = {"any": [PRO, {"field": field, "op": "exists"}]}
    check_entry_conditions(conditions, trigger_type="event")
    with pytest.raises(InvalidCondition) as refusal:
        check_entry_conditions(conditions, trigger_type="api")
    assert refusal.value.message == (
        f"entryConditions.any[1].field is {field!r}, which is no field here; "
        "a field is customer.<field>, api.payload.<key>, entrance.id."
    )


def test_a_journey_may_have_no_conditions() -> None:
    check_entry_conditions(None, trigger_type="api")


def queue(journey: Journey, *customers: Customer) -> None:
    request = Request(workspace_id=journey.workspace_id, journey_id=journey.id, payload={})
    queue_jobs(request, selection_of(*customers), serial=0, segment_ids=[])


def all_waiting() -> Fragment:
    """The relation of all jobs that wait."""
    return jobs_of_chunks(
        [
            ClaimedChunk(**one)
            for one in Chunk.objects.values("id", "workspace_id", "trigger_id", "start", "stop", "lane", "attempts")
        ]
    )


@each("customers", [1, 50])
def test_a_journey_with_conditions_costs_one_query_whatever_the_number_of_jobs(
    acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries, customers: int
) -> None:
    people = [CustomerFactory.create(workspace=acme, attributes={"plan": "free"}) for _ in range(customers)]
    journeys = [JourneyFactory.create(workspace=acme, entry_conditions=conditions) for conditions in (PRO, PRO, None)]
    for journey in journeys:
        queue(journey, *people)
    jobs, entered = read_jobs(all_waiting()), entered_journeys(journey.id for journey in journeys)
    assert len(jobs) == 3 * customers
    relation = all_waiting()
    with django_assert_num_queries(2):
        failing = failing_conditions(relation=relation, jobs=jobs, journeys=entered)
    assert failing == {job.id for job in jobs if job.journey_id != journeys[2].id}


@each("plan, more", [("pro", 0), ("free", 2)])
@each("customers", [1, 50])
def test_why_conditions_fail_costs_one_query_for_each_journey_that_refuses_somebody_and_else_none(
    acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries, customers: int, plan: str, more: int
) -> None:
    people = [CustomerFactory.create(workspace=acme, attributes={"plan": plan}) for _ in range(customers)]
    for conditions in (PRO, PRO, None):
        queue(JourneyFactory.create(workspace=acme, entry_conditions=conditions), *people)
    relation = all_waiting()
    with django_assert_num_queries(4 + more):  # jobs, journeys, conditions of two journeys
        decisions = decide_jobs(relation).decisions
    assert len(decisions) == 3 * customers
    details = ('customer.plan is "free", wanted "pro"',) if plan == "free" else ()
    assert {decision.details for _, decision in decisions} == {details, ()}


def test_who_is_refused_by_number_is_not_asked_why(
    acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada = CustomerFactory.create(workspace=acme, attributes={"plan": "pro"})
    journey = JourneyFactory.create(workspace=acme, entry_conditions=PRO)
    queue(journey, ada)
    let_workers_decide()
    Customer.objects.update(attributes={"plan": "free"})
    queue(journey, ada)
    relation = all_waiting()
    with django_assert_num_queries(3):
        ((_, decision),) = decide_jobs(relation).decisions
    assert (decision.verdict, decision.details) == ("already_enrolled", ())


def test_nobody_of_another_workspace_meets_the_conditions(acme: Workspace, rival: Workspace) -> None:
    stranger = CustomerFactory.create(workspace=rival, attributes={"plan": "pro"})
    journey = JourneyFactory.create(workspace=acme, entry_conditions=PRO)
    request = Request(workspace_id=acme.id, journey_id=journey.id, payload={})
    relation = supposed_jobs(request, [Supposed(journey.id, stranger.id)])
    jobs = read_jobs(relation)
    failing = failing_conditions(relation=relation, jobs=jobs, journeys=entered_journeys([journey.id]))
    assert failing == {job.id for job in jobs} != set()

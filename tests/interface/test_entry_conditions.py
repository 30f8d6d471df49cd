"""Entry conditions: "Additional conditions that must hold for enrollment", from the call to the worker's result."""

from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey
from tests.calls import data, job_of, let_workers_decide, trigger
from tests.clients import ServerClient
from tests.factories import CustomerFactory, JourneyFactory

NOT_MET = "The customer does not meet the journey's entry conditions."
PRO: dict[str, Any] = {"field": "customer.plan", "op": "eq", "value": "pro"}
BIG_ORDER: dict[str, Any] = {"field": "api.payload.order.total", "op": "gte", "value": 100}


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    """Rival has an Ada, too, of whom nothing is known."""
    CustomerFactory.create(workspace=rival, external_id="ada")
    return CustomerFactory.create(
        workspace=acme, external_id="ada", email="ada@example.com", attributes={"plan": "pro", "born": "1990-05-17"}
    )


def decided(server: ServerClient, journey: Journey, **body: Any) -> dict[str, Any]:
    """Triggers the journey for Ada and lets the workers decide; the job's look-up."""
    answered = data(trigger(server, journey, {"external_id": "ada", **body}))
    let_workers_decide()
    return job_of(server, journey.workspace_id, answered["jobId"])


@pytest.mark.parametrize(
    "conditions",
    [
        None,
        PRO,
        {"field": "customer.email", "op": "ends_with", "value": "@example.com"},
        {"field": "customer.born", "op": "before", "value": "2008-11-20"},
        {"all": [PRO, {"not": {"field": "customer.banned", "op": "exists"}}]},
        {"any": [BIG_ORDER, PRO]},
        {"field": "api.payload.missing", "op": "ne", "value": "x"},
    ],
)
def test_a_customer_who_meets_the_conditions_is_enrolled(
    server: ServerClient, acme: Workspace, ada: Customer, conditions: Any
) -> None:
    job = decided(server, JourneyFactory.create(workspace=acme, entry_conditions=conditions))
    assert (job["status"], job["result"]) == ("decided", "enrolled")


@pytest.mark.parametrize(
    "conditions",
    [
        PRO | {"value": "free"},
        {"field": "customer.plan", "op": "gt", "value": 1},
        {"all": [PRO, BIG_ORDER]},
        {"not": PRO},
        {"field": "api.payload.missing", "op": "lt", "value": 5},
    ],
)
def test_a_customer_who_does_not_meet_them_is_not_enrolled_and_the_job_says_why(
    server: ServerClient, acme: Workspace, ada: Customer, conditions: Any
) -> None:
    job = decided(server, JourneyFactory.create(workspace=acme, entry_conditions=conditions))
    assert (job["status"], job["result"], job["reason"]) == ("decided", "conditions_not_met", NOT_MET)
    assert job["enrollmentId"] is None
    assert not Enrollment.objects.exists()


@pytest.mark.parametrize("field", ["api.payload.order.total", "api.properties.order.total"])
@pytest.mark.parametrize("spelling", ["payload", "properties"])
@pytest.mark.parametrize(("total", "result"), [(100, "enrolled"), (99.5, "conditions_not_met")])
def test_conditions_may_ask_for_the_payload_by_either_name(
    server: ServerClient, acme: Workspace, ada: Customer, field: str, spelling: str, total: float, result: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, entry_conditions=BIG_ORDER | {"field": field})
    assert decided(server, journey, **{spelling: {"order": {"total": total}}})["result"] == result


def test_the_customer_counts_as_they_are_when_the_worker_decides(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    answered = data(
        trigger(server, JourneyFactory.create(workspace=acme, entry_conditions=PRO), {"external_id": "ada"})
    )
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "free"})
    let_workers_decide()
    assert job_of(server, acme.id, answered["jobId"])["result"] == "conditions_not_met"


def test_who_failed_the_conditions_may_enter_once_they_hold(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    journey = JourneyFactory.create(workspace=acme, entry_conditions=BIG_ORDER)
    assert [decided(server, journey, payload={"order": {"total": total}})["result"] for total in (1, 200)] == [
        "conditions_not_met",
        "enrolled",
    ]


def test_each_customer_of_a_bulk_call_is_asked(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    for name, plan in (("bob", "free"), ("cleo", "pro")):
        CustomerFactory.create(workspace=acme, external_id=name, attributes={"plan": plan})
    journey = JourneyFactory.create(workspace=acme, entry_conditions=PRO)
    data(trigger(server, journey, {"external_ids": ["ada", "bob", "cleo"]}))
    let_workers_decide()
    results = EnrollmentJob.objects.values_list("customer__external_id", "result")
    assert dict(results) == {"ada": "enrolled", "bob": "conditions_not_met", "cleo": "enrolled"}


def test_each_journey_has_its_own_conditions_and_each_call_its_own_payload(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    journeys = [
        JourneyFactory.create(workspace=acme, entry_conditions=conditions)
        for conditions in (BIG_ORDER, {"not": BIG_ORDER}, None)
    ]
    for journey in journeys:
        data(trigger(server, journey, {"external_id": "ada", "payload": {"order": {"total": 5}}}))
    let_workers_decide()
    results = dict(EnrollmentJob.objects.values_list("journey_id", "result"))
    assert [results[journey.id] for journey in journeys] == ["conditions_not_met", "enrolled", "enrolled"]


def test_the_number_of_entries_is_asked_before_the_conditions(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    journey = JourneyFactory.create(workspace=acme, entry_conditions=BIG_ORDER)
    assert decided(server, journey, payload={"order": {"total": 100}})["result"] == "enrolled"
    assert decided(server, journey)["result"] == "already_enrolled"


def test_an_erased_customer_is_not_asked(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    answered = data(
        trigger(server, JourneyFactory.create(workspace=acme, entry_conditions=PRO), {"external_id": "ada"})
    )
    ada.delete()
    let_workers_decide()
    assert job_of(server, acme.id, answered["jobId"])["result"] == "customer_deleted"

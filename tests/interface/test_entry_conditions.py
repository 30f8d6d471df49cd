"""Entry conditions: "Additional conditions that must hold for enrollment", from the call to the worker's result."""

from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey
from tests.support.calls import customers_path, data, job_of, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import PRO, CustomerFactory, JourneyFactory

NOT_MET = "The customer did not meet the journey's entry conditions."
BIG_ORDER: dict[str, Any] = {"field": "api.payload.order.total", "op": "gte", "value": 100}


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    """Rival has an Ada, too, of whom nothing is known."""
    CustomerFactory.create(workspace=rival, external_id="ada")
    return CustomerFactory.create(
        workspace=acme,
        external_id="ada",
        email="ada@example.com",
        attributes={"plan": "pro", "born": "1990-05-17", "nothing": None, "tags": ["b", 1.5, {"a": None}]},
    )


def decided(server: ServerClient, journey: Journey, **body: Any) -> dict[str, Any]:
    """Triggers the journey for Ada and lets the workers decide; the job's look-up."""
    answered = data(trigger(server, journey, {"external_id": "ada", **body}))
    let_workers_decide()
    return job_of(server, journey.workspace_id, answered["jobId"])


@each(
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


@each(
    "conditions, details",
    [
        (PRO | {"value": "free"}, ['customer.plan is "pro", wanted "free"']),
        ({"field": "customer.plan", "op": "gt", "value": 1}, ['customer.plan is "pro", wanted more than 1']),
        ({"all": [PRO, BIG_ORDER]}, ["api.payload.order.total has no value, wanted at least 100"]),
        ({"not": PRO}, ['customer.plan is "pro", wanted anything but "pro"']),
        (
            {"field": "api.payload.missing", "op": "lt", "value": 5},
            ["api.payload.missing has no value, wanted less than 5"],
        ),
        (
            {"any": [{"field": "customer.email", "op": "ends_with", "value": ".org"}, {"not": PRO}, BIG_ORDER]},
            [
                'customer.email is "ada@example.com", wanted a text that ends with ".org"',
                'customer.plan is "pro", wanted anything but "pro"',
                "api.payload.order.total has no value, wanted at least 100",
            ],
        ),
        (
            {"field": "customer.born", "op": "after", "value": "2008-11-20"},
            ['customer.born is "1990-05-17", wanted a time after 2008-11-20T00:00:00Z'],
        ),
        ({"field": "customer.nothing", "op": "exists"}, ["customer.nothing has no value, wanted a value"]),
        (
            {"field": "customer.tags", "op": "contains", "value": "é"},
            ['customer.tags is ["b", 1.5, {"a": null}], wanted something that contains "é"'],
        ),
    ],
)
def test_a_customer_who_does_not_meet_them_is_not_enrolled_and_the_job_says_why(
    server: ServerClient, acme: Workspace, ada: Customer, conditions: Any, details: list[str]
) -> None:
    job = decided(server, JourneyFactory.create(workspace=acme, entry_conditions=conditions))
    assert (job["status"], job["result"], job["reason"]) == ("decided", "conditions_not_met", NOT_MET)
    assert job["details"] == details
    assert job["enrollmentId"] is None
    assert not Enrollment.objects.exists()


def test_history_jobs_and_dry_runs_tell_the_same(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, entry_conditions={"not": PRO})
    told = ['customer.plan is "pro", wanted anything but "pro"']
    job = decided(server, journey)
    history = data(server.get(customers_path(acme, ada.id, "journeys")), status=200)["triggers"]
    jobs = data(server.get(f"/api/v1/journeys/{acme.id}/triggers/{job['triggerId']}/jobs"), status=200)["jobs"]
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, {"external_ids": ["ada"]}), status=200)["customers"]
    for (one,) in ([job], history, jobs, tried):
        assert (one["result"], one["reason"], one["details"]) == ("conditions_not_met", NOT_MET, told)


def test_a_long_value_is_cut(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "é" * 30_000})
    (told,) = decided(server, JourneyFactory.create(workspace=acme, entry_conditions=PRO))["details"]
    assert told == f'customer.plan is "{"é" * 199}…, wanted "pro"'


def test_whose_conditions_hold_has_no_details(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    assert decided(server, JourneyFactory.create(workspace=acme, entry_conditions=PRO))["details"] == []


def test_each_customer_is_told_their_own_values(
    server: ServerClient, rival_server: ServerClient, acme: Workspace, rival: Workspace, ada: Customer
) -> None:
    for name, attributes in (("bob", {"plan": "free"}), ("cleo", {}), ("dan", {"plan": "pro"})):
        CustomerFactory.create(workspace=acme, external_id=name, attributes=attributes)
    names = {"external_ids": ["ada", "bob", "cleo", "dan"]}
    of_both = [
        data(trigger(client, JourneyFactory.create(workspace=workspace, entry_conditions=PRO), names))["triggerId"]
        for client, workspace in ((server, acme), (rival_server, rival))
    ]
    let_workers_decide()
    told = EnrollmentJob.objects.order_by("customer__external_id").values_list("customer__external_id", "details")
    assert list(told.filter(trigger_id=of_both[0])) == [
        ("ada", None),
        ("bob", ['customer.plan is "free", wanted "pro"']),
        ("cleo", ['customer.plan has no value, wanted "pro"']),
        ("dan", None),
    ]
    assert list(told.filter(trigger_id=of_both[1])) == [("ada", ['customer.plan has no value, wanted "pro"'])]


def test_the_values_go_with_the_person_and_the_decision_stays(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    CustomerFactory.create(workspace=acme, external_id="bob", attributes={"plan": "secret-b"})
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "secret-a"})
    journey = JourneyFactory.create(workspace=acme, entry_conditions=PRO)
    answered = data(trigger(server, journey, {"external_ids": ["ada", "bob"]}))
    let_workers_decide()
    data(server.delete(customers_path(acme, ada.id)), status=200)
    for job_id in answered["jobIds"]:
        job = job_of(server, acme.id, job_id)
        assert (job["result"], job["reason"]) == ("conditions_not_met", NOT_MET)
        bobs = ['customer.plan is "secret-b", wanted "pro"']
        assert job["details"] == ([] if job["customerId"] == ada.id else bobs)
    assert not EnrollmentJob.objects.filter(details__icontains="secret-a").exists()


@each("field", ["api.payload.order.total", "api.properties.order.total"])
@each("spelling", ["payload", "properties"])
@each("total, result", [(100, "enrolled"), (99.5, "conditions_not_met")])
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


def test_journeys_have_conditions_and_calls_payloads_apart(
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

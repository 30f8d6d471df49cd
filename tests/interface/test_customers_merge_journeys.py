"""`POST /api/v1/customers/{workspaceId}/merge`: what it does to journeys."""

from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.merging import EXITED_BY_MERGE
from journeys.models import Enrollment, EnrollmentJob, Journey, StepRun
from tests.interface.merges import entered, merged
from tests.support.calls import customers_path, data, job_of, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.clients import ServerClient
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.factories import (
    JourneyFactory,
    SegmentFactory,
    take_milliseconds,
)

WAIT: list[dict[str, Any]] = [{"id": "wait", "type": "delay", "for": "P1D"}]


@pytest.fixture
def waiting(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, key="waiting", steps=WAIT)


def test_of_two_active_enrollments_the_known_ones_stays(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, waiting: Journey
) -> None:
    theirs, former = entered(server, waiting, ada), entered(server, waiting, anonymous)
    let_workers_walk()
    assert merged(server, acme) == {"jobs": 1, "enrollments": 1, "enrollmentsExited": 1}
    stays, ended = (Enrollment.objects.get(id=job_of(server, acme.id, job)["enrollmentId"]) for job in (theirs, former))
    assert (stays.state, stays.customer_id) == ("active", ada.id)
    assert (ended.state, ended.exit_reason, ended.customer_id) == ("exited", EXITED_BY_MERGE, ada.id)
    assert set(StepRun.objects.values_list("enrollment_id", "state")) == {
        (stays.id, "waiting"), (ended.id, "interrupted"),
    }  # fmt: skip
    assert counted(waiting) == counted_by_history(waiting.id)


def test_an_enrollment_of_the_anonymous_one_goes_on_as_the_known_ones(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    steps = [
        {"id": "ask", "type": "wait_for_event", "event": "bought", "timeout": "P1D", "next": "note"},
        {"id": "note", "type": "update_profile", "attributes": {"buyer": "{{ customer.external_id }}"}},
    ]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    job = entered(server, journey, anonymous)
    let_workers_walk()
    merged(server, acme)
    server.post(customers_path(acme, "events"), {"external_id": "ada", "eventName": "bought"})
    let_workers_walk()
    ada.refresh_from_db()
    assert ada.attributes == {"buyer": "ada"}
    assert Enrollment.objects.get(job=EnrollmentJob.objects.get()).state == "completed"
    assert job_of(server, acme.id, job)["customerId"] == ada.id
    assert counted(journey) == counted_by_history(journey.id)


def test_job_ids_stay_as_they_are_wherever_they_are_told(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    segment = SegmentFactory.create(workspace=acme, members=[anonymous])
    body, key = {"segment_ids": [segment.id]}, {"Idempotency-Key": "k-1"}
    answered = trigger(server, journey, body, headers=key)
    (job_id,), trigger_id = data(answered)["jobIds"], data(answered)["triggerId"]
    let_workers_decide()
    merged(server, acme)
    told = job_of(server, acme.id, job_id)
    assert (told["jobId"], told["customerId"], told["result"]) == (job_id, ada.id, "enrolled")
    (of_trigger,) = data(server.get(f"/api/v1/journeys/{acme.id}/triggers/{trigger_id}/jobs"), status=200)["jobs"]
    assert (of_trigger["jobId"], of_trigger["external_id"]) == (job_id, "ada")
    (of_customer,) = data(server.get(customers_path(acme, ada.id, "journeys")), status=200)["triggers"]
    assert of_customer["jobId"] == job_id
    enrollment = data(server.get(f"/api/v1/journeys/{acme.id}/enrollments/{told['enrollmentId']}"), status=200)
    assert (enrollment["jobId"], enrollment["customerId"]) == (job_id, ada.id)
    replayed = trigger(server, journey, body, headers=key)
    assert replayed["Idempotency-Replayed"] == "true"
    assert data(replayed) == data(answered)
    refused(server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}"), status=409, error="Job already decided")


def test_a_job_id_stays_if_the_known_one_has_a_job_of_the_same_millisecond(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    entered(server, journey, ada)
    take_milliseconds(EnrollmentJob.objects.get())
    job_id = entered(server, journey, anonymous)
    assert EnrollmentJob.objects.filter(customer=ada, queued_ms=int(job_id.rpartition("-")[2])).exists()
    assert merged(server, acme)["jobs"] == 1
    assert job_of(server, acme.id, job_id)["jobId"] == job_id
    assert data(server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}"), status=200)["jobId"] == job_id
    assert EnrollmentJob.objects.get(status="cancelled").queued_as == job_id


def test_queued_jobs_are_decided_by_the_history_of_both(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    """Ada has completed it already, and may enter it once."""
    entered(server, journey, ada)
    let_workers_decide()
    job_id = entered(server, journey, anonymous)
    merged(server, acme)
    let_workers_decide()
    assert job_of(server, acme.id, job_id)["result"] == "already_enrolled"


def test_a_call_enters_a_person_once(acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer) -> None:
    again = JourneyFactory.create(workspace=acme, max_entries_per_customer=9)
    segment = SegmentFactory.create(workspace=acme, members=[anonymous, ada])
    data(trigger(server, again, {"segment_ids": [segment.id]}))
    assert merged(server, acme) == {"jobs": 1, "jobsCancelled": 1}
    let_workers_decide()
    assert set(EnrollmentJob.objects.values_list("customer_id", "result")) == {
        (ada.id, "enrolled"), (ada.id, "cancelled"),
    }  # fmt: skip
    assert counted(again) == counted_by_history(again.id)


def test_a_call_that_excludes_the_known_one_does_not_enter_them_as_the_anonymous_one(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    segment = SegmentFactory.create(workspace=acme, members=[anonymous])
    data(trigger(server, journey, {"segment_ids": [segment.id], "exclude_external_ids": ["ada"]}))
    assert merged(server, acme) == {"jobs": 1, "jobsCancelled": 1, "segments": 1}
    let_workers_decide()
    assert not Enrollment.objects.exists()
    assert counted(journey) == counted_by_history(journey.id)


@pytest.mark.parametrize("terms", [{}, {"entranceId": "order-1"}])
def test_a_call_for_one_that_excludes_the_known_one_does_not_enter_them_either(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey, terms: dict[str, str]
) -> None:
    body = {"customerId": anonymous.id, "exclude_external_ids": ["ada", "nobody"], **terms}
    queued = data(trigger(server, journey, body))
    assert merged(server, acme) == {"jobs": 1, "jobsCancelled": 1}
    let_workers_decide()
    assert not Enrollment.objects.exists()
    sent = server.get(f"/api/v1/journeys/{acme.id}/triggers/{queued['triggerId']}")
    assert data(sent, status=200)["call"] is None
    assert counted(journey) == counted_by_history(journey.id)


def test_payloads_are_kept_as_long_as_the_person_is_there(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    data(trigger(server, journey, {"customerId": anonymous.id, "payload": {"secret": "s"}}))
    let_workers_decide()
    merged(server, acme)
    sent = EnrollmentJob.objects.get().trigger
    assert sent.payload == {"secret": "s"}
    data(server.delete(customers_path(acme, ada.id)), status=200)
    sent.refresh_from_db()
    assert sent.payload == {}
    assert not Enrollment.objects.exists()

"""DELETE /api/v1/journeys/{workspaceId}/jobs/{jobId}: a job that is cancelled is never enrolled."""

import pytest
from django.db import transaction

from customers.models import Customer
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from tests.support.calls import data, job_of, let_workers_decide, refused, trigger
from tests.support.clients import Answer, ServerClient
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

pytestmark = pytest.mark.usefixtures("cast")


def cancel(server: ServerClient, journey: Journey, job_id: str) -> Answer:
    return server.delete(f"/api/v1/journeys/{journey.workspace_id}/jobs/{job_id}")


def test_a_queued_job_is_cancelled_and_never_enrolled(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    answer = cancel(server, journey, queued["jobId"])
    assert (answer.status_code, answer.json()["message"]) == (
        200,
        "The job is cancelled and will enroll no customer.",
    )
    job = answer.json()["data"]
    assert (job["jobId"], job["status"], job["result"]) == (queued["jobId"], "cancelled", "cancelled")
    assert job["reason"] == "Cancelled by a call, before it was decided."
    assert job["decidedAt"].endswith("Z")
    assert job["enrollmentId"] is None
    let_workers_decide()
    assert job_of(server, journey.workspace_id, queued["jobId"]) == job
    assert not Enrollment.objects.exists()
    assert not Chunk.objects.exists()


def test_of_a_call_for_many_one_is_cancelled_and_the_others_enter(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_ids": ["ada", "grace", "alan"]}))
    data(cancel(server, journey, queued["jobIds"][1]), status=200)
    let_workers_decide()
    entered = set(Enrollment.objects.values_list("customer_id", flat=True))
    assert entered == set(queued["customerIds"]) - {queued["customerIds"][1]}
    path = f"/api/v1/journeys/{journey.workspace_id}/triggers/{queued['triggerId']}"
    counts = data(server.get(path), status=200)
    assert (counts["customers"], counts["queued"], counts["decided"], counts["cancelled"]) == (3, 0, 2, 1)
    assert counts["results"] == {"cancelled": 1, "enrolled": 2}


def test_cancelling_again_changes_nothing(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    first = data(cancel(server, journey, queued["jobId"]), status=200)
    assert data(cancel(server, journey, queued["jobId"]), status=200) == first


def test_a_cancelled_job_does_not_stand_in_the_way_of_the_next(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    data(cancel(server, journey, queued["jobId"]), status=200)
    again = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    assert job_of(server, journey.workspace_id, again["jobId"])["result"] == "enrolled"


def test_a_decided_job_cannot_be_cancelled(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    before = job_of(server, journey.workspace_id, queued["jobId"])
    answer = cancel(server, journey, queued["jobId"])
    message = refused(answer, status=409, error="Job already decided")
    assert message == ("The job is not queued any more: its result is 'enrolled'. The customer met the entry rules.")
    assert answer.json()["code"] == "job_already_decided"
    assert job_of(server, journey.workspace_id, queued["jobId"]) == before
    assert Enrollment.objects.get().state == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_cancellation_waits_for_whoever_is_at_the_customer(server: ServerClient, journey: Journey) -> None:
    """A worker that decides holds the customer's row from before it reads the jobs until it has enrolled."""
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(workspace=journey.workspace, external_id="ada")
        cancelling = made_to_wait(lambda: cancel(server, journey, queued["jobId"]))
        let_workers_decide()
    refused(cancelling.result(PATIENCE_SECONDS), status=409, error="Job already decided")
    assert job_of(server, journey.workspace_id, queued["jobId"])["result"] == "enrolled"


def test_a_job_that_has_failed_cannot_be_cancelled(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    EnrollmentJob.objects.update(status="failed", result="failed", reason="Given up after 5 attempts: poisoned")
    before = job_of(server, journey.workspace_id, queued["jobId"])
    message = refused(cancel(server, journey, queued["jobId"]), status=409, error="Job already decided")
    assert message == "The job is not queued any more: its result is 'failed'. Given up after 5 attempts: poisoned"
    assert job_of(server, journey.workspace_id, queued["jobId"]) == before
    assert before["status"] == "failed"


def test_the_queued_job_of_an_erased_customer_can_be_cancelled(server: ServerClient, journey: Journey) -> None:
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    Customer.objects.filter(workspace=journey.workspace, external_id="ada").delete()
    assert data(cancel(server, journey, queued["jobId"]), status=200)["status"] == "cancelled"
    let_workers_decide()
    assert job_of(server, journey.workspace_id, queued["jobId"])["result"] == "cancelled"

"""What became of a job, and of a trigger."""

from datetime import datetime
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from journeys.models import Enrollment, Journey
from tests.support.calls import data, job_of, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient

pytestmark = pytest.mark.usefixtures("cast")


@each("body", [{"external_id": "ada"}, {"external_ids": ["ada"]}])
def test_a_queued_job_says_so(server: ServerClient, journey: Journey, body: dict[str, Any]) -> None:
    answered = data(trigger(server, journey, body))
    [job_id] = answered.get("jobIds") or [answered["jobId"]]
    job = job_of(server, journey.workspace_id, job_id)
    queued_at = datetime.fromisoformat(job.pop("queuedAt"))
    assert int(queued_at.timestamp() * 1000) == int(job_id.rsplit("-")[-1])
    assert job == {
        "jobId": job_id,
        "triggerId": answered["triggerId"],
        "journeyId": journey.id,
        "customerId": Customer.objects.get(workspace=journey.workspace, external_id="ada").id,
        "external_id": "ada",
        "status": "queued",
        "result": None,
        "reason": None,
        "details": [],
        "enrollmentId": None,
        "decidedAt": None,
    }


def test_a_decided_job_tells_result_reason_and_enrollment(server: ServerClient, journey: Journey) -> None:
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    job = job_of(server, journey.workspace_id, answered["jobId"])
    assert (job["status"], job["result"]) == ("decided", "enrolled")
    assert job["reason"] == "The customer met the entry rules."
    assert job["enrollmentId"] == Enrollment.objects.get().id
    assert job["decidedAt"].endswith("Z")


def test_what_is_told_of_a_job_is_of_one_moment(
    server: ServerClient, journey: Journey, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    with django_assert_num_queries(2):  # the key and one statement
        assert job_of(server, journey.workspace_id, answered["jobId"])["enrollmentId"]


def test_a_refused_job_tells_why_and_has_no_enrollment(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    job = job_of(server, journey.workspace_id, answered["jobId"])
    assert (job["status"], job["result"], job["enrollmentId"]) == ("decided", "already_enrolled", None)
    assert job["reason"] == (
        f"The customer had completed the journey (enrollment {Enrollment.objects.get().id}), and re-enrollment was not "
        "enabled."
    )


def test_a_trigger_counts_its_jobs_by_status_and_result(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    answered = data(trigger(server, journey, {"external_ids": ["ada", "grace", "alan"]}))
    path = f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"
    before = data(server.get(path), status=200)
    assert before.pop("queuedAt").endswith("Z")
    assert before.pop("call")["externalIds"] == 3
    assert before == {
        "triggerId": answered["triggerId"],
        "journeyId": journey.id,
        "customers": 3,
        "queued": 3,
        "decided": 0,
        "failed": 0,
        "cancelled": 0,
        "results": {},
        "apiKeyId": server.key.id,
        "apiKeyName": server.key.name,
    }
    let_workers_decide()
    after = data(server.get(path), status=200)
    assert (after["queued"], after["decided"], after["failed"]) == (0, 3, 0)
    assert after["results"] == {"already_enrolled": 1, "enrolled": 2}


def test_look_ups_have_the_limits_headers_at_ten_times_the_trigger_s(server: ServerClient, journey: Journey) -> None:
    server.key.rate_limit = "7/d"
    server.key.save()
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    enrollment = Enrollment.objects.get()
    asked = [f"jobs/{answered['jobId']}", f"triggers/{answered['triggerId']}", f"enrollments/{enrollment.id}"]
    for remaining, below in zip(("69", "68", "67"), asked, strict=True):
        answer = server.get(f"/api/v1/journeys/{journey.workspace_id}/{below}")
        assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("70", remaining)
        assert answer["RateLimit-Policy"] == '"lookup";q=70;w=86400'

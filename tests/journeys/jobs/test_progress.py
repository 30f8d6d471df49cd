"""How far a trigger has come: what is counted as it happens agrees with the jobs, whatever happens to them."""

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.entering import queueing
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.jobs.progress import count_by_result, count_jobs
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger, TriggerProgress
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, crowd

NUMBER = 1_000  # two chunks


@pytest.fixture(autouse=True)
def large_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queueing, "LARGE_TRIGGER", NUMBER)


@pytest.fixture
def names(acme: Workspace) -> list[str]:
    return crowd(acme, NUMBER)


@pytest.fixture
def queued(server: ServerClient, journey: Journey, names: list[str]) -> Trigger:
    return called(server, journey, names)


def called(server: ServerClient, journey: Journey, names: list[str]) -> Trigger:
    return Trigger.objects.get(id=data(trigger(server, journey, {"external_ids": names}))["triggerId"])


def counted(of: Trigger) -> dict[str, int]:
    """By result, or by status where there is none; as noted, which must be what the jobs themselves say."""
    noted = count_jobs(of)
    assert noted == count_by_result(EnrollmentJob.objects.filter(trigger_id=of.id))
    return {jobs.result or jobs.status: jobs.number for jobs in noted}


def test_what_is_decided_is_counted_as_it_is_decided(queued: Trigger) -> None:
    assert counted(queued) == {"queued": NUMBER}
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
    assert counted(queued) == {"queued": NUMBER - 500, "enrolled": 500}
    let_workers_decide()
    assert counted(queued) == {"enrolled": NUMBER}


def test_each_result_is_counted_for_itself(
    server: ServerClient, journey: Journey, queued: Trigger, names: list[str]
) -> None:
    Customer.objects.filter(external_id__in=names[:7]).delete()
    another = Customer.objects.get(external_id=names[-1])
    EnrollmentJob.objects.filter(trigger=queued, customer=another).update(status="failed", result="failed")
    let_workers_decide()
    assert counted(queued) == {"enrolled": NUMBER - 8, "customer_deleted": 7, "failed": 1}
    late = [f"late-{n}" for n in range(7)]
    for name in late:
        CustomerFactory.create(workspace=queued.workspace, external_id=name)
    again = called(server, journey, names[7:] + late)
    let_workers_decide()
    assert counted(again) == {"already_enrolled": NUMBER - 8, "enrolled": 8}
    assert counted(queued) == {"enrolled": NUMBER - 8, "customer_deleted": 7, "failed": 1}


def test_who_is_cancelled_is_counted_and_not_decided(server: ServerClient, queued: Trigger) -> None:
    path = f"/api/v1/journeys/{queued.workspace_id}"
    for ordinal in (0, 600):
        job = EnrollmentJob.objects.get(trigger=queued, ordinal=ordinal)
        data(server.delete(f"{path}/jobs/{job.job_id}"), status=200)
    assert counted(queued) == {"queued": NUMBER - 2, "cancelled": 2}
    let_workers_decide()
    assert counted(queued) == {"enrolled": NUMBER - 2, "cancelled": 2}
    state = data(server.get(f"{path}/triggers/{queued.id}"), status=200)
    assert (state["queued"], state["decided"], state["failed"], state["cancelled"]) == (0, NUMBER - 2, 0, 2)
    assert state["results"] == {"enrolled": NUMBER - 2, "cancelled": 2}


def test_what_is_taken_back_is_not_counted(queued: Trigger) -> None:
    with transaction.atomic():
        serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
        transaction.set_rollback(True)
    assert counted(queued) == {"queued": NUMBER}


def test_what_changes_no_status_is_not_counted(queued: Trigger) -> None:
    let_workers_decide()
    before = TriggerProgress.objects.count()
    EnrollmentJob.objects.filter(trigger=queued).update(reason="")
    assert TriggerProgress.objects.count() == before
    EnrollmentJob.objects.filter(trigger=queued, ordinal=3).update(result="conditions_not_met")
    assert {jobs.result: jobs.number for jobs in count_jobs(queued)} == {
        "enrolled": NUMBER - 1,
        "conditions_not_met": 1,
    }


def test_the_jobs_are_not_read_to_tell_of_a_large_trigger(
    queued: Trigger, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
    with django_assert_num_queries(1) as asked:
        count_jobs(queued)
    assert "journeys_enrollmentjob" not in asked.captured_queries[0]["sql"]
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    page = staff.get(f"/admin/journeys/trigger/{queued.id}/change/").content.decode()
    assert f"{NUMBER - 500} queued" in page.replace(",", "")
    assert "500 enrolled" in page


def test_of_smaller_ones_nothing_is_noted(server: ServerClient, journey: Journey, names: list[str]) -> None:
    for some in (names[1:], names[:1]):
        small = called(server, journey, some)
        let_workers_decide()
        assert not small.keeps_progress
        assert sum(jobs.number for jobs in count_jobs(small)) == len(some)
    data(trigger(server, journey, {"external_id": names[0]}))
    let_workers_decide()
    assert not TriggerProgress.objects.exists()


def test_it_goes_with_its_trigger(queued: Trigger) -> None:
    let_workers_decide()
    assert TriggerProgress.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journeys_trigger WHERE id = %s", [queued.id])
    assert not TriggerProgress.objects.exists()

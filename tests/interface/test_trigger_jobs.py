"""`GET /api/v1/journeys/{workspaceId}/triggers/{triggerId}/jobs`: what became of everybody whom a call queued."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, Journey
from tests.support.calls import customers_path, data, job_of, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import DAY, NAMES, CustomerFactory, crowd

pytestmark = [pytest.mark.usefixtures("cast"), pytest.mark.journey(steps=[DAY])]


@pytest.fixture
def called(server: ServerClient, journey: Journey) -> dict[str, Any]:
    """A call for all four, of whom Ada is inside already, and Edsger's job was cancelled."""
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    answered = data(trigger(server, journey, {"external_ids": list(NAMES)}))
    edsger = Customer.objects.get(workspace=journey.workspace, external_id="edsger")
    place = answered["customerIds"].index(edsger.id)
    data(server.delete(f"/api/v1/journeys/{journey.workspace_id}/jobs/{answered['jobIds'][place]}"), status=200)
    return answered


def path_of(journey: Journey, called: dict[str, Any], query: str = "") -> str:
    return f"/api/v1/journeys/{journey.workspace_id}/triggers/{called['triggerId']}/jobs{query}"


def listed(server: ServerClient, journey: Journey, called: dict[str, Any], query: str = "") -> dict[str, str | None]:
    """The result of each job on the page, by the customer's external id."""
    page = data(server.get(path_of(journey, called, query)), status=200)
    return {job["external_id"]: job["result"] for job in page["jobs"]}


def pages(server: ServerClient, path: str) -> Iterator[list[dict[str, Any]]]:
    """All pages; the path has a query."""
    after = ""
    while after is not None:
        page = data(server.get(f"{path}&after={after}"), status=200)
        assert data(server.get(f"{path}&cursor={after}"), status=200) == page  # as 1.0.0 called it
        yield page["jobs"]
        assert page["next"] == page["nextCursor"]
        after = page["next"]


def test_it_tells_of_each_job_what_its_look_up_tells(
    server: ServerClient, journey: Journey, called: dict[str, Any]
) -> None:
    let_workers_decide()
    page = data(server.get(path_of(journey, called)), status=200)
    assert page == {
        "triggerId": called["triggerId"],
        "jobs": [job_of(server, journey.workspace_id, job_id) for job_id in called["jobIds"]],
        "next": None,
        "nextCursor": None,
    }
    grace = Customer.objects.get(workspace=journey.workspace, external_id="grace")
    [told] = [job for job in page["jobs"] if job["customerId"] == grace.id]
    assert (told["external_id"], told["result"]) == ("grace", "enrolled")
    assert told["enrollmentId"] == Enrollment.objects.get(customer=grace).id


@each(
    "query, names",
    [
        ("", {"ada", "grace", "alan", "edsger"}),
        ("?result=enrolled", {"grace", "alan"}),
        ("?result=already_enrolled", {"ada"}),
        ("?result=failed", set()),
        ("?status=decided", {"ada", "grace", "alan"}),
        ("?status=cancelled", {"edsger"}),
        ("?status=queued", set()),
        ("?status=decided&result=enrolled", {"grace", "alan"}),
        ("?status=cancelled&result=enrolled", set()),
    ],
)
def test_result_and_status_select_jobs(
    server: ServerClient, journey: Journey, called: dict[str, Any], query: str, names: set[str]
) -> None:
    let_workers_decide()
    assert set(listed(server, journey, called, query)) == names


def test_before_a_worker_decides_they_are_queued(
    server: ServerClient, journey: Journey, called: dict[str, Any]
) -> None:
    waiting = {"ada": None, "grace": None, "alan": None}
    assert listed(server, journey, called, "?status=queued") == waiting
    assert listed(server, journey, called) == {**waiting, "edsger": "cancelled"}


@each("query", ["?limit=3", "?limit=1&status=decided", "?limit=2&result=enrolled"])
def test_pages_tell_of_each_job_once_and_in_order(
    server: ServerClient, journey: Journey, called: dict[str, Any], query: str
) -> None:
    let_workers_decide()
    whole = data(server.get(path_of(journey, called, re.sub(r"limit=\d&?", "", query))), status=200)["jobs"]
    split = list(pages(server, path_of(journey, called, query)))
    assert [job for page in split for job in page] == whole
    assert [len(page) for page in split[:-1]] == [int(query[7])] * (len(split) - 1)
    assert split[-1]


def test_an_erased_customer_s_job_is_there_without_the_external_id(
    server: ServerClient, acme: Workspace, journey: Journey, called: dict[str, Any]
) -> None:
    grace = Customer.objects.get(workspace=journey.workspace, external_id="grace")
    server.delete(customers_path(acme, grace.id))
    let_workers_decide()
    assert listed(server, journey, called, "?result=customer_deleted") == {None: "customer_deleted"}
    [job_id] = [job_id for job_id in called["jobIds"] if grace.id in job_id]
    assert job_of(server, acme.id, job_id)["external_id"] is None


def test_a_customer_without_an_external_id_has_none_here(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    CustomerFactory.create(workspace=acme, external_id=None, email="anon@example.com")
    answered = data(trigger(server, journey, {"email": "anon@example.com"}))
    assert list(listed(server, journey, answered)) == [None]


def test_a_call_that_selected_nobody_has_none(server: ServerClient, journey: Journey) -> None:
    answered = data(trigger(server, journey, {"external_ids": ["nobody"]}))
    page = data(server.get(path_of(journey, answered)), status=200)
    assert page == {"triggerId": answered["triggerId"], "jobs": [], "next": None, "nextCursor": None}


@each(
    "query, message",
    [
        ("?status=done", "status must be one of queued, decided, failed, cancelled, not 'done'."),
        ("?result=", "result must be one of enrolled, already_enrolled, "),
        ("?result=queued", "result must be one of enrolled, already_enrolled, "),
        ("?status=queued&status=failed", "status stands more than once in the query string."),
        ("?limit=1001", "limit must be a whole number from 1 to 1000."),
        ("?cursor=WyJhIl0", "cursor must be the nextCursor of an answer to the same call."),
    ],
)
def test_a_query_that_is_not_understood_is_refused(
    server: ServerClient, journey: Journey, called: dict[str, Any], query: str, message: str
) -> None:
    told = refused(server.get(path_of(journey, called, query)), status=400, error="Invalid request")
    assert told.startswith(message)


def test_a_thousand_jobs_cost_as_many_queries_as_one(
    transactional_db: None,
    server: ServerClient,
    acme: Workspace,
    journey: Journey,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    names = crowd(acme, 1000)
    for number in (1, 1000):
        answered = data(trigger(server, journey, {"external_ids": names[:number]}))
        with django_assert_num_queries(3):  # key, trigger, jobs
            assert len(listed(server, journey, answered, "?limit=1000")) == number

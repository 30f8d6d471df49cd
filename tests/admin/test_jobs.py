"""A job's page: what was decided about the customer, and what that rests on."""

import pytest
from django.test import Client
from django.urls import reverse

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.admin.staff import staff_with
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import PRO, CustomerFactory, JourneyFactory, crowd

TOLD = (
    "<div>customer.plan is &quot;&lt;free&gt;&quot;, wanted &quot;pro&quot;</div>"
    "<div>customer.seats has no value, wanted at least 3</div>"
)
REASON = "The customer did not meet the journey&#x27;s entry conditions."


@pytest.fixture
def refused(server: ServerClient, acme: Workspace) -> EnrollmentJob:
    """Ada's plan is not the one that is wanted, and she has no seats."""
    seats = {"field": "customer.seats", "op": "gte", "value": 3}
    CustomerFactory.create(workspace=acme, external_id="ada", attributes={"plan": "<free>"})
    journey = JourneyFactory.create(workspace=acme, entry_conditions={"any": [PRO, seats]})
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    return EnrollmentJob.objects.get()


def test_what_failed_is_shown_with_the_values(staff: Client, refused: EnrollmentJob) -> None:
    page = staff.get(page_url(refused)).content.decode()
    assert REASON in page
    assert TOLD in page


@each("permissions, shown", [(["view_customer"], True), ([], False)])
def test_the_values_are_shown_to_those_who_may_view_customers(
    refused: EnrollmentJob, permissions: list[str], shown: bool
) -> None:
    page = staff_with("view_enrollmentjob", *permissions).get(page_url(refused)).content.decode()
    assert REASON in page
    assert (TOLD in page) == shown
    assert ("free" in page) == shown


def test_a_rare_result_is_looked_for_in_the_latest_jobs_unless_a_person_narrows_them(
    staff: Client, server: ServerClient, acme: Workspace, refused: EnrollmentJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    data(trigger(server, JourneyFactory.create(workspace=acme), {"external_ids": crowd(acme, 5)}))
    rare = f"{reverse('admin:journeys_enrollmentjob_changelist')}?result__exact=conditions_not_met"
    for looked_at, more, found in ((6, "", 1), (5, "", 0), (5, f"&customer__id__exact={refused.customer_id}", 1)):
        monkeypatch.setattr("engage.admin.parts.filters.MOST_LOOKED_AT", looked_at)
        answer = staff.get(rare + more)
        assert len(answer.context["cl"].result_list) == found
        assert f"of the latest {looked_at}" in answer.content.decode()

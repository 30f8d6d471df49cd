"""Send: a journey for segments or pasted ids, tried first and confirmed by its number."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from customers.models import Customer
from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, Trigger
from tests.admin.staff import member
from tests.support.calls import let_workers_decide
from tests.support.factories import DAY, PRO, CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.journey(steps=[DAY], entry_conditions=PRO)


def address(journey: Journey) -> str:
    return reverse("admin:journeys_journey_send", args=[journey.pk])


def tried(client: Client, journey: Journey, **said: Any) -> dict[str, Any]:
    """What the form says, with the token of its dry run."""
    trial = client.post(address(journey), said).context["trial"]
    return {**said, "token": trial.token, "number": str(trial.found), "send": "yes"}


def refusals(answer: Any) -> str:
    form = answer.context["form"]
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


def test_a_send_is_tried_confirmed_and_recorded_as_whose_it_is(
    staff: Client, acme: Workspace, journey: Journey
) -> None:
    pro = CustomerFactory.create_batch(7, workspace=acme, attributes={"plan": "pro"})
    free, out = CustomerFactory.create_batch(2, workspace=acme)
    segment = SegmentFactory.create(workspace=acme, members=[*pro, free, out])
    assert address(journey) in staff.get(page_url(journey)).content.decode()
    said = {"segments": [segment.pk], "exclude": f"{out.external_id}, nobody", "payload": '{"coupon": "X"}'}
    page = staff.post(address(journey), said)
    trial = page.context["trial"]
    assert trial.found == 8
    assert [(re.sub("<[^>]*>", "", str(label)).strip(), number) for label, number in trial.results] == [
        ("enrolled", "7"),
        ("conditions not met", "1"),
    ]
    assert trial.left_out == [("left out as you asked", "1")]
    assert len(trial.samples["rows"]) == 5
    assert not Trigger.objects.exists()
    confirmed = {**said, "token": trial.token, "number": "8", "send": "yes"}
    first, second = (staff.post(address(journey), confirmed) for _ in range(2))
    trigger = Trigger.objects.get()
    assert [answer["Location"] for answer in (first, second)] == [page_url(trigger)] * 2
    assert (trigger.customers, trigger.payload) == (8, {"coupon": "X"})
    entry = AuditEntry.objects.get(object_kind="trigger", object_id=trigger.pk)
    assert (entry.actor_name, entry.note) == ("root", "Sent by hand to 8.")
    told = staff.get(page_url(trigger)).content.decode()
    assert "sent by" in told
    assert page_url(segment) in told
    let_workers_decide()
    assert set(Enrollment.objects.values_list("customer", flat=True)) == {one.pk for one in pro}


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_eight_times_at_once_sends_once(staff: Client, ada: Customer, journey: Journey) -> None:
    confirmed = tried(staff, journey, ids=ada.external_id)

    def send() -> str:
        tab = Client()
        tab.cookies = staff.cookies
        return str(tab.post(address(journey), confirmed)["Location"])

    assert set(all_at_once([send] * 8)) == {page_url(Trigger.objects.get())}


def test_pasted_ids_go_with_or_without_segments(staff: Client, acme: Workspace, journey: Journey) -> None:
    inside, outside = CustomerFactory.create_batch(2, workspace=acme)
    segment = SegmentFactory.create(workspace=acme, members=[inside])
    ids = f"{inside.external_id}\n{outside.external_id};nobody"
    for segments, found, missing in (
        ([], 2, [("ids that nobody has", "1")]),
        ([segment.pk], 1, [("ids that nobody has", "1"), ("in none of the segments", "1")]),
    ):
        trial = staff.post(address(journey), {"segments": segments, "ids": ids}).context["trial"]
        assert (trial.found, trial.left_out) == (found, missing)


def test_what_is_not_confirmed_as_it_was_tried_is_not_sent(
    staff: Client, acme: Workspace, rival: Workspace, journey: Journey
) -> None:
    customer = CustomerFactory.create(workspace=acme)
    said = tried(staff, journey, ids=customer.external_id)
    another = JourneyFactory.create(workspace=acme)
    foreign = SegmentFactory.create(workspace=rival)
    for at, fields, why in (
        (journey, {**said, "number": "2"}, "Type 1 to confirm."),
        (journey, {**said, "number": ""}, "Type 1 to confirm."),
        (journey, {**said, "payload": '{"a": 1}'}, "has changed since it was tried"),
        (another, said, "has changed since it was tried"),
        (journey, {**said, "ids": " "}, "Choose a segment, or paste ids."),
        (journey, {**said, "ids": " ".join(map(str, range(1001)))}, "1,000 may be pasted at once"),
        (journey, {**said, "payload": "[]"}, "must be an object"),
        (journey, {**said, "segments": [foreign.pk]}, "not one of the available choices"),
    ):
        assert why in refusals(staff.post(address(at), fields))
    staff.post(address(journey), {**said, "token": "made-up"})
    Journey.objects.filter(pk=journey.pk).update(active=False)
    assert "not found or not active" in refusals(staff.post(address(journey), said))
    assert not EnrollmentJob.objects.exists()
    assert not Trigger.objects.exists()


def test_only_those_send_who_may_trigger_and_see_customers(acme: Workspace, journey: Journey, ada: Customer) -> None:
    mays = {}
    for role in ("viewer", "support", "author", "admin"):
        client = member(role, acme=role)
        page = client.get(page_url(journey)).content.decode()
        mays[role] = (client.get(address(journey)).status_code, address(journey) in page)
    assert mays == {"viewer": (403, False), **dict.fromkeys(("support", "author", "admin"), (200, True))}

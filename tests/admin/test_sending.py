"""Send: a journey for segments or pasted ids, tried first and confirmed by its number."""

import json
import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from customers.models import Customer
from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, Trigger
from tests.admin.staff import member
from tests.support.calls import let_workers_decide, let_workers_walk
from tests.support.factories import DAY, PRO, CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.journey(steps=[DAY], entry_conditions=PRO)


def address(journey: Journey) -> str:
    return reverse("admin:journeys_journey_send", args=[journey.pk])


def tried(client: Client, journey: Journey, **said: Any) -> dict[str, Any]:
    """What the form says, with the token of its dry run."""
    trial = client.post(address(journey), said).context["trial"]
    return {**said, "token": trial.token, "number": str(trial.found), "send": "yes"}


def numbers(trial: Any) -> dict[str, str]:
    """How many by result."""
    return {re.sub("<[^>]*>", "", str(label)).strip(): number for label, number in trial.results}


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
    assert numbers(trial) == {"enrolled": "7", "conditions not met": "1"}
    assert trial.missing == [("left out as you asked", "1", out.external_id)]
    assert len(trial.samples["rows"]) == 5
    ((refused, _, why),) = trial.left_out["rows"]
    assert page_url(free) in refused
    assert "customer.plan" in why
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
    nobody = ("ids that nobody has", "1", "nobody")
    for segments, found, missing in (
        ([], 2, [nobody]),
        ([segment.pk], 1, [nobody, ("in none of the segments", "1", outside.external_id)]),
    ):
        trial = staff.post(address(journey), {"segments": segments, "ids": ids}).context["trial"]
        assert (trial.found, trial.missing) == (found, missing)


@pytest.mark.slow
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


EU = {"field": "customer.region", "op": "ne", "value": "eu"}


def test_whom_exits_leave_out_is_named(staff: Client, acme: Workspace) -> None:
    stays, leaves = (
        CustomerFactory.create(workspace=acme, attributes={"plan": "pro", "region": region}) for region in ("eu", "us")
    )
    for steps, exits, found in (
        ([DAY], [{"event": "bought"}, {"if": EU}], {"enrolled": "1", "leaves at once": "1"}),
        ([DAY], [{"if": {**EU, "field": "customer.other"}}], {"leaves at once": "2"}),
        ([], [{"if": EU}], {"enrolled": "2"}),
    ):
        journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=exits)
        said = {"ids": f"{stays.external_id} {leaves.external_id}"}
        trial = staff.post(address(journey), said).context["trial"]
        assert numbers(trial) == found
        entering = [page_url(one) in str(trial.samples["rows"]) for one in (stays, leaves)]
        leaving = [page_url(one) in str(trial.left_out["rows"]) for one in (stays, leaves)]
        assert [not one for one in leaving] == entering
        confirmed = {**said, "token": trial.token, "number": "2", "send": "yes"}
        staff.post(address(journey), confirmed)
        let_workers_decide()
        let_workers_walk()
        exited = Enrollment.objects.filter(journey=journey, state="exited").count()
        assert str(exited) == found.get("leaves at once", "0")


def test_a_send_may_be_for_a_time(staff: Client, ada: Customer, journey: Journey) -> None:
    at = timezone.now().replace(second=0, microsecond=0) + timedelta(days=1)
    clock = {"local": f"{at:%Y-%m-%dT%H:%M}", "zone": "Europe/Berlin"}
    for when in ({"at": f"{at:%Y-%m-%dT%H:%M}"}, {"at": at.isoformat()}, clock):
        said = tried(staff, journey, ids=ada.external_id, **when)
        staff.post(address(journey), said)
    due = list(EnrollmentJob.objects.order_by("id").values_list("scheduled_for", flat=True))
    assert due == [at, at, at.replace(tzinfo=ZoneInfo("Europe/Berlin"))]
    notes = list(AuditEntry.objects.filter(object_kind="trigger").order_by("at").values_list("note", flat=True))
    assert [note.partition(", due ")[2] for note in notes] == [
        *[f"{at:%Y-%m-%d %H:%M} UTC."] * 2,
        f"{at:%Y-%m-%d %H:%M} by each customer's own clock.",
    ]
    let_workers_decide()
    assert not Enrollment.objects.exists()
    page = staff.post(address(journey), {"ids": ada.external_id, "at": at.isoformat()}).content.decode()
    assert f'value="{at:%Y-%m-%dT%H:%M}"' in page, "as the browser's script reads it"


def test_a_time_that_no_call_could_have_is_refused(staff: Client, ada: Customer, journey: Journey) -> None:
    late = f"{timezone.now() + timedelta(days=400):%Y-%m-%dT%H:%M}"
    for when, why in (
        ({"at": late}, "more than a year ahead"),
        ({"at": "soon"}, "This is no time."),
        ({"local": late}, "more than a year ahead"),
        ({"local": "soon"}, "must be a date and a time without an offset"),
        ({"local": late[:4] + "-01-01T09:00", "zone": "Moon"}, "must be an IANA time zone"),
        ({"local": late, "at": late}, "Give one time only."),
    ):
        assert why in refusals(staff.post(address(journey), {"ids": ada.external_id, **when})), when
    said = tried(staff, journey, ids=ada.external_id)
    soon = f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%M}"
    assert "has changed since it was tried" in refusals(staff.post(address(journey), {**said, "at": soon}))
    assert not Trigger.objects.exists()


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["orderId"],
    "properties": {
        "orderId": {"type": "string", "title": "Order", "examples": ["A-1042"]},
        "size": {"enum": ["S", "L"], "default": "S"},
        "seats": {"type": ["integer", "null"], "description": "How many."},
        "gift": {"type": "boolean"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "items": {"type": "array"},
        "anything": True,
    },
}


def test_a_payload_is_asked_for_by_its_schema(staff: Client, ada: Customer, journey: Journey) -> None:
    assert "data-form" not in staff.get(address(journey)).content.decode()
    Journey.objects.update(payload_schema=SCHEMA)
    field = staff.get(address(journey)).context["form"].fields["payload"]
    form = json.loads(field.widget.attrs["data-form"])
    assert [(one["name"], one["label"], one["type"]) for one in form["fields"]] == [
        ("orderId", "Order *", "plain"),
        ("gift", "gift", "pick"),
        ("size", "size", "pick"),
        ("items", "items", "any"),
        ("seats", "seats", "whole"),
        ("address", "address", "object"),
        ("anything", "anything", "any"),
    ]
    assert field.initial == {"size": "S"}
    assert "orderId" in refusals(staff.post(address(journey), {"ids": ada.external_id, "payload": '{"size": "S"}'}))
    said = tried(staff, journey, ids=ada.external_id, payload='{"orderId": "A", "more": [1]}')
    staff.post(address(journey), said)
    assert Trigger.objects.get().payload == {"orderId": "A", "more": [1]}


def test_only_those_send_who_may_trigger_and_see_customers(acme: Workspace, journey: Journey, ada: Customer) -> None:
    mays = {}
    for role in ("viewer", "support", "author", "admin"):
        client = member(role, acme=role)
        page = client.get(page_url(journey)).content.decode()
        mays[role] = (client.get(address(journey)).status_code, address(journey) in page)
    assert mays == {"viewer": (403, False), **dict.fromkeys(("support", "author", "admin"), (200, True))}

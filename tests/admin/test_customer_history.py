"""The timeline on a customer's page, and the list of all deliveries."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.admin.parts import timeline
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, InAppDelivery, Journey
from tests.admin.staff import member, staff_with
from tests.bridge.in_app.deliveries import deliver
from tests.support.factories import CustomerFactory
from tests.support.one_of_everything import populate
from tests.support.sent import webhook

SENT = "/admin/journeys/webhookdelivery/sent/"


def kinds_on(client: Client, customer: Customer, query: str = "") -> list[str]:
    told = client.get(page_url(customer) + query).context["history_told"]
    return [one.kind for one in told.told]


@pytest.mark.slow
def test_all_that_happened_is_told_in_one_list_by_kind_and_time(staff: Client, acme: Workspace) -> None:
    customer, other = populate(acme, rows=2)
    for one in (customer, other):
        deliver(one, shown_at=timezone.now())
    EnrollmentJob.objects.filter(customer=customer).update(
        status="decided", result="conditions_not_met", reason="Not pro.", details=['plan is "free", not "pro"']
    )
    page = staff.get(page_url(customer))
    told = page.context["history_told"].told
    assert [one.at for one in told] == sorted((one.at for one in told), reverse=True)
    kinds = {one.kind for one in told}
    assert {"refused", "event", "clicked", "sent", "seen"} <= kinds
    text = page.content.decode()
    assert "plan is &quot;free&quot;, not &quot;pro&quot;" in text
    for model in (EnrollmentJob, Event, Interaction, InAppDelivery):
        assert all(page_url(one) in text for one in model._default_manager.filter(customer=customer))
        assert not any(page_url(one) in text for one in model._default_manager.filter(customer=other))
    assert set(kinds_on(staff, customer, "?kind=event&kind=seen")) == {"event", "seen"}
    later = (timezone.now() + timedelta(hours=1)).isoformat().replace("+", "%2B")
    assert kinds_on(staff, customer, f"?since={later}") == []
    assert len(kinds_on(staff, customer, f"?before={later}")) == len(told)


def test_it_goes_on_page_by_page_with_as_many_queries(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    now = timezone.now()

    def happened(number: int) -> None:
        at = now - timedelta(minutes=number)
        Event.objects.create(workspace=acme, customer=customer, source="api", name=f"e{number}", occurred_at=at)

    happened(0)
    staff.get(page_url(customer))  # what is asked once for each session or process
    with CaptureQueriesContext(connection) as few:
        staff.get(page_url(customer))
    for number in range(1, timeline.SHOWN + 5):
        happened(number)
    with CaptureQueriesContext(connection) as many:
        page = staff.get(page_url(customer))
    assert len(many) == len(few)
    (older,) = re.findall(r'href="(\?[^"]*)#history">Older', page.content.decode())
    rest = staff.get(page_url(customer) + older.replace("&amp;", "&")).context["history_told"].told
    assert [str(one.what).partition(" ")[0] for one in rest] == [f"e{number}" for number in range(50, 55)]


def test_staff_see_of_it_what_they_may_view(acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    assert staff_with("view_customer").get(page_url(customer)).context["history_told"] is None
    assert set(kinds_on(staff_with("view_customer", "view_event"), customer)) == {"event"}


def test_every_delivery_is_listed_by_what_is_asked_for(
    staff: Client, acme: Workspace, rival: Workspace, journey: Journey
) -> None:
    customer, other = populate(acme, rows=2)
    (foreign,) = populate(rival, rows=1)
    mine, theirs, far = (deliver(one, journey_id=journey.pk) for one in (customer, other, foreign))
    other_journey = Enrollment.objects.get(customer=customer).journey
    sent = webhook(customer, other_journey, minutes=1, step="told")
    address = {one.pk: page_url(one) for one in (mine, theirs, far)}
    of_webhook = page_url(Enrollment(pk=sent.enrollment_id))

    def listed(query: str) -> str:
        return staff.get(SENT + query).content.decode()

    everything = listed("")
    assert all(one in everything for one in (*address.values(), of_webhook))
    for query, shown, hidden in (
        (f"?customer={customer.external_id}", [address[mine.pk], of_webhook], [address[theirs.pk], address[far.pk]]),
        (f"?journey={journey.pk}", [address[mine.pk]], [of_webhook]),
        (f"?step=told&customer={customer.pk}", [of_webhook], [address[mine.pk]]),
        ("?state=due", [address[mine.pk], address[theirs.pk]], [of_webhook]),
        ("?customer=nobody-at-all", [], list(address.values())),
    ):
        page = listed(query)
        assert [one for one in shown if one not in page] == []
        assert [one for one in hidden if one in page] == []
    own = member("sue", acme="support").get(SENT).content.decode()
    assert address[mine.pk] in own
    assert address[far.pk] not in own
    assert member("vic", acme="viewer").get(SENT).status_code == 403


def test_moves_to_later_revisions_are_told(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    now = timezone.now()
    moves = [
        {"at": (now + timedelta(minutes=number)).isoformat(), "from": number, "to": number + 1, "stepsBegun": 0}
        for number in (1, 2)
    ]
    Enrollment.objects.filter(customer=customer).update(moves=moves)
    told = staff.get(f"{page_url(customer)}?kind=moved").context["history_told"].told
    assert [strip_tags(one.what).rpartition("moved")[2] for one in told] == [" to revision 3", " to revision 2"]
    before = (now + timedelta(minutes=2)).isoformat().replace("+", "%2B")
    assert kinds_on(staff, customer, f"?kind=moved&before={before}") == ["moved"]

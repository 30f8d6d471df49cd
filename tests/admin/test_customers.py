"""Customers are looked at in the admin, and erased there."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bridge.models import Interaction
from customers.models import Customer, Event, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.database.statement_limit import large_work
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Trigger
from tests.admin.records import cells, list_of
from tests.admin.staff import staff_with
from tests.support.audit import told, written
from tests.support.factories import CustomerFactory, SegmentFactory
from tests.support.one_of_everything import populate


def erase(client: Client, customer: Customer) -> int:
    """Confirms the page that asks; its status."""
    return client.post(page_url(customer).replace("/change/", "/delete/"), {"post": "yes"}).status_code


def test_the_page_of_a_customer_shows_all_that_hangs_on_them(staff: Client, acme: Workspace) -> None:
    customer, other = populate(acme, rows=2)
    page = staff.get(page_url(customer)).content.decode()
    for model in (EnrollmentJob, Enrollment, Event, Interaction):
        assert page_url(model._default_manager.get(customer=customer)) in page
        assert page_url(model._default_manager.get(customer=other)) not in page
    assert page_url(SegmentMembership.objects.get(customer=customer).segment) in page


def test_the_page_of_a_customer_shows_nothing_that_its_user_may_not_see(acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    page = staff_with("view_customer").get(page_url(customer)).content.decode()
    assert str(customer.external_id) in page
    for model in (EnrollmentJob, Enrollment, Event, Interaction):
        assert page_url(model._default_manager.get()) not in page


def test_a_customer_is_shown_with_all_that_they_are_known_by(staff: Client, acme: Workspace) -> None:
    known = {"external_id": "shop-1", "email": "ada@example.com", "phone": "+49301234567", "user_id": "u-1"}
    customer = CustomerFactory.create(workspace=acme, **known)
    listed, page = (staff.get(url).content.decode() for url in (list_of(Customer), page_url(customer)))
    for name, value in known.items():
        assert cells(listed, name) == [value]
        assert f">{value}</" in page


def test_a_panel_shows_the_latest_records_and_leads_to_all_of_them(staff: Client, acme: Workspace) -> None:
    customer, other = CustomerFactory.create_batch(2, workspace=acme)
    segments = SegmentFactory.create_batch(20, workspace=acme)
    members = [SegmentMembership.objects.create(workspace=acme, customer=customer, segment=one) for one in segments]
    SegmentMembership.objects.create(workspace=acme, customer=other, segment=segments[0])
    panel = staff.get(page_url(customer)).context["panels"][-1]
    assert panel.is_complete
    last = SegmentFactory.create(workspace=acme)
    members.append(SegmentMembership.objects.create(workspace=acme, customer=customer, segment=last))
    with CaptureQueriesContext(connection) as queries:
        panel = staff.get(page_url(customer)).context["panels"][-1]
    assert len(panel.rows) == 20
    assert not panel.is_complete
    # The workspace leads the index.
    asked = [query["sql"] for query in queries if 'FROM "customers_segmentmembership"' in query["sql"]]
    assert any(f""""workspace_id" = '{acme.pk}'""" in one and one.endswith("LIMIT 21") for one in asked)
    assert panel.more == f"{list_of(SegmentMembership)}?customer__id__exact={customer.pk}"
    assert set(staff.get(panel.more).context["cl"].result_list) == set(members)


def test_an_event_that_was_reported_by_api_is_shown_so(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    Event.objects.update(source="api")
    event = Event.objects.get()
    assert cells(staff.get(list_of(Event)).content.decode(), "source") == ["API"]
    for url in (page_url(event), page_url(customer)):
        page = staff.get(url).content.decode()
        assert re.search(r">\s*API\s*<", page)
        assert not re.search(r">\s*Api\s*<", page)


def test_what_customers_send_is_text_and_nothing_else(staff: Client, acme: Workspace) -> None:
    script, text = "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"
    (customer,) = populate(acme, rows=1)
    Customer.objects.update(external_id=script, attributes={"name": f"Zoë {script}"})
    Event.objects.update(name=script, properties={"name": script})
    Interaction.objects.update(message_id=script, form_data={"name": script})
    for url in (
        page_url(customer),
        page_url(Event.objects.get()),
        page_url(Interaction.objects.get()),
        page_url(Trigger.objects.get()),
        list_of(EnrollmentJob),
    ):
        page = staff.get(url).content.decode()
        assert text in page
        assert script not in page
    page = staff.get(page_url(customer)).content.decode()
    assert f'<pre class="engage-json">{{\n  &quot;name&quot;: &quot;Zoë {text}&quot;\n}}</pre>' in page


def test_customers_are_erased_one_by_one(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    staff.post(
        list_of(Customer), {"action": "delete_selected", "_selected_action": customer.pk, "post": "yes", "index": "0"}
    )
    assert list(Customer.objects.all()) == [customer]


def test_an_erased_customer_leaves_nothing_personal(staff: Client, acme: Workspace) -> None:
    customer, other = populate(acme, rows=2)
    page = staff.get(page_url(customer).replace("/change/", "/delete/")).content.decode()
    assert "erases the person" in page
    assert "All of the following" not in page  # Django knows only what it deletes itself
    assert erase(staff, customer) == 302
    assert list(Customer.objects.all()) == [other]
    for model in (Enrollment, Event, Interaction, SegmentMembership):
        assert list(model._default_manager.values_list("customer", flat=True)) == [other.pk]
    assert EnrollmentJob.objects.count() == 2


def test_who_has_very_much_is_erased_while_nobody_else_is(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.personal._MOST_AT_ONCE", 0)
    customer = CustomerFactory.create(workspace=acme)
    with large_work():
        answer = staff.post(page_url(customer).replace("/change/", "/delete/"), {"post": "yes"}, follow=True)
    assert "Other work on very many customers or records is going on." in answer.content.decode()
    assert Customer.objects.exists()
    assert erase(staff, customer) == 302
    assert not Customer.objects.exists()


def test_who_erased_a_customer_comes_back_to_the_list_and_is_told_the_id(staff: Client, acme: Workspace) -> None:
    for client in (staff, staff_with("view_customer", "delete_customer")):
        customer = CustomerFactory.create(workspace=acme, external_id="lovelace")
        deleting = page_url(customer).replace("/change/", "/delete/")
        answer = client.post(f"{deleting}?_changelist_filters=p%3D1", {"post": "yes"}, follow=True)
        assert answer.redirect_chain == [(f"{list_of(Customer)}?p=1", 302)]
        page = answer.content.decode()
        assert f"The customer {customer.pk} was erased." in page
        assert "deleted" not in page
        assert "lovelace" not in page


def test_the_log_of_an_erasure_names_only_the_id(onlooker: Client, staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme, external_id="lovelace", email="lovelace@example.com")
    erased = customer.pk
    erase(staff, customer)
    assert told("customer") == [("root", erased, "Erased.")]
    assert "lovelace" not in written()

"""Customers are looked at in the admin, and erased there; they are changed through the API."""

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from bridge.models import Interaction
from customers.models import Customer, Event, SegmentMembership
from engage.admin.columns import page_url
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.admin.records import populate
from tests.factories import CustomerFactory


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
    user = User.objects.create_user("support", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_customer"))
    client = Client()
    client.force_login(user)
    page = client.get(page_url(customer)).content.decode()
    assert str(customer.external_id) in page
    for model in (EnrollmentJob, Enrollment, Event, Interaction):
        assert page_url(model._default_manager.get()) not in page


def test_a_customer_cannot_be_made_or_changed_by_hand(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    assert staff.post("/admin/customers/customer/add/", {"external_id": "new"}).status_code == 403
    assert staff.post(page_url(customer), {"external_id": "new"}).status_code == 403
    assert list(Customer.objects.values_list("external_id", flat=True)) == [customer.external_id]


def test_an_erased_customer_leaves_nothing_personal(staff: Client, acme: Workspace) -> None:
    customer, other = populate(acme, rows=2)
    assert "erases the person" in staff.get(page_url(customer).replace("/change/", "/delete/")).content.decode()
    assert erase(staff, customer) == 302
    assert list(Customer.objects.all()) == [other]
    for model in (Enrollment, Event, Interaction, SegmentMembership):
        assert list(model._default_manager.values_list("customer", flat=True)) == [other.pk]
    assert EnrollmentJob.objects.count() == 2


def test_the_log_of_an_erasure_names_only_the_id(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme, external_id="lovelace", email="lovelace@example.com")
    erased = customer.pk
    erase(staff, customer)
    (entry,) = LogEntry.objects.all()
    assert (entry.object_id, entry.object_repr, entry.is_deletion()) == (erased, erased, True)
    assert "lovelace" not in repr(list(LogEntry.objects.values()))


def test_who_may_not_delete_customers_erases_none(onlooker: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    assert erase(onlooker, customer) == 403
    assert Customer.objects.filter(pk=customer.pk).exists()

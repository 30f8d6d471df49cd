"""Customers are added, edited, put into segments and exported by hand."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from customers.models import Customer, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.models import AuditEntry, Workspace
from tests.admin.staff import member, staff_with
from tests.support.audit import written
from tests.support.factories import CustomerFactory, SegmentFactory
from tests.support.one_of_everything import populate

NEW = "/admin/customers/customer/new/"


def at(customer: Customer, name: str) -> str:
    return reverse(f"admin:customers_customer_{name}", args=[customer.pk])


def sent(client: Client, address: str, **fields: Any) -> str:
    """What the page says after the form was sent, or what its form refuses."""
    answer = client.post(address, {"attributes": "", **fields}, follow=True)
    form = answer.context.get("form")
    refused = [error for errors in form.errors.values() for error in errors] if form else []
    return " ".join([*map(str, answer.context["messages"]), *refused])


def test_a_customer_is_added_once_and_edited_as_by_a_call(staff: Client, acme: Workspace) -> None:
    known = {"external_id": "ada", "email": "ada@example.com"}
    told = sent(staff, NEW, workspace=acme.pk, **known, attributes='{"name": "Ada", "plan": "pro"}')
    assert told == "Added by hand: external_id, email, name, plan."
    customer = Customer.objects.get()
    assert (customer.external_id, customer.email, customer.name) == ("ada", "ada@example.com", "Ada")
    assert "There is a customer with this already" in sent(staff, NEW, workspace=acme.pk, external_id="ada")
    told = sent(staff, at(customer, "edit"), external_id="ada", phone="+4930123456", attributes='{"name": "Ada"}')
    assert told == "Changed by hand: email, phone, plan."
    customer.refresh_from_db()
    assert (customer.email, customer.phone, customer.attributes) == (None, "+4930123456", {"name": "Ada"})
    # Names alone: the audit outlives the person.
    notes = AuditEntry.objects.filter(object_kind="customer").order_by("at").values_list("action", "note")
    assert list(notes) == [
        ("created", "Added by hand: external_id, email, name, plan."),
        ("changed", "Changed by hand: email, phone, plan."),
    ]


def test_what_changes_nothing_leaves_no_entry(staff: Client, acme: Workspace) -> None:
    customer, segment = CustomerFactory.create(workspace=acme), SegmentFactory.create(workspace=acme)
    fields = {"external_id": customer.external_id, "attributes": json.dumps(customer.attributes)}
    assert sent(staff, at(customer, "edit"), **fields) == "Nothing was changed."
    for act, repeated in (("put_in", "They are in the segment"), ("take_out", "They were not put into")):
        staff.post(at(customer, act), {"segment": segment.pk})
        assert repeated in sent(staff, at(customer, act), segment=segment.pk)
    assert AuditEntry.objects.filter(object_kind="customer").count() == 2


def test_the_audit_names_nobody_by_what_outlives_them(staff: Client, acme: Workspace) -> None:
    """Whatever is done to a customer by hand."""
    segment = SegmentFactory.create(workspace=acme)
    sent(staff, NEW, workspace=acme.pk, external_id="ada-0815", attributes='{"name": "Ada Lovelace"}')
    customer = Customer.objects.get()
    sent(staff, at(customer, "edit"), external_id="ada-0815", attributes='{"name": "Ada King"}')
    for act in ("put_in", "take_out"):
        staff.post(at(customer, act), {"segment": segment.pk})
    assert b"".join(staff.post(at(customer, "export")).streaming_content)  # type: ignore[attr-defined]
    staff.post(at(customer, "delete"), {"post": "yes"})
    entries = AuditEntry.objects.filter(object_kind="customer", object_id=customer.pk)
    assert entries.count() == 6
    assert not [word for word in ("Ada", "ada-0815") if word in written()]


def test_what_a_call_would_refuse_is_refused_and_nothing_written(staff: Client, acme: Workspace) -> None:
    customer, other = CustomerFactory.create_batch(2, workspace=acme)
    for fields, says in (
        ({"external_id": other.external_id}, "belong to different customers"),
        ({"external_id": ""}, "no identifier"),
        ({"external_id": customer.external_id, "attributes": "[1]"}, "must be an object"),
        ({"external_id": customer.external_id, "attributes": '{"$x": 1}'}, "starts with $"),
    ):
        before = Customer.objects.values_list("external_id", "attributes", "updated_at").get(pk=customer.pk)
        assert says in sent(staff, at(customer, "edit"), **fields)
        assert Customer.objects.values_list("external_id", "attributes", "updated_at").get(pk=customer.pk) == before


def test_a_customer_is_put_into_a_segment_and_taken_out(staff: Client, acme: Workspace, rival: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    segment, foreign = SegmentFactory.create(workspace=acme), SegmentFactory.create(workspace=rival)
    assert str(segment) in staff.get(page_url(customer)).content.decode()
    assert "Put into" in sent(staff, at(customer, "put_in"), segment=segment.pk)
    assert SegmentMembership.objects.get().customer == customer
    assert "Taken out" in sent(staff, at(customer, "take_out"), segment=segment.pk)
    assert "Choose a segment" in sent(staff, at(customer, "put_in"), segment=foreign.pk)
    assert not SegmentMembership.objects.exists()


def test_an_export_has_all_and_is_noted(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    answer = staff.post(at(customer, "export"))
    assert answer["Content-Disposition"] == f'attachment; filename="customer-{customer.pk}.json"'
    told = json.loads(b"".join(answer))
    assert told["customerId"] == customer.pk
    assert {"customer", "events", "jobs", "enrollments", "interactions"} <= told["records"].keys()
    assert told["records"]["customer"][0]["id"] == customer.pk
    assert AuditEntry.objects.get(object_id=customer.pk, action="exported").actor_name == "root"


def test_an_erasure_tells_its_receipt(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    told = sent(staff, at(customer, "delete"), post="yes")
    receipt = AuditEntry.objects.get(action="erased")
    assert f"The customer {customer.pk} was erased. Its receipt is" in told
    assert page_url(receipt) in told


@pytest.mark.slow
def test_each_is_for_those_who_may(acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    support = member("sue", acme="support")  # who sees all, and so may take it along
    for who, mays in ((staff_with("view_customer"), set()), (support, {"export"})):
        for name in {"edit", "export", "put_in", "take_out"} - mays:
            assert who.post(at(customer, name), {}).status_code == 403
        assert who.post(NEW, {}).status_code == 403
        page = who.get(page_url(customer)).content.decode()
        shown = {name for name in ("edit", "export", "put_in", "delete") if at(customer, name) in page}
        assert shown == mays
    chief = member("eve", acme="admin")
    assert all(at(customer, name) in chief.get(page_url(customer)).content.decode() for name in ("edit", "delete"))


def test_a_customer_is_made_on_its_own_page_alone(staff: Client, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    assert staff.post("/admin/customers/customer/add/", {"external_id": "new"}).status_code == 403
    assert staff.post(page_url(customer), {"external_id": "new"}).status_code == 403
    assert list(Customer.objects.values_list("external_id", flat=True)) == [customer.external_id]

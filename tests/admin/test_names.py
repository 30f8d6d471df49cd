"""Names come first: customers are called by theirs, and found by parts of names and e-mail addresses."""

import re
from typing import Any

from django.db import connection
from django.test import Client

from customers.models import Customer, SegmentMembership
from engage.admin.parts.columns import page_url
from engage.models import Membership, Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.admin.records import cells, list_of
from tests.admin.staff import member, staff_with
from tests.support.cases import each
from tests.support.factories import CustomerFactory, crowd
from tests.support.one_of_everything import populate
from tests.support.plans import note_statistics


def named(workspace: Workspace, **attributes: Any) -> Customer:
    customer = CustomerFactory.create(workspace=workspace, attributes=attributes)
    customer.refresh_from_db()
    return customer


def finds_parts() -> bool:
    """Where PostgreSQL has pg_trgm; otherwise names are found by how they begin."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('customer_by_part') IS NOT NULL")
        return bool(cursor.fetchone()[0])


@each(
    "attributes, name",
    [
        ({"name": " Ada Lovelace "}, "Ada Lovelace"),
        ({"firstName": "Ada", "lastName": "Lovelace"}, "Ada Lovelace"),
        ({"first_name": "Ada", "plan": "pro"}, "Ada"),
        ({"name": "", "full_name": "Ada L."}, "Ada L."),
        ({"name": {"first": "Ada"}}, None),
        ({"name": "A" * 300}, "A" * 200),
        ({"plan": "pro"}, None),
        ({}, None),
    ],
)
def test_a_customer_has_the_name_that_their_attributes_say(
    acme: Workspace, attributes: dict[str, Any], name: str | None
) -> None:
    assert named(acme, **attributes).name == name


def test_a_name_follows_the_attributes_and_messages_do_not_change_it(acme: Workspace) -> None:
    ada = named(acme, name="Ada")
    for attributes, claimed, name in (
        ({"name": "Countess"}, [], "Countess"),
        ({"name": "Mallory"}, ["name"], None),
        ({"name": "Ada", "firstName": "Eve"}, ["firstName"], "Ada"),
        ({"plan": "pro"}, [], None),
    ):
        Customer.objects.filter(pk=ada.pk).update(attributes=attributes, claimed_attributes=claimed)
        ada.refresh_from_db()
        assert ada.name == name


def test_customers_are_called_by_name_then_e_mail_then_external_id(acme: Workspace) -> None:
    bare = CustomerFactory.create(workspace=acme, external_id="c-1")
    known = CustomerFactory.create(workspace=acme, external_id="c-2", email="bob@example.com")
    ada = named(acme, name="Ada")
    assert [str(one) for one in (bare, known, ada)] == ["c-1", "bob@example.com", "Ada"]


def test_lists_begin_with_names_and_end_with_ids(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    Customer.objects.update(attributes={"name": "Ada Lovelace"})
    for model in (Enrollment, EnrollmentJob):
        page = staff.get(list_of(model)).content.decode()
        record = model._default_manager.get()
        assert cells(page, "customer") == ["Ada Lovelace"]
        assert page.index("Ada Lovelace") < page.index(f'href="{page_url(record)}')
        assert "Ada Lovelace in Welcome" in staff.get(page_url(record)).content.decode()
    assert page_url(customer) in staff.get(list_of(Customer)).content.decode()


def found(client: Client, text: str) -> list[str]:
    """The names of the customers that the list shows."""
    shown = client.get(list_of(Customer), {"q": text}).context["cl"].result_list
    return sorted(str(one) for one in shown)


def test_customers_are_found_by_parts_of_names_and_addresses(staff: Client, acme: Workspace, rival: Workspace) -> None:
    named(acme, name="Ada Lovelace")
    named(rival, name="Adam 100%")
    CustomerFactory.create(workspace=acme, email="grace.hopper@navy.example")
    assert found(staff, "ADA") == ["Ada Lovelace", "Adam 100%"]
    assert found(staff, "ada l") == ["Ada Lovelace"]
    assert found(staff, "Grace.H") == ["grace.hopper@navy.example"]
    assert found(staff, "ad%m") == []
    assert found(staff, "adam 100%") == ["Adam 100%"]
    for text, there in (("lovel", ["Ada Lovelace"]), ("HOPPER", ["grace.hopper@navy.example"])):
        assert found(staff, text) == (there if finds_parts() else [])


def test_who_may_not_view_customers_finds_nothing_by_parts(acme: Workspace) -> None:
    populate(acme, rows=1)
    Customer.objects.update(attributes={"name": "Ada Lovelace"})
    client = staff_with("view_enrollment")
    assert list(client.get(list_of(Enrollment), {"q": "ada"}).context["cl"].result_list) == []
    with_customers = staff_with("view_enrollment", "view_customer")
    assert len(with_customers.get(list_of(Enrollment), {"q": "ada"}).context["cl"].result_list) == 1


def test_a_member_finds_nobody_of_another_workspace(acme: Workspace, rival: Workspace) -> None:
    named(acme, name="Ada Lovelace")
    named(rival, name="Adam")
    assert found(member("support", acme="support"), "ada") == ["Ada Lovelace"]


def test_the_box_for_any_record_shows_who_is_meant_exactly_first(staff: Client, acme: Workspace) -> None:
    exact = CustomerFactory.create(workspace=acme, external_id="ada")
    for number in range(6):
        named(acme, name=f"Adam {number}")
    results = staff.get("/admin/search/", {"extended": "1", "s": "ada"}).context["results"]
    assert results[0].link == page_url(exact)
    assert [one.title[:4] for one in results][1:5] == ["Adam"] * 4


def test_parts_are_looked_up_in_an_index(acme: Workspace) -> None:
    crowd(acme, 5_000)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE customers_customer SET name = md5(id), email = md5(id) || '@navy.example'")
        note_statistics("customers_customer")
        cursor.execute(
            "EXPLAIN SELECT id FROM customers_customer WHERE lower(name) LIKE 'ada%' OR lower(email) LIKE 'ada%'"
        )
        plan = " ".join(row[0] for row in cursor.fetchall())
    expected = ["customer_by_part"] if finds_parts() else ["customer_by_name", "customer_by_address"]
    assert [name in plan for name in expected] == [True] * len(expected), plan


def test_every_page_of_a_record_calls_it_by_the_names_of_what_it_refers_to(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=1)
    member("grace", acme="viewer")
    for record, name in (
        (Membership.objects.get(user__username="grace"), "grace in Acme"),
        (SegmentMembership.objects.get(), "Ada in VIP"),
    ):
        Customer.objects.update(name="Ada")
        for page in ("change", "history", "delete"):
            answer = staff.get(page_url(record).replace("/change/", f"/{page}/"))
            assert answer.status_code == 403 or re.search(rf">\s*{name}\s*<", answer.content.decode()), page

"""Attributes are merged key by key, whoever else writes."""

from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from customers.profile import ProfileChange, check_claim, claim_attributes, merge_attributes
from engage.errors import InvalidRequest
from engage.models import Workspace
from tests.support.calls import customers_path, data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, crowd
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.ada(email="ada@example.com", attributes={"plan": "free", "address": {"city": "Berlin"}})


def attributes_of(customer: Customer) -> Any:
    return Customer.objects.get(id=customer.id).attributes


def test_attributes_are_merged_key_by_key_in_one_statement(
    ada: Customer, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        written = claim_attributes(customer=ada, attributes={"plan": "pro", "address": {"zip": 1}, "tags": ["a", None]})
    assert written == ["plan", "address", "tags"]
    assert attributes_of(ada) == {"plan": "pro", "address": {"zip": 1}, "tags": ["a", None]}


def test_none_deletes_an_attribute_and_nothing_inside_of_one(ada: Customer) -> None:
    assert claim_attributes(customer=ada, attributes={"plan": None, "address": {"city": None}, "no": None}) == [
        "plan",
        "address",
        "no",
    ]
    assert attributes_of(ada) == {"address": {"city": None}}


@pytest.mark.django_db(transaction=True)
def test_writing_notes_when_and_touches_no_identifier(ada: Customer) -> None:
    ada.refresh_from_db()
    claim_attributes(customer=ada, attributes={"email": "eve@example.com", "id": "x", "external_id": None})
    stored = Customer.objects.get(id=ada.id)
    assert (stored.email, stored.external_id) == ("ada@example.com", ada.external_id)
    assert stored.attributes["email"] == "eve@example.com"
    assert stored.updated_at > ada.updated_at


def test_without_attributes_nothing_is_asked(ada: Customer, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        assert claim_attributes(customer=ada, attributes={}) == []


def test_a_change_by_a_journey_dates_the_profile_too(ada: Customer) -> None:
    merge_attributes([ProfileChange(workspace_id=ada.workspace_id, customer_id=ada.id, attributes={"plan": "pro"})])
    stored = Customer.objects.get(id=ada.id)
    assert stored.attributes["plan"] == "pro"
    assert stored.updated_at > ada.updated_at


def test_only_the_one_customer_is_written(ada: Customer, rival: Workspace) -> None:
    theirs = CustomerFactory.create(workspace=rival, external_id=ada.external_id, email=ada.email)
    ours = CustomerFactory.create(workspace=ada.workspace)
    claim_attributes(customer=ada, attributes={"plan": "pro"})
    assert (attributes_of(theirs), attributes_of(ours)) == ({}, {})


@each("name", ["", "$set", "$", "__proto__", "constructor", "prototype", "x" * 256])
def test_a_name_that_no_attribute_may_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_claim({"plan": "pro", name: 1}, field="formData")
    assert refused.value.message.startswith(f"The attribute name {name[:80]!r} in formData ")


@each("name", ["x" * 255, "email", "a$b", " ", "Größe", "customer.plan", "toString"])
def test_any_other_name_may_be_an_attribute_s(ada: Customer, name: str) -> None:
    claim_attributes(customer=ada, attributes={name: 1})
    assert attributes_of(ada)[name] == 1


@pytest.mark.django_db(transaction=True)
def test_what_messages_write_to_one_profile_stays_within_16_kib(ada: Customer) -> None:
    claim_attributes(customer=ada, attributes={"text-0": "x" * 8_000, "text-1": "x" * 8_000})
    with pytest.raises(InvalidRequest) as refused, transaction.atomic():
        claim_attributes(customer=ada, attributes={"last": "x" * 500})
    assert refused.value.message == "In-app messages cannot write as much as this about one customer."
    assert "last" not in attributes_of(ada)
    claim_attributes(customer=ada, attributes={"text-0": None, "last": "x" * 8_000})
    assert "last" in attributes_of(ada)
    assert sorted(Customer.objects.get(id=ada.id).claimed_attributes) == ["last", "text-1"]


def test_what_a_journey_writes_is_no_claim_any_more(ada: Customer) -> None:
    claim_attributes(customer=ada, attributes={"plan": "free", "colour": "red"})
    merge_attributes([ProfileChange(workspace_id=ada.workspace_id, customer_id=ada.id, attributes={"plan": "pro"})])
    assert Customer.objects.get(id=ada.id).claimed_attributes == ["colour"]


@pytest.mark.django_db(transaction=True)
def test_two_who_write_different_attributes_at_once_both_survive(ada: Customer) -> None:
    def write(number: int) -> list[str]:
        with transaction.atomic():
            return claim_attributes(customer=ada, attributes={f"attribute-{number}": number})

    all_at_once([partial(write, number) for number in range(16)])
    assert attributes_of(ada) == ada.attributes | {f"attribute-{number}": number for number in range(16)}


def test_what_is_written_to_profiles_leaves_their_indexes_alone(server: ServerClient, acme: Workspace) -> None:
    """Pages have room: else a new version goes elsewhere, with an entry in every index."""
    names = crowd(acme, 400)[::20]
    numbers = """
    SELECT pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)
    FROM pg_class WHERE oid = 'customers_customer'::regclass
    """
    with connection.cursor() as cursor:
        cursor.execute(numbers)  # of the transactions before, as far as they were not reported yet
        before = cursor.fetchone()
        for name in names:
            data(server.put(customers_path(acme), {"external_id": name, "attributes": {"plan": "pro"}}), status=200)
        cursor.execute(numbers)
        updated, hot = (now - then for now, then in zip(cursor.fetchone(), before, strict=True))
    assert updated == len(names)
    assert hot >= 0.9 * updated

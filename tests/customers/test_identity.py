"""By what customers are found, and how one person becomes one customer."""

from collections import ChainMap
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries

from customers.identity.identifiers import (
    Identifiers,
    Resolution,
    best_match_query,
    find_or_create_customer,
    identifiers,
)
from customers.models import Customer
from engage.errors import InvalidRequest
from engage.models import Workspace
from tests.support.cases import each
from tests.support.factories import CustomerFactory
from tests.support.plans import note_statistics
from tests.support.simultaneous import PATIENCE_SECONDS, all_at_once, made_to_wait

NOBODY = "f" * 24


@pytest.fixture
def people(acme: Workspace) -> dict[str, Customer]:
    """One customer per identifier, each named after the identifier that they alone are known by."""
    known_by = {
        "user_id": {"user_id": "u-1"},
        "external_id": {"external_id": "x-1"},
        "email": {"email": "ada@example.com"},
        "phone": {"phone": "+4915112345678"},
    }
    blank = {"external_id": None}
    return {name: CustomerFactory.create(workspace=acme, **{**blank, **fields}) for name, fields in known_by.items()}


# The stored form -----------------------------------------------------------------------------------------------------


@each(
    "sent, stored",
    [
        ({"user_id": "u-1", "external_id": "X 1"}, {"user_id": "u-1", "external_id": "X 1"}),
        ({"user_id": " ", "external_id": "", "email": "\t", "phone": " "}, {}),
        ({"email": "  Ada@Example.COM\n"}, {"email": "ada@example.com"}),
        ({"phone": " +49 (151) 123-456 78 "}, {"phone": "+4915112345678"}),
        ({"phone": " 0151 12345678 "}, {"phone": "0151 12345678"}),
        ({"phone": "(+49) 151/12345-678"}, {"phone": "+4915112345678"}),
        ({"phone": "+49.151.12345678"}, {"phone": "+4915112345678"}),
        ({"phone": "tel:+4915112345678"}, {"phone": "+4915112345678"}),
        ({"phone": "Tel: +49 [151] 12345678"}, {"phone": "+4915112345678"}),
        ({"phone": "\u202a+49 151 12345678\u202c"}, {"phone": "+4915112345678"}),
        ({"phone": "\uff0b49 151\uff0f1234\u22125678\u200b"}, {"phone": "+4915112345678"}),
        ({"phone": "+49 151 1234 5678 ext. 7"}, {"phone": "+49 151 1234 5678 ext. 7"}),
        ({"phone": "+4915112345678x7"}, {"phone": "+4915112345678x7"}),
        ({"phone": "+4915112345678,,7"}, {"phone": "+4915112345678,,7"}),
        ({"phone": "+4915112345678#7"}, {"phone": "+4915112345678#7"}),
        ({"phone": "not +4915112345678"}, {"phone": "not +4915112345678"}),
        ({"phone": "+49 00 170 1234567"}, {"phone": "+49 00 170 1234567"}),
        ({"phone": "+44 (0)0 20 7946 0000"}, {"phone": "+44 (0)0 20 7946 0000"}),
        ({"phone": "+49 0170 1234567"}, {"phone": "+491701234567"}),
        ({"phone": "+1 (415) CALL-ADA"}, {"phone": "+1 (415) CALL-ADA"}),
        ({"external_id": "x" * 255}, {"external_id": "x" * 255}),
    ],
)
def test_identifiers_are_brought_into_their_stored_form(sent: dict[str, str], stored: dict[str, str]) -> None:
    assert identifiers(**sent).present() == stored


@each(
    "sent, message",
    [
        ({"user_id": "x" * 256}, "userId must be at most 255 characters long, not 256."),
        ({"external_id": "x" * 256}, "external_id must be at most 255 characters long, not 256."),
        ({"phone": "1" * 65}, "phone must be at most 64 characters long, not 65."),
        ({"email": " " * 250 + "a@b.example"}, "email must be at most 254 characters long, not 261."),
        # Some letters have no composed form.
        ({"external_id": "\u0958" * 200}, "external_id must be at most 255 characters long, not 400."),
        ({"email": "ada"}, "email must be an e-mail address."),
        ({"email": "kelvin\u212a@example.com"}, "email must be an e-mail address."),
        ({"email": "\u017fam@example.com"}, "email must be an e-mail address."),
        ({"email": "a" * 400 + "@example.com"}, "email must be at most 254 characters long, not 412."),
        ({"email": "a@" + "\u00fc\u00e4.z" * 60 + ".example"}, "email must be an e-mail address."),
    ],
)
def test_an_identifier_that_cannot_be_stored_is_refused(sent: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        identifiers(**sent)
    assert refused.value.message == message


# Finding -------------------------------------------------------------------------------------------------------------


def meant_by(workspace: Workspace, known_by: Identifiers) -> Customer | None:
    query = best_match_query(workspace_id=workspace.id, known_by=known_by)
    return next(iter(Customer.objects.raw(query.sql, query.params)), None)


@each(
    "sent, found",
    [
        ({"user_id": "u-1"}, "user_id"),
        ({"external_id": "x-1"}, "external_id"),
        ({"email": "ada@example.com"}, "email"),
        ({"phone": "+4915112345678"}, "phone"),
        ({"user_id": "u-1", "external_id": "x-1", "email": "ada@example.com", "phone": "+4915112345678"}, "user_id"),
        ({"external_id": "x-1", "email": "ada@example.com", "phone": "+4915112345678"}, "external_id"),
        ({"email": "ada@example.com", "phone": "+4915112345678"}, "email"),
        ({"user_id": "?", "external_id": "?", "email": "ada@example.com", "phone": "+4915112345678"}, "email"),
        ({"user_id": NOBODY, "external_id": "?", "email": "?@example.com", "phone": "+4915112345678"}, "phone"),
        ({"user_id": "x-1", "external_id": "u-1", "email": "?", "phone": "?"}, None),
    ],
)
def test_the_first_identifier_that_matches_somebody_wins(
    people: dict[str, Customer], acme: Workspace, sent: dict[str, str], found: str | None
) -> None:
    customer = meant_by(acme, Identifiers(**sent))
    assert customer == (people[found] if found else None)


def test_a_user_id_is_compared_with_the_stored_user_ids_alone(people: dict[str, Customer], acme: Workspace) -> None:
    known_by = Identifiers(user_id=people["phone"].id, external_id="x-1")
    assert meant_by(acme, known_by) == people["external_id"]
    namesake = CustomerFactory.create(workspace=acme, user_id=people["phone"].id)
    assert meant_by(acme, known_by) == namesake


def test_a_customer_of_another_workspace_is_never_found(people: dict[str, Customer], rival: Workspace) -> None:
    everything = {"external_id": "x-1", "email": "ada@example.com", "phone": "+4915112345678"}
    for user_id in ("u-1", people["user_id"].id):
        assert meant_by(rival, Identifiers(user_id=user_id, **everything)) is None


def test_nobody_is_found_or_created_without_an_identifier(acme: Workspace) -> None:
    with pytest.raises(ValueError, match="without an identifier"):
        find_or_create_customer(workspace_id=acme.id, known_by=Identifiers())
    assert not Customer.objects.exists()


def conditions_of_indexes(node: dict[str, Any]) -> dict[str, str]:
    """By index: what the plan looks up in it."""
    here = {node["Index Name"]: node["Index Cond"]} if "Index Name" in node else {}
    below = [conditions_of_indexes(one) for one in node.get("Plans", ())]
    return dict(ChainMap(here, *below))


def test_finding_is_one_query_that_uses_the_index_of_each_identifier(
    acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Customer.objects.bulk_create(
        Customer(workspace=acme, external_id=f"x-{n}", email=f"{n}@example.com", phone=f"+{n}", user_id=f"u-{n}")
        for n in range(200)
    )
    known_by = Identifiers(user_id=NOBODY, external_id="x-7", email="8@example.com", phone="+9")
    with django_assert_num_queries(1) as queries:
        meant_by(acme, known_by)
    with connection.cursor() as cursor:
        note_statistics("customers_customer")
        cursor.execute("EXPLAIN (FORMAT JSON) " + queries.captured_queries[0]["sql"])
        used = conditions_of_indexes(cursor.fetchone()[0][0]["Plan"])
    for column in ("user_id", "external_id", "email", "phone"):
        assert "workspace_id" in used[f"customer_{column}_once"]
        assert column in used[f"customer_{column}_once"]


# Finding or creating -------------------------------------------------------------------------------------------------

EVERYTHING = Identifiers(user_id="u-1", external_id="x-1", email="ada@example.com", phone="+4915112345678")


def _resolve(workspace: Workspace, known_by: Identifiers) -> Resolution:
    with transaction.atomic():
        return find_or_create_customer(workspace_id=workspace.id, known_by=known_by)


def test_somebody_new_is_created_with_all_the_identifiers(acme: Workspace) -> None:
    resolution = _resolve(acme, EVERYTHING)
    assert resolution.created
    stored = Customer.objects.get()
    assert resolution.customer == stored
    assert (stored.user_id, stored.external_id, stored.email, stored.phone) == tuple(EVERYTHING.present().values())
    assert (stored.workspace, stored.attributes) == (acme, {})


def test_somebody_known_is_found_and_stays_as_they_are(people: dict[str, Customer], acme: Workspace) -> None:
    before = list(Customer.objects.order_by("id").values())
    resolution = _resolve(acme, Identifiers(user_id="new", email="ada@example.com", phone="+4915199999999"))
    assert (resolution.customer, resolution.created) == (people["email"], False)
    assert list(Customer.objects.order_by("id").values()) == before


def test_the_same_person_is_another_customer_in_each_workspace(acme: Workspace, rival: Workspace) -> None:
    ours, theirs = _resolve(acme, EVERYTHING), _resolve(rival, EVERYTHING)
    assert ours.created
    assert theirs.created
    assert ours.customer != theirs.customer


# While others write --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_whoever_is_found_cannot_be_erased_before_the_transaction_ends(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    with transaction.atomic():
        find_or_create_customer(workspace_id=acme.id, known_by=Identifiers(external_id=ada.external_id))
        erasing = made_to_wait(lambda: Customer.objects.filter(id=ada.id).delete())
    assert erasing.result(PATIENCE_SECONDS)[0] == 1


@pytest.mark.django_db(transaction=True)
def test_somebody_who_is_being_created_elsewhere_is_found(acme: Workspace) -> None:
    with transaction.atomic():
        ada = CustomerFactory.create(workspace=acme, email="ada@example.com")
        resolving = made_to_wait(lambda: _resolve(acme, EVERYTHING))
    assert resolving.result(PATIENCE_SECONDS) == Resolution(customer=ada, created=False)
    assert Customer.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_somebody_whose_creation_elsewhere_is_taken_back_is_created(acme: Workspace) -> None:
    with transaction.atomic():
        CustomerFactory.create(workspace=acme, email="ada@example.com")
        resolving = made_to_wait(lambda: _resolve(acme, EVERYTHING))
        transaction.set_rollback(True)
    assert resolving.result(PATIENCE_SECONDS).created
    assert Customer.objects.get().user_id == "u-1"


@pytest.mark.django_db(transaction=True)
def test_somebody_who_is_being_erased_is_created_anew(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme, email="ada@example.com")
    with transaction.atomic():
        Customer.objects.filter(id=ada.id).delete()
        resolving = made_to_wait(lambda: _resolve(acme, EVERYTHING))
    resolution = resolving.result(PATIENCE_SECONDS)
    assert resolution.created
    assert resolution.customer.id != ada.id


@pytest.mark.django_db(transaction=True)
def test_an_identifier_that_is_being_moved_leads_to_its_new_owner(acme: Workspace) -> None:
    former = CustomerFactory.create(workspace=acme, email="ada@example.com")
    owner = CustomerFactory.create(workspace=acme)
    with transaction.atomic():
        Customer.objects.filter(id=former.id).update(email=None)
        Customer.objects.filter(id=owner.id).update(email="ada@example.com")
        resolving = made_to_wait(lambda: _resolve(acme, EVERYTHING))
    assert resolving.result(PATIENCE_SECONDS) == Resolution(customer=owner, created=False)
    assert Customer.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_people_with_partly_the_same_identifiers_become_one_customer(acme: Workspace) -> None:
    """All have the e-mail address; the other identifiers are shared by some, or are one's own."""
    everybody = [
        Identifiers(
            user_id=f"u-{number % 4}" if number % 2 else None,
            external_id=f"x-{number}" if number % 3 else None,
            email="ada@example.com",
            phone="+4915112345678" if number % 5 else None,
        )
        for number in range(16)
    ]
    resolutions = all_at_once([partial(_resolve, acme, known_by) for known_by in everybody])
    assert {resolution.customer for resolution in resolutions} == {Customer.objects.get()}
    assert [resolution.created for resolution in resolutions].count(True) == 1

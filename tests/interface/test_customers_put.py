"""PUT /api/v1/customers/{workspaceId}: create or update one customer by identifiers."""

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.database.object_ids import is_object_id
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory
from tests.support.tables import taken_back

pytestmark = pytest.mark.ada(
    email="ada@acme.example", phone="+4915112345678", user_id="device-1", attributes={"plan": "free", "age": 36}
)

NOBODY = "0" * 24
MAIL = {"email": "a@b.example"}


def _stored(workspace: Workspace) -> list[Any]:
    return list(Customer.objects.filter(workspace=workspace).order_by("id").values())


@pytest.fixture
def bob(acme: Workspace) -> Customer:
    return CustomerFactory.create(workspace=acme, external_id="bob", email="bob@acme.example")


# Creating ------------------------------------------------------------------------------------------------------------


def test_a_new_person_is_created_with_201_and_the_whole_customer(acme: Workspace, server: ServerClient) -> None:
    with time_machine.travel(datetime(2026, 11, 20, 12, 30, tzinfo=UTC), tick=False):
        answer = server.put(
            customers_path(acme),
            {
                "external_id": "ada",
                "email": " Ada@Acme.example ",
                "phone": "+49 151 12345678",
                "userId": "device-1",
                "attributes": {"plan": "pro", "address": {"city": None}, "gone": None},
            },
        )
    customer = Customer.objects.get(workspace=acme)
    assert is_object_id(customer.id)
    assert answer.status_code == 201
    assert answer.json() == {
        "success": True,
        "message": "Customer created.",
        "data": {
            "customerId": customer.id,
            "external_id": "ada",
            "email": "ada@acme.example",
            "phone": "+4915112345678",
            "userId": "device-1",
            "attributes": {"plan": "pro", "address": {"city": None}},
            "createdAt": "2026-11-20T12:30:00.000Z",
            "updatedAt": "2026-11-20T12:30:00.000Z",
        },
    }
    assert data(server.get(customers_path(acme, customer.id)), status=200) == answer.json()["data"]


@each(
    "identifier, value",
    [("external_id", "ada"), ("externalId", "ada"), ("email", "a@b.example"), ("phone", "12"), ("userId", "device")],
)
def test_one_identifier_of_any_kind_is_enough(
    acme: Workspace, server: ServerClient, identifier: str, value: str
) -> None:
    first = server.put(customers_path(acme), {identifier: value})
    second = server.put(customers_path(acme), {identifier: value})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["data"]["customerId"] == second.json()["data"]["customerId"]


def test_the_same_identifiers_in_another_workspace_are_another_person(
    acme: Workspace, server: ServerClient, rival: Workspace, rival_server: ServerClient, ada: Customer
) -> None:
    theirs = rival_server.put(customers_path(rival), {"external_id": "ada", "attributes": {"plan": "theirs"}})
    assert theirs.status_code == 201
    assert theirs.json()["data"]["email"] is None
    ada.refresh_from_db()
    assert ada.attributes == {"plan": "free", "age": 36}


# Updating ------------------------------------------------------------------------------------------------------------


@each(
    "identifiers",
    [
        {"external_id": "ada"},
        {"externalId": "ada"},
        {"email": "ADA@acme.example"},
        {"phone": "+49 (151) 123 456 78"},
        {"userId": "device-1"},
        {"external_id": "ada", "email": "ada@acme.example", "phone": "+4915112345678", "userId": "device-1"},
    ],
)
def test_a_known_person_is_updated_with_200(
    acme: Workspace, server: ServerClient, ada: Customer, identifiers: dict[str, str]
) -> None:
    answer = server.put(customers_path(acme), {**identifiers, "attributes": {"plan": "pro"}})
    assert answer.json()["message"] == "Customer updated."
    assert data(answer, status=200)["customerId"] == ada.id
    assert data(answer, status=200)["attributes"] == {"plan": "pro", "age": 36}
    assert Customer.objects.get(workspace=acme).attributes == {"plan": "pro", "age": 36}


def test_a_customer_id_leads_to_its_customer(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    answer = server.put(customers_path(acme), {"customerId": ada.id, "external_id": "ada-2"})
    assert data(answer, status=200)["external_id"] == "ada-2"


def test_attributes_are_merged_key_by_key_and_null_deletes_one(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"age": None, "never": None, "city": "Ulm"}})
    ada.refresh_from_db()
    assert ada.attributes == {"plan": "free", "city": "Ulm"}


def test_a_nested_object_is_replaced_and_not_merged(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": {"name": "pro", "seats": 2}}})
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": {"name": "max"}}})
    ada.refresh_from_db()
    assert ada.attributes["plan"] == {"name": "max"}


def test_true_is_not_one(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"flag": 1}})
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"flag": True}})
    ada.refresh_from_db()
    assert ada.attributes["flag"] is True


def test_without_attributes_they_stay(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    answer = server.put(customers_path(acme), {"external_id": "ada", "attributes": None})
    assert data(answer, status=200)["attributes"] == {"plan": "free", "age": 36}


def test_what_changes_nothing_leaves_updated_at_as_it_was(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    Customer.objects.update(attributes={"plan": "free", "address": {"zip": "89073", "city": "Ulm"}})
    for address in ({"zip": "89073", "city": "Ulm"}, {"city": "Ulm", "zip": "89073"}):
        body = {"external_id": "ada", "phone": "+4915112345678", "attributes": {"plan": "free", "address": address}}
        data(server.put(customers_path(acme), body), status=200)
    before = ada.updated_at
    ada.refresh_from_db()
    assert ada.updated_at == before


def test_a_change_moves_updated_at_and_not_created_at(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    with time_machine.travel(datetime(2031, 1, 1, tzinfo=UTC), tick=False):
        changed = data(
            server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": "x"}}), status=200
        )
    assert changed["updatedAt"] == "2031-01-01T00:00:00.000Z"
    assert changed["createdAt"] < "2031"
    assert data(server.get(customers_path(acme, ada.id)), status=200) == changed


def test_an_attribute_may_be_called_like_an_identifier(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    answer = server.put(customers_path(acme), {"external_id": "ada", "attributes": {"email": "other@acme.example"}})
    assert data(answer, status=200)["email"] == "ada@acme.example"


# Identifiers that change ---------------------------------------------------------------------------------------------


def test_an_identifier_that_the_customer_does_not_have_yet_is_added(
    acme: Workspace, server: ServerClient, bob: Customer
) -> None:
    answer = server.put(customers_path(acme), {"email": "bob@acme.example", "phone": "+4915112345678"})
    assert data(answer, status=200)["phone"] == "+4915112345678"
    bob.refresh_from_db()
    assert (bob.external_id, bob.phone) == ("bob", "+4915112345678")


def test_one_that_is_trusted_more_is_added_where_there_is_none(acme: Workspace, server: ServerClient) -> None:
    eve = CustomerFactory.create(workspace=acme, external_id=None, email="eve@acme.example")
    answer = server.put(customers_path(acme), {"email": "eve@acme.example", "external_id": "eve"})
    assert (data(answer, status=200)["customerId"], data(answer, status=200)["external_id"]) == (eve.id, "eve")
    assert Customer.objects.get(external_id="eve") == eve


def test_an_identifier_is_changed_through_a_more_trusted_one(
    acme: Workspace, server: ServerClient, bob: Customer
) -> None:
    server.put(customers_path(acme), {"external_id": "bob", "email": "robert@acme.example"})
    bob.refresh_from_db()
    assert bob.email == "robert@acme.example"
    assert server.put(customers_path(acme), {"email": "bob@acme.example"}).status_code == 201


@each(
    "through, changed",
    [
        ({"email": "ada@acme.example"}, {"external_id": "ada-2"}),
        ({"phone": "+4915112345678"}, {"email": "eve@acme.example"}),
        ({"userId": "device-1"}, {"phone": "+4915187654321"}),
    ],
)
def test_an_identifier_is_not_changed_through_one_that_is_trusted_less(
    acme: Workspace, server: ServerClient, ada: Customer, through: dict[str, str], changed: dict[str, str]
) -> None:
    before = _stored(acme)
    answer = server.put(customers_path(acme), {**through, **changed, "attributes": {"plan": "stolen"}})
    (weaker,), (stronger,) = through, changed
    assert refused(answer, status=409, error="Identifier conflict") == (
        f"{weaker} belongs to customer {ada.id}, who has another {stronger}. "
        f"To change that {stronger}, send the customerId."
    )
    assert answer.json()["details"] == [{"field": weaker, "customerId": ada.id}]
    assert _stored(acme) == before


def test_identifiers_of_two_customers_are_refused_and_the_customers_named(
    acme: Workspace, server: ServerClient, ada: Customer, bob: Customer
) -> None:
    before = _stored(acme)
    answer = server.put(
        customers_path(acme), {"external_id": "ada", "email": "bob@acme.example", "attributes": {"plan": "pro"}}
    )
    assert refused(answer, status=409, error="Identifier conflict") == (
        f"The identifiers belong to different customers: external_id to customer {ada.id}, email to customer {bob.id}."
    )
    assert answer.json()["code"] == "identifier_conflict"
    assert answer.json()["details"] == [
        {"field": "external_id", "customerId": ada.id},
        {"field": "email", "customerId": bob.id},
    ]
    assert _stored(acme) == before


@each(
    "sent, left",
    [
        ({"external_id": "ada", "remove": ["email"]}, ("ada", None, "+4915112345678", "device-1")),
        ({"customerId": "?", "remove": ["externalId", "phone"]}, (None, "ada@acme.example", None, "device-1")),
        ({"external_id": "ada", "email": "ada@acme.example", "remove": ["email", "email"]},
         ("ada", None, "+4915112345678", "device-1")),
        ({"customerId": "?", "external_id": "a", "remove": ["email", "phone", "userId"]}, ("a", None, None, None)),
        ({"external_id": "ada", "remove": []}, ("ada", "ada@acme.example", "+4915112345678", "device-1")),
    ],
)  # fmt: skip
def test_an_identifier_is_taken_away_and_free_for_somebody_else(
    acme: Workspace, server: ServerClient, sent: dict[str, Any], left: tuple[str | None, ...]
) -> None:
    with taken_back():
        ada = CustomerFactory.create(
            workspace=acme, external_id="ada", email="ada@acme.example", phone="+4915112345678", user_id="device-1"
        )
        body = {**sent, "customerId": ada.id} if "customerId" in sent else sent
        for _ in range(2):  # what is gone stays gone, and that is no mistake
            answer = data(server.put(customers_path(acme), body), status=200)
            assert tuple(answer[name] for name in ("external_id", "email", "phone", "userId")) == left
            body = {"customerId": ada.id, "remove": sent["remove"]}
        if left[1] is None:
            eve = data(server.put(customers_path(acme), {"email": "ada@acme.example"}), status=201)
            assert eve["customerId"] != ada.id


@each(
    "known, sent, status, message",
    [
        (MAIL, {"customerId": "?", "remove": ["email"]}, 409,
         "remove: without email the customer would have no identifier. Give them another one, or erase them."),
        ({**MAIL, "phone": "1"}, {**MAIL, "remove": ["email"]}, 409,
         "remove: email alone leads to the customer in this call. Send another identifier that they have."),
        (MAIL, {**MAIL, "userId": "new", "remove": ["email"]}, 409, "remove: email alone"),
        (MAIL, {"phone": "2", "remove": ["phone"]}, 409, "remove: phone alone leads"),
        (MAIL, {**MAIL, "remove": ["name"]}, 400,
         "remove must hold names of identifiers (external_id, email, phone, userId), not 'name'."),
        (MAIL, {**MAIL, "remove": "phone"}, 400, "remove must be an array of strings"),
        (MAIL, {**MAIL, "remove": ["phone"] * 6}, 400, "remove holds 6 items"),
        (MAIL, {"customerId": "?", "email": ""}, 400,
         "email must not be blank. Leave it out, or take it away with remove."),
        (MAIL, {**MAIL, "externalId": " "}, 400, "external_id must not be blank."),
        (MAIL, {**MAIL, "customerId": ""}, 400, "customerId must not be blank."),
    ],
)  # fmt: skip
def test_nothing_is_taken_away_without_which_the_customer_is_not_known(
    acme: Workspace, server: ServerClient, known: dict[str, str], sent: dict[str, Any], status: int, message: str
) -> None:
    with taken_back():
        one = CustomerFactory.create(workspace=acme, external_id=None, **known)
        body = {**sent, "customerId": sent.get("customerId") and one.id} if sent.get("customerId") else sent
        before = _stored(acme)
        answers = [
            server.put(customers_path(acme), body).json(),
            data(server.post(customers_path(acme, "batch"), {"customers": [body]}), status=200)["results"][0],
        ]
        assert all(one["message"].startswith(message) for one in answers), answers
        assert {one["code"] == "identifier_needed" for one in answers} == {status == 409}
        assert _stored(acme) == before


@each("customer_id", [NOBODY, "not-an-id"])
def test_a_customer_id_that_nobody_has_is_not_found_also_where_another_identifier_matches(
    acme: Workspace, server: ServerClient, ada: Customer, customer_id: str
) -> None:
    before = _stored(acme)
    answer = server.put(customers_path(acme), {"customerId": customer_id, "external_id": "ada", "phone": "1"})
    assert refused(answer, status=404, error="Customer not found") == (
        "This workspace has no customer with this customerId. "
        "The service chooses it: leave it out to create a customer."
    )
    assert _stored(acme) == before


# Refusals ------------------------------------------------------------------------------------------------------------


@each("body", [{}, {"attributes": {"a": 1}}, {"external_id": None, "email": None}])
def test_without_an_identifier_nobody_can_be_meant(acme: Workspace, server: ServerClient, body: Any) -> None:
    message = refused(server.put(customers_path(acme), body), status=400, error="Missing required parameter")
    assert message == "Send at least one of customerId, external_id, email, phone, userId."
    assert _stored(acme) == []


@each(
    "body, message",
    [
        ({"external_id": 7}, "external_id must be a string, but a number came."),
        ({"external_id": "a", "externalId": "b"}, "external_id and externalId are two spellings"),
        ({"external_id": "x" * 256}, "external_id must be at most 255 characters long, not 256."),
        ({"email": "not an address"}, "email must be an e-mail address."),
        ({"phone": "1" * 65}, "phone must be at most 64 characters long, not 65."),
        ({"phone": " " + "1" * 64}, "phone must be at most 64 characters long, not 65."),
        ({"userId": ["u"]}, "userId must be a string, but an array came."),
        ({"external_id": "a", "attributes": []}, "attributes must be an object, but an array came."),
        ({"external_id": "a", "attributes": {"$set": 1}}, "The attribute name '$set' starts with $"),
        ({"external_id": "a", "attributes": {"__proto__": 1}}, "The attribute name '__proto__' is reserved."),
        ({"external_id": "a", "attributes": {"": None}}, "The attribute name '' is empty."),
        ({"external_id": "a", "attributes": {"x": "y" * 65_536}}, "attributes is 65544 bytes of JSON; its maximum is"),
    ],
)
def test_a_bad_field_is_refused_by_name_and_nothing_is_written(
    acme: Workspace, server: ServerClient, body: Any, message: str
) -> None:
    answer = server.put(customers_path(acme), body)
    assert refused(answer, status=400, error="Invalid request").startswith(message)
    assert _stored(acme) == []


def test_a_profile_cannot_grow_past_its_maximum(acme: Workspace, server: ServerClient) -> None:
    answers: list[Answer] = [
        server.put(customers_path(acme), {"external_id": "ada", "attributes": {f"part-{n}": "x" * 60_000}})
        for n in range(5)
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 200, 400]
    message = refused(answers[-1], status=400, error="Invalid request")
    assert message.endswith("bytes of JSON; the maximum is 262144.")
    assert set(Customer.objects.get(workspace=acme).attributes) == {"part-0", "part-1", "part-2", "part-3"}


# Cost ----------------------------------------------------------------------------------------------------------------


def test_a_call_costs_the_key_a_read_and_a_write_in_one_transaction(
    acme: Workspace, server: ServerClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    server.get(customers_path(acme, NOBODY))  # notes the key's use
    queries: CaptureQueriesContext
    with django_assert_num_queries(6) as queries:  # a new identifier may be of somebody erased: that is forgotten
        server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": "pro"}})
    verbs = [query["sql"].split()[0] for query in queries.captured_queries]
    assert verbs == ["SELECT", "SAVEPOINT", "WITH", "INSERT", "WITH", "RELEASE"]
    with django_assert_num_queries(5):
        server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": "max"}})


@pytest.mark.parametrize("below", [(), ("batch",)])
def test_where_others_are_always_first_nothing_is_done_and_the_caller_may_try_again(
    acme: Workspace, server: ServerClient, ada: Customer, monkeypatch: pytest.MonkeyPatch, below: tuple[str, ...]
) -> None:
    """As if Ada had come between the look for her and the write, every time."""
    monkeypatch.setattr("customers.identity.upsert.locked_customers", lambda *_, **__: [])
    before = _stored(acme)
    people = [{"external_id": "eve"}, {"external_id": "ada"}]
    path = customers_path(acme, *below)
    answer = server.post(path, {"customers": people}) if below else server.put(path, people[1])
    message = refused(answer, status=503, error="Service unavailable")
    assert message == "Other calls are changing the same customers at this moment. Nothing was done; try again."
    assert (answer.json()["code"], answer["Retry-After"]) == ("too_many_at_once", "1")
    assert _stored(acme) == before

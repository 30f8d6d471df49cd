"""POST /api/v1/customers/{workspaceId}/batch: the same for up to 1,000, with a result per item."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory


def _send(server: ServerClient, workspace: Workspace, customers: Any) -> dict[str, Any]:
    return data(server.post(customers_path(workspace, "batch"), {"customers": customers}), status=200)


def test_every_item_has_its_result_in_order(acme: Workspace, server: ServerClient) -> None:
    bob = CustomerFactory.create(workspace=acme, external_id="bob", attributes={"plan": "free", "age": 36})
    eve = CustomerFactory.create(workspace=acme, external_id="eve", email="eve@acme.example")
    answer = server.post(
        customers_path(acme, "batch"),
        {
            "customers": [
                {"external_id": "ada", "email": "Ada@acme.example"},
                {"externalId": "bob", "attributes": {"plan": "pro", "age": None}},
                {"external_id": "bob", "email": "eve@acme.example"},
                {"attributes": {"plan": "pro"}},
                {"customerId": eve.id, "phone": "+4915112345678"},
            ]
        },
    )
    ada = Customer.objects.get(workspace=acme, external_id="ada")
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "message": "1 created, 2 updated, 2 failed.",
        "data": {
            "created": 1,
            "updated": 2,
            "failed": 2,
            "results": [
                {"status": "created", "customerId": ada.id},
                {"status": "updated", "customerId": bob.id},
                {
                    "status": "failed",
                    "error": "Identifier conflict",
                    "code": "identifier_conflict",
                    "message": "The identifiers belong to different customers: "
                    f"external_id to customer {bob.id}, email to customer {eve.id}.",
                    "details": [
                        {"field": "external_id", "customerId": bob.id},
                        {"field": "email", "customerId": eve.id},
                    ],
                },
                {
                    "status": "failed",
                    "error": "Missing required parameter",
                    "code": "missing_required_parameter",
                    "message": "Send at least one of customerId, external_id, email, phone, userId.",
                },
                {"status": "updated", "customerId": eve.id},
            ],
        },
    }
    assert ada.email == "ada@acme.example"
    bob.refresh_from_db()
    assert (bob.email, bob.attributes) == (None, {"plan": "pro"})
    eve.refresh_from_db()
    assert eve.phone == "+4915112345678"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (7, "A customer must be an object, but a number came."),
        (None, "A customer must be an object, but null came."),
        ({"external_id": 7}, "external_id must be a string, but a number came."),
        ({"email": "nonsense"}, "email must be an e-mail address."),
        ({"external_id": "bad", "attributes": {"$a": 1}}, "The attribute name '$a' starts with $"),
        ({"customerId": "0" * 24}, "This workspace has no customer with this customerId."),
    ],
)
def test_one_bad_item_fails_alone(acme: Workspace, server: ServerClient, bad: Any, message: str) -> None:
    answer = _send(server, acme, [{"external_id": "ada"}, bad, {"external_id": "bob"}])
    assert [result["status"] for result in answer["results"]] == ["created", "failed", "created"]
    assert answer["results"][1]["message"].startswith(message)
    assert set(Customer.objects.values_list("external_id", flat=True)) == {"ada", "bob"}


def test_items_for_one_new_person_make_one_customer_and_merge_in_order(acme: Workspace, server: ServerClient) -> None:
    answer = _send(
        server,
        acme,
        [
            {"external_id": "ada", "attributes": {"plan": "free", "age": 36}},
            {"external_id": "ada", "email": "ada@acme.example", "attributes": {"plan": "pro"}},
            {"email": "ada@acme.example", "attributes": {"age": None}},
        ],
    )
    customer = Customer.objects.get(workspace=acme)
    assert answer["results"] == [
        {"status": "created", "customerId": customer.id},
        {"status": "updated", "customerId": customer.id},
        {"status": "updated", "customerId": customer.id},
    ]
    assert (customer.email, customer.attributes) == ("ada@acme.example", {"plan": "pro"})


def test_two_items_for_the_same_known_person_merge_in_order(acme: Workspace, server: ServerClient) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada", attributes={"plan": "free"})
    _send(server, acme, [{"external_id": "ada", "attributes": {"plan": p}} for p in ("pro", "max")])
    ada.refresh_from_db()
    assert ada.attributes == {"plan": "max"}


def test_an_identifier_that_one_item_lets_go_can_be_taken_by_a_later_one(acme: Workspace, server: ServerClient) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada", email="info@acme.example")
    bob = CustomerFactory.create(workspace=acme, external_id="bob", email="bob@acme.example")
    answer = _send(
        server,
        acme,
        [
            {"external_id": "bob", "attributes": {"plan": "pro"}},
            {"external_id": "ada", "email": "ada@acme.example"},
            {"external_id": "bob", "email": "info@acme.example"},
            {"external_id": "eve", "email": "bob@acme.example"},
        ],
    )
    assert (answer["created"], answer["updated"], answer["failed"]) == (1, 3, 0)
    ada.refresh_from_db()
    bob.refresh_from_db()
    assert (ada.email, bob.email) == ("ada@acme.example", "info@acme.example")
    assert Customer.objects.get(external_id="eve").email == "bob@acme.example"


def test_another_workspace_is_neither_matched_nor_changed(
    acme: Workspace, server: ServerClient, rival: Workspace
) -> None:
    theirs = CustomerFactory.create(workspace=rival, external_id="ada", email="ada@acme.example")
    answer = _send(server, acme, [{"external_id": "ada", "attributes": {"a": 1}}, {"customerId": theirs.id}])
    assert [result["status"] for result in answer["results"]] == ["created", "failed"]
    theirs.refresh_from_db()
    assert theirs.attributes == {}


@pytest.mark.parametrize("batch", [[], [{"attributes": {"a": 1}}]])
def test_where_nobody_is_named_nobody_is_looked_at(
    acme: Workspace, server: ServerClient, django_assert_num_queries: DjangoAssertNumQueries, batch: list[Any]
) -> None:
    with django_assert_num_queries(4):  # the key twice, the transaction twice
        answer = _send(server, acme, batch)
    assert (answer["created"], answer["updated"], answer["failed"]) == (0, 0, len(batch))
    assert len(answer["results"]) == len(batch)


@pytest.mark.parametrize("body", [{}, {"customers": None}])
def test_the_array_is_required(acme: Workspace, server: ServerClient, body: Any) -> None:
    answer = server.post(customers_path(acme, "batch"), body)
    assert refused(answer, status=400, error="Missing required parameter") == "customers is required."


def test_the_array_must_be_one(acme: Workspace, server: ServerClient) -> None:
    answer = server.post(customers_path(acme, "batch"), {"customers": {"external_id": "ada"}})
    message = refused(answer, status=400, error="Invalid request")
    assert message == "customers must be an array, but an object came."


def test_more_than_1000_are_refused_whole(acme: Workspace, server: ServerClient) -> None:
    answer = server.post(
        customers_path(acme, "batch"), {"customers": [{"external_id": f"person-{n}"} for n in range(1001)]}
    )
    message = refused(answer, status=400, error="Array size exceeded")
    assert message == "customers holds 1001 items; its maximum is 1000."
    assert not Customer.objects.exists()


@pytest.mark.parametrize("size", [2, 1000])
def test_the_number_of_queries_does_not_grow_with_the_batch(
    acme: Workspace, server: ServerClient, django_assert_num_queries: DjangoAssertNumQueries, size: int
) -> None:
    CustomerFactory.create(workspace=acme, external_id="person-0", email="old@acme.example")
    batch = [{"external_id": f"person-{n}", "email": f"{n}@acme.example", "attributes": {"n": n}} for n in range(size)]
    # The key twice, the transaction twice; lock, read, let go, update, insert, forget who was erased.
    with django_assert_num_queries(10):
        answer = _send(server, acme, batch)
    assert (answer["created"], answer["updated"]) == (size - 1, 1)
    with django_assert_num_queries(6):
        assert _send(server, acme, [{**item, "attributes": {"n": "x"}} for item in batch])["updated"] == size
    assert Customer.objects.filter(workspace=acme, attributes={"n": "x"}).count() == size

"""POST /api/v1/customers/{workspaceId}/batch: the same for up to 1,000, with a result per item."""

from typing import Any

from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
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
                {"index": 0, "external_id": "ada", "status": "created", "customerId": ada.id},
                {"index": 1, "external_id": "bob", "status": "updated", "customerId": bob.id},
                {
                    "index": 2,
                    "external_id": "bob",
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
                    "index": 3,
                    "external_id": None,
                    "status": "failed",
                    "error": "Missing required parameter",
                    "code": "missing_required_parameter",
                    "message": "Send at least one of customerId, external_id, email, phone, userId.",
                },
                {"index": 4, "external_id": None, "status": "updated", "customerId": eve.id},
            ],
        },
    }
    assert ada.email == "ada@acme.example"
    bob.refresh_from_db()
    assert (bob.email, bob.attributes) == (None, {"plan": "pro"})
    eve.refresh_from_db()
    assert eve.phone == "+4915112345678"


@each(
    "bad, message",
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
        {"index": 0, "external_id": "ada", "status": "created", "customerId": customer.id},
        {"index": 1, "external_id": "ada", "status": "updated", "customerId": customer.id},
        {"index": 2, "external_id": None, "status": "updated", "customerId": customer.id},
    ]
    assert (customer.email, customer.attributes) == ("ada@acme.example", {"plan": "pro"})


@each(
    "item, named, unknown",
    [
        ({"externalId": "ada", "extenal_id": "x", "plan": "pro"}, "ada", ["extenal_id", "plan"]),
        ({"external_id": 7, "mail": "x"}, None, ["mail"]),
        ({"external_id": "ada", "attributes": {"plan": "pro"}}, "ada", None),
        (7, None, None),
        ({f"field-{n}": n for n in range(50)}, None, [f"field-{n}" for n in range(20)]),
    ],
)
@each("events", [False, True])
def test_each_result_repeats_whom_it_is_of_and_names_unknown_fields(
    acme: Workspace, server: ServerClient, item: Any, named: str | None, unknown: list[str] | None, events: bool
) -> None:
    if events:
        if isinstance(item, dict):
            item = {name: value for name, value in item.items() if name != "attributes"} | {"eventName": "seen"}
        answer = data(server.post(customers_path(acme, "events"), {"events": [{}, item]}))
    else:
        answer = _send(server, acme, [{}, item])
    result = answer["results"][1]
    assert (result["index"], result["external_id"], result.get("unknownFields")) == (1, named, unknown)


def test_one_shared_number_need_not_fail_a_customer(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    phone = "+4915112345678"
    server.put(customers_path(acme), {"external_id": "ada", "phone": phone, "email": "ada@example.com"})
    bob = {"external_id": "bob", "phone": phone, "email": "bob@example.com"}
    for said in ({}, {"onConflict": "fail"}):
        refused(server.put(customers_path(acme), bob | said), status=409, error="Identifier conflict")
    put = data(server.put(customers_path(acme), bob | {"onConflict": "skip_identifier"}), status=201)
    assert (put["email"], put["phone"], put["skippedIdentifiers"]) == ("bob@example.com", None, ["phone"])
    again = data(server.put(customers_path(acme), {"external_id": "bob"}), status=200)
    assert "skippedIdentifiers" not in again

    people = [
        {"external_id": "eve", "phone": phone},
        {"external_id": "eve", "phone": phone, "onConflict": "fail"},
        {"external_id": "bob", "email": "ada@example.com", "phone": phone, "attributes": {"plan": "pro"}},
    ]
    body = {"customers": people, "onConflict": "skip_identifier"}
    results = data(server.post(customers_path(acme, "batch"), body), status=200)["results"]
    assert [(one["status"], one.get("skippedIdentifiers")) for one in results] == [
        ("created", ["phone"]), ("failed", None), ("updated", ["phone", "email"]),
    ]  # fmt: skip
    stored = Customer.objects.get(external_id="bob")
    assert (stored.email, stored.attributes) == ("bob@example.com", {"plan": "pro"})
    ada.refresh_from_db()
    assert (ada.phone, ada.email) == (phone, "ada@example.com")


@each("body", [{"external_id": "x"}, {"customers": [{"external_id": "x"}]}])
def test_what_to_do_on_a_conflict_is_one_of_two(acme: Workspace, server: ServerClient, body: dict[str, Any]) -> None:
    asked = {**body, "onConflict": "ignore"}
    many = "customers" in body
    answer = server.post(customers_path(acme, "batch"), asked) if many else server.put(customers_path(acme), asked)
    said = "onConflict must be one of fail, skip_identifier, not 'ignore'."
    assert refused(answer, status=400, error="Invalid request") == said
    assert not Customer.objects.exists()


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


@each("batch", [[], [{"attributes": {"a": 1}}]])
def test_where_nobody_is_named_nobody_is_looked_at(
    acme: Workspace, server: ServerClient, django_assert_num_queries: DjangoAssertNumQueries, batch: list[Any]
) -> None:
    with django_assert_num_queries(4):  # the key twice, the transaction twice
        answer = _send(server, acme, batch)
    assert (answer["created"], answer["updated"], answer["failed"]) == (0, 0, len(batch))
    assert len(answer["results"]) == len(batch)


@each("body", [{}, {"customers": None}])
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


@each("size", [2, 1000])
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

"""GET /api/v1/customers/{workspaceId}/{customerId} and GET /api/v1/customers/{workspaceId}?external_id=…"""

from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory


@pytest.fixture(autouse=True)
def ada(acme: Workspace) -> Customer:
    return CustomerFactory.create(
        workspace=acme,
        external_id="ada",
        email="ada@acme.example",
        phone="+4915112345678",
        user_id="device-1",
        attributes={"plan": "free"},
        created_at=datetime(2026, 11, 20, 12, 30, tzinfo=UTC),
        updated_at=datetime(2026, 11, 21, 7, 0, 0, 250_000, tzinfo=UTC),
    )


def _find(server: ServerClient, workspace: Workspace, query: str) -> Answer:
    return server.get(f"{customers_path(workspace)}?{query}")


def test_a_customer_is_read_by_its_id(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    answer = server.get(customers_path(acme, ada.id))
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "message": "Customer found.",
        "data": {
            "customerId": ada.id,
            "external_id": "ada",
            "email": "ada@acme.example",
            "phone": "+4915112345678",
            "userId": "device-1",
            "attributes": {"plan": "free"},
            "createdAt": "2026-11-20T12:30:00.000Z",
            "updatedAt": "2026-11-21T07:00:00.250Z",
        },
    }


@each(
    "query",
    [
        "external_id=ada",
        "externalId=ada",
        "external_id=ada&externalId=ada",
        "external_id=ada&email=",
        "email=ada@acme.example",
        "email=%20ADA%40acme.example",
        "phone=%2B4915112345678",
        "phone=%2B49%20151%2012345678",
        "userId=device-1",
        "userId=device-1&unknown=7",
    ],
)
def test_a_customer_is_read_by_one_identifier(acme: Workspace, server: ServerClient, ada: Customer, query: str) -> None:
    CustomerFactory.create(workspace=acme, external_id="bob")
    assert data(_find(server, acme, query), status=200)["customerId"] == ada.id


def test_the_plus_of_a_phone_need_not_be_encoded(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    assert data(_find(server, acme, "phone=+4915112345678"), status=200)["customerId"] == ada.id


@each("query", ["", "external_id=", "email=%20", "customer=ada", "attributes=free"])
def test_without_an_identifier_nobody_can_be_meant(acme: Workspace, server: ServerClient, query: str) -> None:
    message = refused(_find(server, acme, query), status=400, error="Missing required parameter")
    assert message == "Send exactly one of external_id, email, phone, userId in the query string."


@each(
    "query, message",
    [
        ("external_id=ada&email=ada@acme.example", "Send exactly one identifier; external_id, email came."),
        ("external_id=ada&external_id=bob", "external_id stands more than once in the query string."),
        ("external_id=ada&externalId=bob", "external_id and externalId are two spellings of one field"),
        ("external_id=a%00", "external_id holds a NUL character."),
        ("email=nonsense", "email must be an e-mail address."),
        (f"userId={'u' * 256}", "userId must be at most 255 characters long, not 256."),
    ],
)
def test_a_query_that_does_not_name_one_person_is_refused(
    acme: Workspace, server: ServerClient, query: str, message: str
) -> None:
    assert refused(_find(server, acme, query), status=400, error="Invalid request").startswith(message)


@each("name", ["external_id", "email", "phone", "userId"])
def test_nobody_is_found_by_an_unknown_identifier(acme: Workspace, server: ServerClient, name: str) -> None:
    answer = _find(server, acme, urlencode({name: "nobody@acme.example"}))
    message = refused(answer, status=404, error="Customer not found")
    assert message == f"This workspace has no customer with this {name}."
    assert answer.json()["code"] == "customer_not_found"


def test_a_read_costs_the_key_and_one_query(
    acme: Workspace, server: ServerClient, ada: Customer, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    server.get(customers_path(acme, ada.id))  # notes the key's use
    with django_assert_num_queries(2):
        server.get(customers_path(acme, ada.id))
    with django_assert_num_queries(2):
        _find(server, acme, "external_id=ada")

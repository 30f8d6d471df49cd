"""A compiled condition runs over whatever is stored, and takes nothing that it is given for SQL."""

from typing import Any

import pytest
from django.db import connection

from customers.conditions import Columns, Root, compile_condition, parse_condition
from customers.models import Customer
from engage.database.fragment import Fragment
from engage.models import Workspace
from tests.customers.awkward_values import NAMES, VALUES
from tests.support.factories import CustomerFactory


def compiled(condition: dict[str, Any], columns: Columns | None = None) -> Fragment:
    return compile_condition(parse_condition(condition, roots=list(Root)), columns=columns or Columns())


def chosen(condition: dict[str, Any], columns: Columns | None = None) -> list[str]:
    """The external ids of the customers who meet the condition."""
    fragment = compiled(condition, columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT external_id FROM customers_customer customer WHERE {fragment.sql} ORDER BY 1", fragment.params
        )
        return [external_id for (external_id,) in cursor.fetchall()]


# What JSON in PostgreSQL can hold, but nothing that came through the interface.
RAW = {
    "attributes are a string": '"text"',
    "attributes are null": "null",
    "attributes are an array": '["a", "2026-11-20"]',
    "a number of 400 digits": '{"a": 1' + "0" * 400 + "}",
    "a number of 40 decimals": '{"a": 0.1000000000000000000000000000000000000001}',
    "a number next to nothing": '{"a": 1e-400}',
    "a string of 100,000 digits": '{"a": "' + "9" * 100_000 + '"}',
    "a fraction of 100,000 digits": '{"a": "2026-11-20T00:00:00.' + "9" * 100_000 + 'Z"}',
    "nested 500 deep": '{"a": ' + "[" * 500 + "]" * 500 + "}",
}


EVERY_KIND_OF_TEST: list[tuple[str, Any]] = [
    ("eq", 1), ("eq", [1, {"a": 2}]), ("in", [1, "a", [2]]), ("gt", -1), ("lte", "z"), ("contains", "a"),
    ("contains", 1), ("starts_with", "a"), ("ends_with", "a"), ("before", "9999-12-31"), ("after", "0001-01-01"),
]  # fmt: skip


@pytest.mark.parametrize("attributes", RAW.values(), ids=RAW.keys())
def test_no_stored_value_makes_the_statement_fail(acme: Workspace, attributes: str) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE customers_customer SET attributes = %s::jsonb WHERE id = %s", [attributes, ada.id])
    for op, operand in EVERY_KIND_OF_TEST:
        test = {"field": "customer.a", "op": op, "value": operand}
        assert sorted(chosen(test) + chosen({"not": test})) == ["ada"]


def test_values_and_names_are_parameters_and_never_sql(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada", attributes={name: name for name in NAMES})
    for name in NAMES:
        test = {"field": f"customer.attributes.{name}", "op": "eq", "value": name}
        assert chosen(test) == ["ada"]
        shape = compiled(test).sql
        assert shape == compiled({"field": "customer.attributes.x", "op": "eq", "value": "x"}).sql
    assert Customer.objects.get() == ada


def test_a_condition_is_never_null_whatever_is_missing(acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    for field in ("customer.a", "customer.phone", "api.payload.a", "event.name", "event.properties.a"):
        assert chosen({"field": field, "op": "gt", "value": 1}) == []
        assert chosen({"not": {"field": field, "op": "gt", "value": 1}}) == ["ada"]


def test_the_caller_says_where_payload_and_event_stand(acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada", attributes={"sent": {"a": 1}, "props": {"b": 2}})
    columns = Columns(
        payload="customer.attributes -> 'sent'",
        event_name="'bought'::text",
        event_properties="customer.attributes -> 'props'",
    )
    tests: list[dict[str, Any]] = [
        {"field": "api.payload.a", "op": "eq", "value": 1},
        {"field": "event.name", "op": "eq", "value": "bought"},
        {"field": "event.properties.b", "op": "eq", "value": 2},
    ]
    assert chosen({"all": tests}, columns) == ["ada"]
    assert chosen({"any": tests}) == []


def test_times_are_utc_whatever_the_time_zone_of_the_session(acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="date", attributes={"at": "2026-11-20"})
    CustomerFactory.create(workspace=acme, external_id="time", attributes={"at": "2026-11-20T00:00"})
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Tokyo'")
    assert chosen({"field": "customer.at", "op": "after", "value": "2026-11-19T23:59:59Z"}) == ["date", "time"]
    assert chosen({"field": "customer.at", "op": "before", "value": "2026-11-20T00:00:01Z"}) == ["date", "time"]


def test_a_statement_that_is_prepared_and_run_again_finds_the_same(acme: Workspace) -> None:
    Customer.objects.bulk_create(
        Customer(workspace=acme, external_id=f"{number:03}", attributes={"a": value})
        for number, value in enumerate(VALUES)
    )
    test = {
        "all": [
            {"field": "customer.a", "op": "not_in", "value": ["a", 1]},
            {
                "any": [
                    {"field": "customer.a", "op": "gt", "value": 5},
                    {"field": "customer.a", "op": "gt", "value": "b"},
                ]
            },
        ]
    }
    assert len({tuple(chosen(test)) for _ in range(12)}) == 1

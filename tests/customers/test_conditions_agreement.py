"""The two evaluators, Python and SQL, have one meaning: held against each other over values that bite."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from hypothesis import given

from customers.conditions import (
    Columns,
    Condition,
    CustomerFacts,
    Facts,
    InvalidCondition,
    Root,
    compile_condition,
    evaluate,
    parse_condition,
)
from customers.conditions.fields import IDENTIFIER_COLUMNS
from customers.identifier_rules import LONGEST
from customers.models import Customer, Event
from engage.models import Workspace
from tests.customers.any_conditions import FIELDS, OPS, trees
from tests.customers.awkward_values import NAMES, TEXTS, VALUES
from tests.support.cases import each
from tests.support.examples import examples

COLUMNS = Columns(
    payload="event.properties -> 'payload'",
    event_name="event.name",
    event_properties="event.properties -> 'event'",
    event_message="event.message_id",
    event_verified="event.verified",
    now="'2026-11-20T00:00Z'::timestamptz",
)
NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def population(acme: Workspace) -> list[Facts]:
    """Every value as an attribute, beside others drawn at random; with an event that also carries a payload."""
    draw = random.Random(0)
    customers = [
        Customer(
            workspace=acme,
            **{name: f"{number}a" if number % rarely else None for rarely, name in enumerate(LONGEST, start=2)},
            attributes={
                "v": value,
                "w": draw.choice([value, [value], [draw.choice(VALUES), value], {"a": value}, f"a{value}b"]),
                "names": {name: draw.choice(VALUES) for name in NAMES},
                **{name: draw.choice(VALUES) for name in IDENTIFIER_COLUMNS},
            },
        )
        for number, value in enumerate(VALUES)
    ]
    events = [
        Event(
            workspace=acme,
            customer=customer,
            name=draw.choice(TEXTS)[:255],
            properties={"payload": {"v": draw.choice(VALUES)}, "event": {"v": draw.choice(VALUES)}},
            message_id=draw.choice([None, "sale", "spring", ""]),
            verified=draw.choice([None, False, True]),
            source=Event.Source.API,
            occurred_at="2026-11-20T00:00Z",
        )
        for customer in customers
    ]
    Customer.objects.bulk_create(customers)
    Event.objects.bulk_create(events)
    return [facts_of(event) for event in Event.objects.select_related("customer")]


def facts_of(event: Event) -> Facts:
    customer = event.customer
    return Facts(
        now=NOW,
        customer=CustomerFacts(
            id=customer.id,
            external_id=customer.external_id,
            email=customer.email,
            phone=customer.phone,
            user_id=customer.user_id,
            attributes=customer.attributes,
        ),
        payload=event.properties["payload"],
        event_name=event.name,
        event_properties=event.properties["event"],
        event_message=event.message_id,
        event_verified=event.verified,
    )


def chosen_by_python(condition: Condition, population: Iterable[Facts]) -> set[str]:
    return {facts.customer.id for facts in population if evaluate(condition, facts)}


def chosen_by_sql(condition: Condition) -> set[str]:
    compiled = compile_condition(condition, columns=COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT customer.id FROM customers_customer customer JOIN customers_event event "
            f"ON event.customer_id = customer.id WHERE {compiled.sql}",
            compiled.params,
        )
        return {customer_id for (customer_id,) in cursor.fetchall()}


def every_test_of(field: str) -> Iterable[Condition]:
    """Each operation with each value that it takes."""
    for op in OPS:
        operands: list[dict[str, Any]] = [{"value": [value] if op in {"in", "not_in"} else value} for value in VALUES]
        for operand in [{}] if op in {"exists", "not_exists"} else operands:
            try:
                yield parse_condition({"field": field, "op": op, **operand}, roots=list(Root), stored=True)
            except InvalidCondition:
                continue


@pytest.mark.slow
def test_each_operation_means_the_same_for_each_pair_of_values(population: list[Facts]) -> None:
    tried = list(every_test_of("customer.v"))
    assert len(tried) > 800
    for condition in tried:
        assert chosen_by_sql(condition) == chosen_by_python(condition, population), condition


def test_each_operation_means_the_same_for_each_pair_of_fields(population: list[Facts]) -> None:
    """The values of `v` in payload and event are drawn at random, so that all kinds meet; a field also meets itself."""
    pairs = [
        ("customer.v", "customer.v"), ("customer.v", "customer.w"), ("customer.w", "customer.v"),
        ("customer.v", "api.payload.v"), ("event.properties.v", "customer.v"),
        ("customer.email", "event.name"), ("event.properties.v.a", "api.payload.v.a"),
        ("customer.v", "customer.missing"),
        ("customer.missing", "customer.missing"), ("event.messageId", "customer.names.'"),
    ]  # fmt: skip
    for field, to in pairs:
        for op in OPS:
            if not op.endswith("exists"):
                condition = parse_condition({"field": field, "op": op, "to": to}, roots=list(Root))
                assert chosen_by_sql(condition) == chosen_by_python(condition, population), (field, op, to)


def test_each_field_leads_to_the_same_value(population: list[Facts], subtests: pytest.Subtests) -> None:
    tests: list[dict[str, Any]] = [
        {"op": "exists"},
        {"op": "gte", "value": ""},
        {"op": "lte", "value": "5"},
        {"op": "gte", "value": 1},
        {"op": "contains", "value": "a"},
        {"op": "in", "value": [True, False, [], {}, ["a", "b"], "'; --"]},
    ]
    for field in FIELDS:
        with subtests.test(field=field):
            for test in tests:
                condition = parse_condition({"field": field, **test}, roots=list(Root), stored=True)
                assert chosen_by_sql(condition) == chosen_by_python(condition, population), condition


@each("name, column", IDENTIFIER_COLUMNS.items())
def test_an_identifier_s_name_never_means_an_attribute(population: list[Facts], name: str, column: str) -> None:
    known = {facts.customer.id for facts in population if getattr(facts.customer, column) is not None}
    condition = parse_condition({"field": f"customer.{name}", "op": "exists"}, roots=list(Root))
    assert chosen_by_sql(condition) == chosen_by_python(condition, population) == known


@pytest.mark.slow
def test_trees_mean_the_same_for_every_customer_payload_and_event(population: list[Facts]) -> None:
    @examples(200, derandomize=True)
    @given(trees)
    def agree(tree: dict[str, Any]) -> None:
        condition = parse_condition(tree, roots=list(Root), stored=True)
        assert chosen_by_sql(condition) == chosen_by_python(condition, population)

    agree()

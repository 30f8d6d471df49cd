"""What each operation of a condition means, as one table; the SQL is held to the same meaning elsewhere."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from customers.conditions import Facts, Root, evaluate, parse_condition
from tests.customers.facts import NOBODY
from tests.support.cases import each

MISSING = object()
TODAY = "2026-11-20"
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def holds(test: dict[str, Any], value: Any) -> bool:
    """Whether the test holds where the attribute has this value."""
    attributes = {} if value is MISSING else {"a": value}
    condition = parse_condition({"field": "customer.a", **test}, roots=["customer"], stored=True)
    return evaluate(condition, Facts(customer=replace(NOBODY, attributes=attributes), now=NOW))


@each(
    "op, operand, true_for, false_for",
    [
        ("eq", "pro", ["pro"], ["Pro", "pro ", "", ["pro"]]),
        ("eq", 1, [1, 1.0], ["1", True, 2, [1]]),
        ("eq", 0.1, [0.1], [0.1 + 1e-17 * 2, "0.1"]),
        ("eq", 2**53 + 1, [2**53 + 1], [2**53, float(2**53)]),
        ("eq", 9223372036854778000, [9.223372036854778e18], [9223372036854777856]),
        ("eq", True, [True], [1, "true", False]),
        ("eq", [1, {"b": 2}], [[1.0, {"b": 2.0}]], [[{"b": 2}, 1], [1], [1, {"b": True}], {"0": 1}]),
        ("eq", {"b": [None], "c": 1}, [{"c": 1, "b": [None]}], [{"b": [None]}, {"b": [], "c": 1}]),
        ("eq", {"b": 1}, [{"b": 1.0}], [{"a": 1}, {"b": 1, "c": 1}, {}]),
        ("eq", "ä", ["ä"], ["a\u0308"]),
        ("ne", "pro", ["free", 1, MISSING, None], ["pro"]),
        ("gt", 10, [10.5, 11], [10, 9, "11", True, [11]]),
        ("gte", 10, [10, 10.0, 11], [9.99, "10"]),
        ("lt", 10, [9, -1e300], [10, False, "9"]),
        ("lte", 10, [10, 9], [10.01, None]),
        ("gt", "B", ["C", "a", "ä", "😀"], ["B", "A", "", 3]),
        ("lt", "\U00010000", ["\uffff", ""], ["\U00010000", "\U00010001"]),
        ("in", ["pro", 1], ["pro", 1, 1.0], ["1", True, "free", ["pro"]]),
        ("not_in", ["pro", 1], ["free", "1", MISSING, None], ["pro", 1.0]),
        ("contains", "ab", ["xaby", "ab", ["ab"]], ["AB", "a b", ["xaby"], [["ab"]], {"ab": 1}]),
        ("contains", 1, [[0, 1.0]], [["1"], [True], 1, 11, "1"]),
        ("contains", True, [[True]], [[1], True, "true"]),
        ("contains", "", ["", "x", [""]], [[], [" "], {}]),
        ("starts_with", "ab", ["ab", "abc"], ["xab", "AB", ["ab"], "a"]),
        ("starts_with", "%", ["%a"], ["a"]),
        ("ends_with", "ab", ["ab", "xab"], ["abx", "b", ["ab"]]),
        ("ends_with", "", ["", "x"], [1]),
        ("before", TODAY, ["2026-11-19", "2026-11-19T23:59:59.999999Z", "2026-11-20T00:00+00:01"], [TODAY, "x", 0]),
        ("after", TODAY, ["2026-11-20T00:00:00.000001", "2026-11-20T00:00-00:01"], [TODAY, "2026-11-20T00:00:00Z", ""]),
        ("after", "2026-11-20T02:00+02:00", ["2026-11-20T00:01Z"], [TODAY]),
        ("before", {"now": "-P7D"}, ["2026-11-12T23:59:59Z"], ["2026-11-13", TODAY, "x"]),
        ("after", {"now": "PT2H"}, ["2026-11-20T02:00:01Z"], ["2026-11-20T02:00Z", TODAY]),
    ],
)
def test_an_operation_with_a_value(op: str, operand: Any, true_for: list[Any], false_for: list[Any]) -> None:
    test = {"op": op, "value": operand}
    assert [holds(test, value) for value in true_for] == [True] * len(true_for)
    assert [holds(test, value) for value in false_for] == [False] * len(false_for)


@each("value", ["", 0, False, [], {}])
def test_a_field_exists_whatever_its_value(value: Any) -> None:
    assert holds({"op": "exists"}, value)
    assert not holds({"op": "not_exists"}, value)


VALUES_FOR = {
    "eq": 1, "gt": 1, "gte": 1, "lt": 1, "lte": 1, "in": [1], "contains": "", "starts_with": "", "ends_with": "",
    "before": "9999-12-31", "after": "0001-01-01", "ne": 1, "not_in": [1],
}  # fmt: skip


@each("missing", [MISSING, None])
@each("op", [*VALUES_FOR, "exists", "not_exists"])
def test_a_missing_field_makes_every_test_false_but_the_negative_ones(op: str, missing: Any) -> None:
    test = {"op": op} | ({"value": VALUES_FOR[op]} if op in VALUES_FOR else {})
    assert holds(test, missing) == (op in {"ne", "not_in", "not_exists"})


@each(
    "op, value, true_to, false_to",
    [
        ("eq", "a", ["a"], ["A", ["a"], 1]),
        ("eq", 1, [1.0], ["1", True]),
        ("ne", "a", ["b", MISSING, None], ["a"]),
        ("gt", 2, [1, 1.5], [2, "1", True, MISSING]),
        ("lt", "a", ["b"], ["A", 5, MISSING]),
        ("in", "a", [["a"], ["b", "a"]], ["a", ["A"], {"a": "a"}, 1, MISSING]),
        ("not_in", "a", [["b"], [], "a", MISSING], [["a"]]),
        ("contains", "abc", ["b", ""], ["x", 1, ["b"], MISSING]),
        ("contains", ["a", [1]], ["a", [1.0]], [1, [], MISSING, None]),
        ("starts_with", "abc", ["ab", ""], ["b", 1, MISSING]),
        ("ends_with", "abc", ["bc"], ["b", ["c"], MISSING]),
        ("before", TODAY, ["2026-11-20T00:01"], [TODAY, "soon", 5, MISSING]),
        ("after", TODAY, ["2026-11-19"], [TODAY, "", MISSING]),
    ],
)
def test_an_operation_with_another_field(op: str, value: Any, true_to: list[Any], false_to: list[Any]) -> None:
    def holds_to(other: Any) -> bool:
        attributes = {"a": value} | ({} if other is MISSING else {"b": other})
        condition = parse_condition({"field": "customer.a", "op": op, "to": "customer.b"}, roots=["customer"])
        return evaluate(condition, Facts(customer=replace(NOBODY, attributes=attributes), now=NOW))

    assert [holds_to(other) for other in true_to] == [True] * len(true_to)
    assert [holds_to(other) for other in false_to] == [False] * len(false_to)


@each("op, negative", [("eq", "ne"), ("in", "not_in")])
def test_two_missing_fields_are_not_equal(op: str, negative: str) -> None:
    def test(op: str) -> bool:
        condition = parse_condition({"field": "customer.a", "op": op, "to": "customer.b"}, roots=["customer"])
        return evaluate(condition, Facts(customer=NOBODY, now=NOW))

    assert (test(op), test(negative)) == (False, True)


ADA = Facts(
    now=NOW,
    customer=replace(
        NOBODY,
        id="650000000000000000000001",
        external_id="ada",
        email="ada@example.com",
        attributes={
            "email": "other@example.com",
            "phone": "+44",
            "user_id": {"nested": 1},
            "userId": "another",
            "address": {"city": "Ulm", "lines": ["a", "b"]},
            "attributes": {"email": "inner"},
            "external_id": {"nested": 2},
        },
    ),
    payload={"order": {"total": 5}},
    event_name="purchased",
    event_properties={"sku": "x1"},
)


@each(
    "field, value",
    [
        ("customer.email", "ada@example.com"),
        ("customer.attributes.email", "other@example.com"),
        ("customer.external_id", "ada"),
        ("customer.externalId", "ada"),
        ("customer.id", "650000000000000000000001"),
        ("customer.customerId", "650000000000000000000001"),
        ("customer.attributes.phone", "+44"),
        ("customer.attributes.user_id.nested", 1),
        ("customer.address.city", "Ulm"),
        ("customer.attributes.attributes.email", "inner"),
        ("api.payload.order.total", 5),
        ("api.properties.order.total", 5),
        ("event.name", "purchased"),
        ("event.properties.sku", "x1"),
    ],
)
def test_a_field_has_the_value_that_it_names(field: str, value: Any) -> None:
    assert evaluate(parse_condition({"field": field, "op": "eq", "value": value}, roots=list(Root)), ADA)


@each("field, value", [("customer.phone", "+49"), ("customer.user_id", "u1"), ("customer.userId", "u1")])
def test_an_identifier_is_meant_whatever_attributes_are_called(field: str, value: str) -> None:
    others = {"phone": "+44", "user_id": "other", "userId": "other"}
    facts = Facts(now=NOW, customer=replace(NOBODY, phone="+49", user_id="u1", attributes=others))
    assert evaluate(parse_condition({"field": field, "op": "eq", "value": value}, roots=list(Root)), facts)


@each(
    "field",
    [
        "customer.phone",  # an identifier that is not set is no attribute of that name
        "customer.userId",
        "customer.user_id",
        "customer.user_id.nested",
        "customer.external_id.nested",  # the identifier is set, and is a string
        "customer.address.lines.0",  # dots do not lead into arrays
        "customer.address.city.length",
        "customer.Email",
        "api.payload.order.missing",
        "event.properties.name",
    ],
)
def test_a_field_that_leads_nowhere_is_missing(field: str) -> None:
    assert evaluate(parse_condition({"field": field, "op": "not_exists"}, roots=list(Root)), ADA)


YES: dict[str, Any] = {"field": "customer.email", "op": "exists"}
NO: dict[str, Any] = {"field": "customer.nothing", "op": "exists"}


@each(
    "condition, expected",
    [
        ({"all": [YES, YES]}, True),
        ({"all": [YES, NO]}, False),
        ({"any": [NO, YES]}, True),
        ({"any": [NO, NO]}, False),
        ({"not": NO}, True),
        ({"not": YES}, False),
        ({"not": {"all": [YES, {"any": [NO, {"not": YES}]}]}}, True),
        ({"not": {"field": "customer.nothing", "op": "gt", "value": 1}}, True),
    ],
)
def test_all_any_and_not(condition: dict[str, Any], expected: bool) -> None:
    assert evaluate(parse_condition(condition, roots=["customer"]), ADA) is expected

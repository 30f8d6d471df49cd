"""Reading a condition: what is refused, and that the refusal names the place."""

import math
from typing import Any

import pytest

from customers.conditions import AllOf, AnyOf, FieldTest, InvalidCondition, Not, Op, Root, parse_condition
from customers.conditions.fields import Field, Source
from tests.support.cases import each
from tests.support.factories import PRO

PLAN = Field(Source.CUSTOMER, ("plan",))


def refusal(value: object, *, roots: tuple[str, ...] = ("customer", "api", "event"), place: str = "") -> str:
    with pytest.raises(InvalidCondition) as refused:
        parse_condition(value, roots=roots, place=place)
    assert (refused.value.status, refused.value.error, refused.value.code) == (
        400,
        "Invalid condition",
        "invalid_condition",
    )
    return refused.value.message


def test_a_condition_is_read_to_a_tree() -> None:
    written = {"all": [PRO, {"any": [{"field": "customer.plan", "op": "exists"}, {"not": PRO}]}]}
    pro = FieldTest(PLAN, Op.EQ, "pro")
    assert parse_condition(written, roots=[Root.CUSTOMER]) == AllOf(
        (pro, AnyOf((FieldTest(PLAN, Op.EXISTS), Not(pro))))
    )


@each(
    "written, op, operand",
    [
        ({"op": "ne", "value": 1}, Op.EQ, 1),
        ({"op": "not_in", "value": [1]}, Op.IN, [1]),
        ({"op": "not_exists"}, Op.EXISTS, None),
    ],
)
def test_negative_operations_negate_the_positive_ones(written: dict[str, Any], op: Op, operand: Any) -> None:
    condition = parse_condition({"field": "customer.plan", **written}, roots=["customer"])
    assert condition == Not(FieldTest(PLAN, op, operand))


@each(
    "field, source, path",
    [
        ("customer.email", Source.CUSTOMER, ("email",)),
        ("customer.address.city", Source.CUSTOMER, ("address", "city")),
        ("customer.attributes.email", Source.ATTRIBUTES, ("email",)),
        ("customer.attributes.attributes.a", Source.ATTRIBUTES, ("attributes", "a")),
        ("customer.größe in cm", Source.CUSTOMER, ("größe in cm",)),
        ("api.payload.order.id", Source.PAYLOAD, ("order", "id")),
        ("api.properties.order.id", Source.PAYLOAD, ("order", "id")),
        ("event.name", Source.EVENT_NAME, ()),
        ("event.properties.name", Source.EVENT_PROPERTIES, ("name",)),
        ("event.properties.order.id", Source.EVENT_PROPERTIES, ("order", "id")),
    ],
)
def test_a_field_names_a_source_and_a_path_in_it(field: str, source: Source, path: tuple[str, ...]) -> None:
    condition = parse_condition({"field": field, "op": "exists"}, roots=list(Root))
    assert condition == FieldTest(Field(source, path), Op.EXISTS)


@each(
    "value, message",
    [
        ([], "The value must be an object, but an array came."),
        (None, "The value must be an object, but null came."),
        ({}, "The value must hold all, any or not, or field and op."),
        ({"al": []}, "The value must hold all, any or not, or field and op."),
        ({"all": {}}, "all must be an array, but an object came."),
        ({"any": []}, "any must hold at least one condition."),
        ({"all": [PRO], "any": [PRO]}, "any is not known; what may stand here is all."),
        ({"not": [PRO]}, "not must be an object, but an array came."),
        ({"all": [PRO, "x"]}, "all[1] must be an object, but a string came."),
        ({"field": "customer.a"}, "op is required."),
        ({"op": "exists"}, "field is required."),
        ({"field": "customer.a", "op": "eq"}, "value is required."),
        (PRO | {"note": "x"}, "note is not known; what may stand here is field, op, value."),
        (
            {"field": "customer.a", "op": "exists", "value": True},
            "value is not known; what may stand here is field, op.",
        ),
        (PRO | {"op": 1}, "op must be a string, but a number came."),
        (PRO | {"field": " "}, "field must not be blank."),
        (PRO | {"field": ["customer"]}, "field must be a string, but an array came."),
    ],
)
def test_what_is_no_condition_is_refused_at_its_place(value: object, message: str) -> None:
    assert refusal(value) == message


def test_the_place_leads_through_the_tree() -> None:
    value = {"all": [PRO, {"not": PRO | {"op": "equals"}}]}
    known = "eq, gt, gte, lt, lte, in, contains, starts_with, ends_with, exists, before, after, ne, not_in, not_exists"
    assert refusal(value) == f"all[1].not.op must be one of {known}, not 'equals'."
    assert refusal(value, place="entryConditions").startswith("entryConditions.all[1].not.op must be one of ")


@each(
    "field",
    [
        "plan", "customer", "customer.attributes", "api", "api.payload", "api.properties", "api.other.x", "event",
        "event.properties", "event.name.x", "Customer.plan", "segment.id",
    ],
)  # fmt: skip
def test_what_is_no_field_is_refused_with_those_that_are(field: str) -> None:
    assert refusal({"not": {"field": field, "op": "exists"}}) == (
        f"not.field is {field!r}, which is no field here; a field is "
        "customer.<field>, api.payload.<key>, event.name, event.messageId, event.deliveryId, event.verified "
        "or event.properties.<key>."
    )


def test_a_root_that_means_nothing_here_is_refused() -> None:
    assert refusal({"field": "api.payload.x", "op": "exists"}, roots=("customer",)) == (
        "field is 'api.payload.x', which is no field here; a field is customer.<field>."
    )


@each("field", ["customer.", "customer..a", ".customer.a", "customer.a.", "customer. .a.."])
def test_an_empty_name_between_dots_is_refused(field: str) -> None:
    assert refusal({"field": field, "op": "exists"}) == (f"field is {field!r}, where a name between the dots is empty.")


ANY_SCALAR = "a string, a number or a boolean"
INSTANT = (
    "must be a time in ISO 8601 such as 2026-11-20 or 2026-11-20T19:08:00Z, or one that is so far from now: "
    '{"now": "-P7D"}.'
)


@each(
    "op, value, message",
    [
        ("eq", None, "must not be null; exists and not_exists ask whether there is a value."),
        ("ne", None, "must not be null; exists and not_exists ask whether there is a value."),
        ("gt", True, "must be a number or a string, but a boolean came."),
        ("lte", [1], "must be a number or a string, but an array came."),
        ("in", "pro", "must be an array, but a string came."),
        ("in", [], "must hold at least one value."),
        ("contains", ["a"], f"must be {ANY_SCALAR}, but an array came."),
        ("contains", None, f"must be {ANY_SCALAR}, but null came."),
        ("starts_with", 1, "must be a string, but a number came."),
        ("ends_with", {}, "must be a string, but an object came."),
        ("before", 20261120, "must be a string, but a number came."),
        ("after", "tomorrow", INSTANT),
        ("after", "2026-02-30", INSTANT),
    ],
)
def test_each_operation_refuses_the_values_that_it_cannot_compare_with(op: str, value: Any, message: str) -> None:
    assert refusal({"any": [{"field": "customer.a", "op": op, "value": value}]}) == f"any[0].value {message}"


def test_a_refused_item_of_a_list_is_named() -> None:
    message = refusal({"field": "customer.a", "op": "in", "value": ["a", None]})
    assert message == "value[1] must not be null; exists and not_exists ask whether there is a value."


TO = 'Name a field in "to", instead of "value".'
LETTERS = "is a text, which is less or more than texts alone, letter by letter. Write the number:"


@each(
    "op, value, message",
    [
        ("eq", "{{ customer.a }}", f" is a template, but a condition compares with the text as it is written. {TO}"),
        ("not_in", ["a", "{% if a %}"], "[1] is a template, but a condition compares with the text as it is written. "),
        ("eq", "api.payload.a", " is the name of a field, but a condition compares with the text as it is written. "),
        ("in", ["customer.attributes.a.b"], "[0] is the name of a field, but a condition compares with "),
        ("gte", "10", f" {LETTERS} 10."),
        ("lt", " -1.5e3 ", f" {LETTERS} -1.5e3."),
        ("ne", {"a": 1}, f" must not be an object. {TO}"),
        ("eq", {"now": "-P7D"}, f" must not be an object. {TO}"),
        ("in", [{}], f"[0] must not be an object. {TO}"),
        ("before", {"now": "-P1Y"}, ".now must not count in years or months, which have no fixed length: say days, "),
        ("after", {"now": "--P1D"}, ".now must not be negative."),
        ("after", {"then": "P1D"}, ".then is not known; what may stand here is now."),
    ],
)
def test_what_never_holds_is_refused_with_a_hint(op: str, value: Any, message: str) -> None:
    assert refusal({"field": "customer.a", "op": op, "value": value}).startswith(f"value{message}")


@each(
    "field, op, value, operand",
    [
        ("customer.email", "eq", " Ada@Example.com", "ada@example.com"),
        ("customer.email", "in", ["ADA@BÜCHER.example"], ["ada@xn--bcher-kva.example"]),
        ("customer.email", "ends_with", "@Example.com", "@example.com"),
        ("customer.phone", "eq", "+49 (30) 901820", "+4930901820"),
        ("customer.phone", "starts_with", "+49 ", "+49 "),
        ("customer.externalId", "eq", "e\u0301", "é"),
        ("customer.userId", "contains", "e\u0301", "é"),
        ("customer.attributes.email", "eq", "Ada@Example.com", "Ada@Example.com"),
        ("customer.email.a", "eq", "A", "A"),
        ("api.payload.email", "eq", "Ada@Example.com", "Ada@Example.com"),
    ],
)
def test_values_beside_identifiers_are_read_in_their_stored_spelling(
    field: str, op: str, value: Any, operand: Any
) -> None:
    condition = parse_condition({"field": field, "op": op, "value": value}, roots=list(Root))
    assert isinstance(condition, FieldTest)
    assert condition.operand == operand


@each("name", ["field", "to"])
def test_a_position_in_a_list_is_no_name_but_in_what_was_stored_before(name: str) -> None:
    test = {"field": "customer.a", "op": "eq", "to": "customer.b", name: "customer.items[0].price"}
    assert refusal(test).startswith(f"{name} holds [0], but a condition does not look into lists.")
    parse_condition(test, roots=list(Root), stored=True)
    parse_condition({**test, name: "customer.colours[]"}, roots=list(Root))


@each("text", ["customer.created", "api.payload", "event.name", "see api.payload.a", "event.properties."])
def test_a_text_that_only_looks_like_a_field_is_a_value(text: str) -> None:
    parse_condition({"field": "event.name", "op": "eq", "value": text}, roots=list(Root))


def test_a_test_may_name_another_field_in_place_of_a_value() -> None:
    test = {"field": "event.properties.cart", "op": "ne", "to": "api.payload.cart"}
    cart = FieldTest(Field(Source.EVENT_PROPERTIES, ("cart",)), Op.EQ, Field(Source.PAYLOAD, ("cart",)))
    assert parse_condition(test, roots=list(Root)) == Not(cart)


@each(
    "test, message",
    [
        (
            {"op": "eq", "to": "api.payload.x"},
            "to is 'api.payload.x', which is no field here; a field is customer.<field>.",
        ),
        ({"op": "gt", "to": 5}, "to must be a string, but a number came."),
        ({"op": "eq", "to": "customer.b", "value": 1}, "value is not known; what may stand here is field, op, to."),
        ({"op": "exists", "to": "customer.b"}, "to is not known; what may stand here is field, op."),
    ],
)
def test_a_bad_other_field_is_refused(test: dict[str, Any], message: str) -> None:
    assert refusal({"field": "customer.a", **test}, roots=("customer",)) == message


@each(
    "value, what",
    [
        ("a\x00", "a NUL character"),
        ({"\x00": 1}, "a NUL character"),
        (["\ud800"], "half of a surrogate pair"),
        (math.nan, "a number that is not finite"),
        ([math.inf], "a number that is not finite"),
    ],
)
def test_a_value_that_cannot_be_stored_is_refused(value: Any, what: str) -> None:
    message = refusal({"field": "customer.a", "op": "eq", "value": value})
    assert message == f"value holds {what}, which cannot be stored."


def test_a_name_that_cannot_be_stored_is_refused() -> None:
    message = refusal({"field": "customer.a\x00", "op": "exists"})
    assert message == "field holds a NUL character, which no name can hold."


def nested(levels: int, word: str = "not") -> dict[str, Any]:
    condition: dict[str, Any] = PRO
    for _ in range(levels - 1):
        condition = {word: condition if word == "not" else [condition]}
    return condition


@each("word, place", [("not", "not"), ("all", "all[0]"), ("any", "any[0]")])
def test_conditions_are_nested_at_most_10_deep(word: str, place: str) -> None:
    parse_condition(nested(10, word), roots=["customer"])
    assert refusal(nested(11, word)) == f"{'.'.join([place] * 10)} is nested too deeply; conditions go at most 10 deep."
    assert refusal(nested(500, word)).endswith("conditions go at most 10 deep.")


def test_a_condition_holds_at_most_100_tests() -> None:
    parse_condition({"all": [{"any": [PRO] * 50}] * 2}, roots=["customer"])
    message = refusal({"all": [{"any": [PRO] * 50}, {"any": [PRO] * 51}]}, place="conditions")
    assert message == "conditions holds 101 tests; its maximum is 100."
    assert refusal({"all": [PRO] * 101}) == "all holds 101 items; its maximum is 100."


def test_a_list_holds_at_most_1000_values() -> None:
    parse_condition({"field": "customer.a", "op": "in", "value": list(range(1000))}, roots=["customer"])
    message = refusal({"field": "customer.a", "op": "not_in", "value": list(range(1001))})
    assert message == "value holds 1001 items; its maximum is 1000."


def test_a_field_is_at_most_512_characters_and_12_names_long() -> None:
    parse_condition({"field": f"customer.{'a' * 503}", "op": "exists"}, roots=["customer"])
    assert refusal({"field": f"customer.{'a' * 504}", "op": "exists"}) == (
        "field must be at most 512 characters long, not 513."
    )
    parse_condition({"field": f"customer{'.a' * 11}", "op": "exists"}, roots=["customer"])
    assert refusal({"field": f"customer{'.a' * 12}", "op": "exists"}) == (
        "field goes through 13 names; values are nested at most 10 deep."
    )


def test_a_value_is_nested_at_most_10_deep() -> None:
    value: list[Any] = []
    for _ in range(9):
        value = [value]
    parse_condition({"field": "customer.a", "op": "eq", "value": value}, roots=["customer"])
    value = [value]
    assert refusal({"field": "customer.a", "op": "eq", "value": value}) == "value is nested more than 10 deep."

"""Why a condition does not hold, in words; and what decided, whether it holds or not."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from customers.conditions import (
    Facts,
    Root,
    evaluate,
    findings_of,
    in_words,
    parse_condition,
    values_that_decide,
    why_not,
)
from tests.customers.facts import NOBODY
from tests.support.cases import each

NOW = datetime(2026, 11, 20, tzinfo=UTC)
FACTS = Facts(
    now=NOW,
    customer=replace(
        NOBODY,
        external_id="ada",
        attributes={"plan": "free", "seats": 3, "tags": ["a", "b"], "born": "1990-05-17", "beta": True, "über": "é"},
    ),
    payload={"order": {"total": 9.5}},
    event_name="paid",
    event_properties={"what": "hat"},
)


def field(name: str, op: str, *value: Any) -> dict[str, Any]:
    return {"field": name, "op": op, **({"value": value[0]} if value else {})}


def to(name: str, op: str, other: str) -> dict[str, Any]:
    return {"field": name, "op": op, "to": other}


PRO, BIG, VIP = (
    field("customer.plan", "eq", "pro"),
    field("customer.seats", "gte", 10),
    field("customer.vip", "exists"),
)
FREE, SMALL = field("customer.plan", "eq", "free"), field("customer.seats", "lt", 10)


def told(written: Any, facts: Facts = FACTS) -> list[str]:
    return why_not(parse_condition(written, roots=list(Root), stored=True), findings_of(facts))


@each(
    "test, sentence",
    [
        (PRO, 'customer.plan is "free", wanted "pro"'),
        (field("customer.plan", "ne", "free"), 'customer.plan is "free", wanted anything but "free"'),
        (field("customer.attributes.plan", "eq", 1), 'customer.attributes.plan is "free", wanted 1'),
        (field("customer.seats", "gt", 3), "customer.seats is 3, wanted more than 3"),
        (field("customer.seats", "gte", "3"), 'customer.seats is 3, wanted at least "3"'),
        (field("customer.seats", "lt", 3), "customer.seats is 3, wanted less than 3"),
        (field("customer.seats", "lte", 2.5), "customer.seats is 3, wanted at most 2.5"),
        (field("customer.plan", "in", ["pro", "team"]), 'customer.plan is "free", wanted one of "pro", "team"'),
        (field("customer.plan", "not_in", ["free"]), 'customer.plan is "free", wanted none of "free"'),
        (field("customer.tags", "contains", "c"), 'customer.tags is ["a", "b"], wanted something that contains "c"'),
        (field("customer.plan", "starts_with", "p"), 'customer.plan is "free", wanted a text that starts with "p"'),
        (field("customer.plan", "ends_with", "o"), 'customer.plan is "free", wanted a text that ends with "o"'),
        (VIP, "customer.vip has no value, wanted a value"),
        (field("customer.beta", "not_exists"), "customer.beta is true, wanted no value"),
        (
            field("customer.born", "before", "1980-01-01"),
            'customer.born is "1990-05-17", wanted a time before 1980-01-01T00:00:00Z',
        ),
        (
            field("customer.plan", "after", "1980-01-01T12:00:00+02:00"),
            'customer.plan is "free", wanted a time after 1980-01-01T12:00:00+02:00',
        ),
        (
            field("customer.born", "after", {"now": "-P7D"}),
            'customer.born is "1990-05-17", wanted a time after 1 week ago',
        ),
        (
            to("customer.plan", "eq", "event.properties.what"),
            'customer.plan is "free", wanted event.properties.what ("hat")',
        ),
        (to("customer.seats", "gt", "customer.a"), "customer.seats is 3, wanted more than customer.a (no value)"),
        (field("customer.external_id", "eq", "bob"), 'customer.external_id is "ada", wanted "bob"'),
        (field("customer.email", "eq", "a@b.cc"), 'customer.email has no value, wanted "a@b.cc"'),
        (field("customer.über", "eq", "{}"), 'customer.über is "é", wanted "{}"'),
        (field("api.payload.order.total", "gte", 10), "api.payload.order.total is 9.5, wanted at least 10"),
        (field("api.properties.order", "eq", 1), 'api.payload.order is {"total": 9.5}, wanted 1'),
        (field("event.name", "eq", "left"), 'event.name is "paid", wanted "left"'),
        (field("event.properties.what", "eq", "cap"), 'event.properties.what is "hat", wanted "cap"'),
        ({"not": FREE}, 'customer.plan is "free", wanted anything but "free"'),
        ({"not": {"not": PRO}}, 'customer.plan is "free", wanted "pro"'),
        ({"not": SMALL}, "customer.seats is 3, wanted not less than 10"),
    ],
)
def test_a_test_that_fails_says_what_was_there_and_what_was_wanted(test: Any, sentence: str) -> None:
    assert told(test) == [sentence]


PLAN, SEATS = told(PRO)[0], told(BIG)[0]
NO_VIP = "customer.vip has no value, wanted a value"


@each(
    "condition, sentences",
    [
        (FREE, []),
        ({"all": [FREE, PRO, BIG]}, [PLAN]),
        ({"any": [PRO, BIG, VIP]}, [PLAN, SEATS, NO_VIP]),
        ({"any": [PRO, FREE]}, []),
        ({"all": [{"any": [PRO, BIG]}, VIP]}, [PLAN, SEATS]),
        ({"any": [{"all": [FREE, BIG]}, {"all": [PRO, BIG]}]}, [SEATS, PLAN]),
        ({"any": [PRO, PRO]}, [PLAN]),
        # what is refused because all of it holds
        (
            {"not": {"all": [FREE, SMALL]}},
            ['customer.plan is "free", wanted anything but "free"', "customer.seats is 3, wanted not less than 10"],
        ),
        ({"not": {"any": [PRO, SMALL, FREE]}}, ["customer.seats is 3, wanted not less than 10"]),
    ],
)
def test_of_all_the_first_that_fails_is_told_and_of_any_all_of_them(condition: Any, sentences: list[str]) -> None:
    assert told(condition) == sentences


def test_at_most_five_tests_are_told() -> None:
    assert told({"any": [field(f"customer.f{n}", "exists") for n in range(9)]}) == [
        f"customer.f{n} has no value, wanted a value" for n in range(5)
    ]


@each("value", ["x" * 50_000, ["x" * 150] * 1000, {"name": "y" * 500}, [[]] * 1000, list(range(1000))])
def test_a_long_value_is_cut_on_both_sides(value: Any) -> None:
    facts = replace(FACTS, customer=replace(FACTS.customer, attributes={"plan": value}))
    [sentence] = told({"not": field("customer.plan", "eq", value)}, facts)
    was, _, wanted = sentence.removeprefix("customer.plan is ").rpartition(", wanted anything but ")
    assert was == wanted
    assert (len(was), was[-1]) == (201, "…")
    [sentence] = told(field("customer.plan", "in", [f"team {n}" for n in range(1000)]), facts)
    assert len(sentence) < 500


@each(
    "test, words",
    [
        (to("event.properties.cart", "eq", "api.payload.cart"), "event.properties.cart is api.payload.cart"),
        (to("customer.plan", "not_in", "api.payload.of"), "customer.plan is none of api.payload.of"),
        (field("customer.at", "before", {"now": "P1DT2H"}), "customer.at is a time before 1 day 2 hours from now"),
        ({"not": field("customer.at", "after", {"now": "PT0S"})}, "customer.at is no time after now"),
    ],
)
def test_what_is_compared_with_is_told_in_words(test: Any, words: str) -> None:
    assert in_words(parse_condition(test, roots=list(Root))) == words


@each(
    "conditions, texts",
    [
        ([FREE], ['customer.plan is "free"']),
        ([PRO, BIG, VIP], ['customer.plan is "free"', "customer.seats is 3", "customer.vip has no value"]),
        ([PRO, field("customer.plan", "eq", "team")], ['customer.plan is "free"']),
        ([{"all": [FREE, SMALL]}], ['customer.plan is "free"', "customer.seats is 3"]),
        ([{"any": [PRO, SMALL, FREE]}], ["customer.seats is 3"]),
        ([{"not": {"any": [PRO, BIG]}}], ['customer.plan is "free"', "customer.seats is 3"]),
    ],
)
def test_the_values_that_decided_are_told(conditions: list[Any], texts: list[str]) -> None:
    parsed = [parse_condition(condition, roots=list(Root)) for condition in conditions]
    assert values_that_decide(parsed, findings_of(FACTS)) == texts


trees = st.recursive(
    st.sampled_from([PRO, BIG, VIP, FREE, SMALL, field("customer.plan", "ne", "free")]),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=8,
)


@given(written=trees)
def test_whatever_does_not_hold_has_a_reason_and_nothing_else_has(written: Any) -> None:
    condition, findings = parse_condition(written, roots=list(Root), stored=True), findings_of(FACTS)
    assert bool(why_not(condition, findings)) == (not evaluate(condition, FACTS))
    assert values_that_decide([condition], findings)

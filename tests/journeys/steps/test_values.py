"""`$value`: a value with its type, wherever a string of a body, attributes or properties may be a template."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from journeys.steps.context import Occurrence
from journeys.steps.course import parse_course
from journeys.steps.results import StepRecord
from tests.journeys.steps.contexts import context, course, refusal_of, walk
from tests.support.cases import each

PAYLOAD: dict[str, Any] = {
    "n": 42, "zero": 0, "no": False, "void": None, "items": [{"price": 1.5}, {"price": 2}], "odd name": {"a.b": "x"},
    "text": '{{ customer.id }}","evil":"', "size": 3,
}  # fmt: skip
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("$va.l{ ", max_size=6), inner, max_size=3),
    max_leaves=12,
)


def value(name: str, **default: Any) -> dict[str, Any]:
    return {"$value": name, **default}


def sent(body: Any, *, payload: Any = PAYLOAD, event: Occurrence | None = None) -> StepRecord:
    step = {"id": "tell", "type": "webhook", "url": "https://example.com/", "body": body}
    return walk(course(step), context(payload=payload, event=event)).step_records[0]


def rendered(body: Any, *, payload: Any = PAYLOAD, event: Occurrence | None = None) -> Any:
    request = sent(body, payload=payload, event=event).request
    assert request is not None
    assert request.body is not None
    return json.loads(request.body)


@each(
    "name, expected",
    [
        ("api.payload.n", 42),
        ("api.properties.zero", 0),
        ("api.payload.no", False),
        ("api.payload.void", None),
        ("api.payload.items", [{"price": 1.5}, {"price": 2}]),
        ("api.payload.items[0].price", 1.5),
        ("api.payload.items[-1]['price']", 2),
        ("api.payload.items.size", 2),
        ("api.payload.size", 3),
        ('api.payload["odd name"]["a.b"]', "x"),
        ("api.payload.text", PAYLOAD["text"]),
        ("customer.seats", 12),
        ("customer.email", "ada@example.com"),
        ("event.properties.of", ["hat"]),
        ("now", "2026-11-20T12:00:00.000Z"),
    ],
)
def test_a_value_keeps_its_type(name: str, expected: Any) -> None:
    got = rendered({"a": [value(name)]}, event=Occurrence(name="bought", properties={"of": ["hat"]}))
    assert json.dumps(got) == json.dumps({"a": [expected]})


@given(values)
def test_any_json_comes_out_as_it_went_in_and_nothing_breaks_out(given_value: Any) -> None:
    body = {"a": value("api.payload.x"), "b": [value("api.payload.x"), "{{ 1 }}"]}
    got = rendered(body, payload={"x": given_value})
    assert json.dumps([got["a"], *got["b"]], sort_keys=True) == json.dumps(
        [given_value, given_value, "1"], sort_keys=True
    )


def test_what_is_missing_is_left_out_and_noted_and_null_is_null() -> None:
    nothing = value("api.payload.nobody[0].x")
    record = sent({"a": nothing, "b": ["x", nothing, None], "c": value("api.payload.void"), "d": {"e": nothing}})
    assert record.request is not None
    assert record.request.body == '{"b":["x",null],"c":null,"d":{}}'
    assert record.missing == ("api.payload.nobody[0].x",)
    alone = sent(nothing)
    assert alone.request is not None
    assert (alone.request.body, alone.missing) == (None, ("api.payload.nobody[0].x",))
    assert sent(value("event.messageId"), event=Occurrence(name="e", properties={})).missing == ("event.messageId",)


def test_a_default_stands_for_what_is_missing_only_and_may_itself_be_written() -> None:
    nothing = "api.payload.nobody"
    body = {
        "a": value(nothing, default=[]),
        "b": value(nothing, default=None),
        "c": value("api.payload.void", default=1),
        "d": value(nothing, default={"x": "{{ api.payload.n }}", "y": value("api.payload.n"), "z": value(nothing)}),
    }
    record = sent(body)
    assert record.request is not None
    assert record.request.body == '{"a":[],"b":null,"c":null,"d":{"x":"42","y":42}}'
    assert record.missing == (nothing,)


def test_attributes_and_properties_keep_types_too() -> None:
    steps = (
        {"id": "w", "type": "update_profile", "attributes": {
            "score": value("api.payload.n"), "old": value("api.payload.void"), "kept": value("api.payload.nobody"),
        }},
        {"id": "n", "type": "update_profile", "attributes": {"kept": value("api.payload.nobody")}},
        {"id": "e", "type": "track_event", "eventName": "e", "eventProperties": {"n": value("customer.score")}},
    )  # fmt: skip
    first, none, event = walk(course(*steps), context(payload=PAYLOAD)).step_records
    assert (first.writes, first.detail) == ({"score": 42, "old": None}, "Wrote score, old.")
    assert (none.writes, none.detail, none.missing) == ({}, "Wrote nothing.", ("api.payload.nobody",))
    assert event.tracked is not None
    assert event.tracked.properties == {"n": 42}


def test_what_becomes_too_deep_or_too_large_fails_the_step() -> None:
    deep: Any = 1
    for _ in range(9):
        deep = [deep]
    payload = {"deep": deep, "large": ["x" * 1000] * 60}
    for name, detail in (
        ("deep", "The value of attributes is nested more than 10 deep."),
        ("large", ""),
    ):
        step = {"id": "w", "type": "update_profile", "attributes": {"a": {"b": value(f"api.payload.{name}")}}}
        record = walk(course(step), context(payload=payload)).step_records[0]
        assert (record.state, record.detail) == (("failed", detail) if detail else ("done", "Wrote a."))
    step = {
        "id": "e",
        "type": "track_event",
        "eventName": "e",
        "eventProperties": {"a": [value("api.payload.large")] * 2},
    }
    assert walk(course(step), context(payload=payload)).step_records[0].state == "failed"


@each(
    "written, mistake",
    [
        (
            value("user.name"),
            ".$value reads user.name, which never has a value: names begin with customer, api.payload",
        ),
        (value("api.coupon[0]"), ".$value reads api.coupon[0], which never has a value: "),
        (value("api.payload.x | upcase"), ".$value must be the name of a value and nothing else, such as "),
        (value("{{ now }}"), ".$value must be the name of a value and nothing else"),
        (value("'text'"), ".$value must be the name of a value and nothing else"),
        (value("now }} now"), ".$value must be the name of a value and nothing else"),
        (value("api.payload[customer.plan]"), ".$value must be the name of a value and nothing else"),
        (value("api.payload."), ".$value is no valid template"),
        (value(""), ".$value must not be blank."),
        (value(7), ".$value must be a string, but a number came."),  # type: ignore[arg-type]
        (value("now", other=1), ".other is not known; what may stand here is $value, default."),
        (value("now", default=["{{ user.x }}"]), ".default[0] reads user.x, which never has a value: "),
    ],
)
def test_a_mistake_has_its_place_and_what_was_stored_before_is_what_it_was(written: Any, mistake: str) -> None:
    step = {"id": "tell", "type": "webhook", "url": "https://example.com/", "body": {"a": [written]}}
    assert refusal_of(step).startswith(f"steps[0].body.a[0]{mistake}")
    assert parse_course([step], None).first == "tell"


def test_the_whole_of_attributes_and_properties_is_no_value() -> None:
    whole = {"eventName": "e", "eventProperties": value("api.payload")}
    only = "must be an object with a member of its own for each name; only these can be a $value."
    assert refusal_of({"id": "e", "type": "track_event", **whole}) == f"steps[0].eventProperties {only}"
    assert refusal_of({"id": "u", "type": "update_profile", "attributes": value("api.payload")}) == (
        f"steps[0].attributes {only}"
    )
    stored = walk(course({"id": "e", "type": "track_event", **whole})).step_records[0]
    assert stored.tracked is not None
    assert stored.tracked.properties == value("api.payload")

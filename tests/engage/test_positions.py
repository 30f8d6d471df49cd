"""Every value of a JSON text is found by its place."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engage.json.positions import span_of, spans_in

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def places_of(value: Any, place: str) -> dict[str, Any]:
    """Every value by its place; the last one of those whose names make the same place."""
    found: dict[str, Any] = {}
    if isinstance(value, dict):
        for name, inner in value.items():
            found.update(places_of(inner, f"{place}.{name}"))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            found.update(places_of(inner, f"{place}[{number}]"))
    return {**found, place: value}


@given(ANYTHING, st.sampled_from([None, 2]), st.booleans())
def test_each_value_stands_where_it_is_said_to(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    spans = spans_in(text, "steps")
    assert {place: json.loads(text[begin:end]) for place, (begin, end) in spans.items()} == places_of(value, "steps")


def test_a_message_belongs_to_the_innermost_value_that_is_there() -> None:
    text = '[{"id": 1, "body": {"a": [2]}}]'
    spans = spans_in(text, "steps")
    for message, value in {
        "steps[0].body.a[0] is wrong.": "2",
        "steps[0].body.a[0].b is required.": "2",
        "steps[0].bodyguard is not known.": '{"id": 1, "body": {"a": [2]}}',
        "steps[0].id must be a string.": "1",
        "steps holds too much.": text,
    }.items():
        assert text[slice(*(span_of(message, spans) or (0, 0)))] == value, message
    assert span_of("exitOn[0] must hold event.", spans) is None

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.form_values import MAX_MADE_BYTES, mapped
from engage.errors import InvalidRequest
from engage.json.compact import json_bytes, json_bytes_of_members
from tests.support.cases import each

FORM = {"size": "M", "newsletter": True, "size of shoe": None, "M": "of another field"}


@each(
    "fields, values",
    [
        (None, FORM),
        ({}, {}),
        ({"chosen": "size"}, {"chosen": "M"}),
        ({"size": "size", "again": "size"}, {"size": "M", "again": "M"}),
        ({"wants": "newsletter", "shoe": "size of shoe"}, {"wants": True, "shoe": None}),
        ({"source": "in-app"}, {"source": "in-app"}),
        ({"source": "Size"}, {"source": "Size"}),
        ({"source": ""}, {"source": ""}),
        (
            {"n": 1, "t": True, "l": ["size"], "o": {"size": "size"}},
            {"n": 1, "t": True, "l": ["size"], "o": {"size": "size"}},
        ),
        ({"nothing": None}, {"nothing": None}),
    ],
)
def test_a_map_leads_to_form_fields_and_what_is_none_stands_for_itself(
    fields: dict[str, Any] | None, values: dict[str, Any]
) -> None:
    assert mapped(fields, form_data=FORM, named_in="anywhere") == values


def test_what_a_map_makes_has_at_most_64_kib() -> None:
    form = {"long": "x" * ((MAX_MADE_BYTES - len('{"a":"","b":"","c":0}')) // 2)}
    fields = {"a": "long", "b": "long", "c": 0}
    largest = mapped({**fields, "c": 10}, form_data=form, named_in="fields")
    assert json_bytes(largest) == MAX_MADE_BYTES
    with pytest.raises(InvalidRequest) as refused:
        mapped({**fields, "c": 100}, form_data=form, named_in="fields")
    assert refused.value.message == "fields comes to 65537 bytes of JSON with the form's values; its maximum is 65536."


_VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(names=st.lists(st.text(), unique=True), values=st.lists(_VALUES, min_size=1))
def test_members_are_measured_as_the_object_is(names: list[str], values: list[Any]) -> None:
    members = {name: values[number % len(values)] for number, name in enumerate(names)}
    assert json_bytes_of_members(members) == json_bytes(members)

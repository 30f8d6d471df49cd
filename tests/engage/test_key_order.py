"""The order of names is kept beside a value whose objects have lost it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engage.json.key_order import in_key_order, key_order_of

ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def sorted_names(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True))


@given(ANYTHING)
def test_any_value_gets_its_order_back(value: Any) -> None:
    assert json.dumps(in_key_order(sorted_names(value), key_order_of(value))) == json.dumps(value)


@given(ANYTHING, ANYTHING)
def test_the_order_of_another_value_changes_nothing_but_the_order(value: Any, other: Any) -> None:
    assert in_key_order(value, key_order_of(other)) == value
    assert in_key_order(value, []) == value

"""Conditions by chance, over fields and values that bite."""

from typing import Any

from hypothesis import strategies as st

from customers.conditions.fields import IDENTIFIER_COLUMNS
from tests.customers.awkward_values import NAMES, NUMBERS, TEXTS, TIMES, VALUES

OPS = [
    "eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "contains", "starts_with", "ends_with", "exists",
    "not_exists", "before", "after",
]  # fmt: skip
FIELDS = [
    "customer.v", "customer.attributes.v", "customer.v.a", "customer.v.a.a", "customer.v.0", "customer.missing",
    "customer.email.a", "customer.attributes.email",
    "api.payload.v", "api.properties.v", "api.payload.v.a", "event.name", "event.messageId", "event.verified",
    "event.properties.v", "event.properties.v.a",
    *(f"customer.{name}" for name in IDENTIFIER_COLUMNS),
    *(f"customer.names.{name}" for name in NAMES),
]  # fmt: skip

texts = st.one_of(
    st.sampled_from(TEXTS), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
)
numbers = st.one_of(
    st.sampled_from(NUMBERS), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
values = st.one_of(
    st.sampled_from([value for value in VALUES if value is not None]),
    st.recursive(
        st.one_of(st.booleans(), numbers, texts),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)),
        max_leaves=4,
    ),
)
lists = st.lists(values, min_size=1, max_size=4)


offsets = st.builds(lambda sign, days: {"now": f"{sign}P{days}D"}, st.sampled_from(["", "-"]), st.integers(0, 3650))


def written(ops: list[str], operands: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    test = {"field": st.sampled_from(FIELDS), "op": st.sampled_from(ops)}
    if operands is None:
        return st.fixed_dictionaries(test)
    to = st.fixed_dictionaries({**test, "to": st.sampled_from(FIELDS)})
    return st.one_of(st.fixed_dictionaries({**test, "value": operands}), to)


trees = st.recursive(
    st.one_of(
        written(["eq", "ne"], values),
        written(["gt", "gte", "lt", "lte"], st.one_of(numbers, texts)),
        written(["in", "not_in"], lists),
        written(["contains"], st.one_of(st.booleans(), numbers, texts)),
        written(["starts_with", "ends_with"], texts),
        written(["exists", "not_exists"]),
        written(["before", "after"], st.one_of(st.sampled_from(TIMES), offsets)),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=6,
)

"""A batch means what its items would mean one after the other."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models import Func, IntegerField
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from customers.identity.identifiers import Identifiers
from customers.identity.roster import CustomerData, Upserted
from customers.identity.upsert import UpsertedItem, upsert_customer, upsert_customers
from customers.models import Customer
from engage.errors import Refusal
from engage.models import Workspace
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, WorkspaceFactory
from tests.support.tables import taken_back

NOW = datetime(2026, 11, 20, tzinfo=UTC)

IDENTIFIERS = ("external_id", "email", "phone", "user_id")
BEFORE: list[dict[str, Any]] = [
    {"external_id": "a", "email": "a", "phone": "a", "user_id": "a", "attributes": {"x": 1}},
    {"external_id": "b", "email": "b"},
    {"external_id": None, "email": "c"},
]
# Few values, so that items meet, cross, let go and take over.
_items = st.fixed_dictionaries(
    {
        "customer": st.sampled_from([None, None, None, 0, 1, 2, 99]),  # one of BEFORE; 99 is nobody
        "known_by": st.dictionaries(st.sampled_from(IDENTIFIERS), st.sampled_from("abcd"), max_size=2),
        "removed": st.sets(st.sampled_from(IDENTIFIERS), max_size=1),
        "attributes": st.dictionaries(
            st.sampled_from("xyz"), st.sampled_from([None, 0, 1, True, "1", {"k": None}]), max_size=2
        ),
    }
)


def _populated(kept: list[dict[str, Any]]) -> tuple[Workspace, list[str]]:
    workspace = WorkspaceFactory.create()
    return workspace, [CustomerFactory.create(workspace=workspace, **known).id for known in kept]


def _data(item: dict[str, Any], ids: list[str]) -> CustomerData:
    number = item["customer"]
    return CustomerData(
        customer_id=None if number is None else dict(enumerate(ids)).get(number, "0" * 24),
        known_by=Identifiers(**item["known_by"]),
        attributes=item["attributes"],
        removed=item["removed"],
    )


def _one_by_one(workspace: Workspace, items: list[CustomerData]) -> list[Upserted | Refusal]:
    outcomes: list[Upserted | Refusal] = []
    for data in items:
        try:
            outcomes.append(upsert_customer(workspace_id=workspace.id, data=data, now=NOW))
        except Refusal as refusal:
            outcomes.append(refusal)
    return outcomes


def _described(outcomes: Sequence[Upserted | UpsertedItem | Refusal]) -> list[Any]:
    return [outcome.code if isinstance(outcome, Refusal) else outcome.created for outcome in outcomes]


def _state(workspace: Workspace) -> list[str]:
    return sorted(map(repr, Customer.objects.filter(workspace=workspace).values_list(*IDENTIFIERS, "attributes")))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("large_bytes", [1_000_000, -1])
def test_a_batch_ends_where_its_items_one_after_the_other_end(
    monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    monkeypatch.setattr("customers.identity.upsert._LARGE_BYTES", large_bytes)  # -1: a few items at a time
    monkeypatch.setattr("customers.identity.upsert._ITEMS_AT_A_TIME", 3)
    batched, batched_ids = _populated(BEFORE)
    single, single_ids = _populated(BEFORE)

    @examples(80)
    @given(items=st.lists(_items, min_size=1, max_size=8))
    def agree(items: list[dict[str, Any]]) -> None:
        with taken_back():
            in_one = [_data(item, batched_ids) for item in items]
            together = upsert_customers(workspace_id=batched.id, items=in_one, now=NOW)
            apart = _one_by_one(single, [_data(item, single_ids) for item in items])
            assert _described(together) == _described(apart)
            assert _state(batched) == _state(single)

    agree()


@pytest.mark.django_db
def test_an_error_that_no_other_call_explains_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fail(*_: object) -> None:
        tried.append(1)
        raise IntegrityError("what no other call has done")

    monkeypatch.setattr("customers.identity.upsert.write_roster", fail)
    data = CustomerData(customer_id=None, known_by=Identifiers(external_id="ada"), attributes={})
    with pytest.raises(IntegrityError, match="no other call"):
        upsert_customer(workspace_id=WorkspaceFactory.create().id, data=data, now=NOW)
    assert len(tried) == 1


@pytest.mark.django_db
def test_large_profiles_are_read_a_few_at_a_time_however_well_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("customers.identity.upsert._LARGE_BYTES", 205 * 1024)  # a tenth
    workspace = WorkspaceFactory.create()
    names = [f"large-{number}" for number in range(25)]
    for name in names:
        CustomerFactory.create(workspace=workspace, external_id=name, attributes={"all": [[]] * 2_170})
    size = Func("attributes", function="pg_column_size", output_field=IntegerField())
    assert sum(Customer.objects.values_list(size, flat=True)) < 100 * 1024  # of more than 205 KiB of text
    items = [
        CustomerData(customer_id=None, known_by=Identifiers(external_id=name), attributes={"plan": "pro"})
        for name in names
    ]
    with CaptureQueriesContext(connection) as captured:
        upsert_customers(workspace_id=workspace.id, items=items, now=NOW)
    assert sum("UPDATE customers_customer" in query["sql"] for query in captured) == 2
    assert Customer.objects.filter(attributes__plan="pro").count() == 25

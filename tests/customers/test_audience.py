"""Whom a call names, against the database."""

from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from customers.audience.segments import ErrorResolvingSegments
from customers.audience.selection import Audience, pages_of_audience, select_audience
from customers.models import Customer, Segment
from engage.models import Workspace
from tests.support.cases import each
from tests.support.factories import PRO, CustomerFactory, SegmentFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through


@pytest.fixture
def people(acme: Workspace, rival: Workspace) -> dict[str, Customer]:
    """Ann, Ben, Cem and an anonymous customer of Acme; Rival's customers have the same external ids."""
    for name in ("ann", "ben", "cem"):
        CustomerFactory.create(workspace=rival, external_id=name, attributes={"plan": "pro"})
    return {
        "ann": CustomerFactory.create(workspace=acme, external_id="ann", attributes={"plan": "pro"}),
        "ben": CustomerFactory.create(workspace=acme, external_id="ben", attributes={"plan": "free"}),
        "cem": CustomerFactory.create(workspace=acme, external_id="cem", attributes={"plan": "pro"}),
        "anonymous": CustomerFactory.create(workspace=acme, external_id=None, attributes={"plan": "pro"}),
    }


def named(people: dict[str, Customer], workspace: Workspace, *segments: Segment, **audience: Any) -> list[str]:
    """Who is in the audience, by name, one entry per row."""
    if segments:
        audience["segment_ids"] = tuple(segment.id for segment in segments)
    query = select_audience(workspace_id=workspace.id, audience=Audience(**audience), segments=segments).alone()
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        rows = [customer_id for (customer_id,) in cursor.fetchall()]
    names = {customer.id: name for name, customer in people.items()}
    return sorted(names[customer_id] for customer_id in rows)


def test_external_ids_name_the_workspaces_own_customers(acme: Workspace, people: dict[str, Customer]) -> None:
    assert named(people, acme, external_ids=("ann", "ben")) == ["ann", "ben"]


def test_an_unknown_external_id_is_skipped(acme: Workspace, people: dict[str, Customer]) -> None:
    assert named(people, acme, external_ids=("ann", "nobody")) == ["ann"]


def test_an_external_id_named_twice_gives_one_row(acme: Workspace, people: dict[str, Customer]) -> None:
    assert named(people, acme, external_ids=("ann", "ann")) == ["ann"]


def test_a_blank_external_id_matches_nobody(acme: Workspace, people: dict[str, Customer]) -> None:
    people["blank"] = CustomerFactory.create(workspace=acme, external_id=" ")

    assert named(people, acme, external_ids=("", " ", "ann")) == ["ann"]


def test_external_ids_are_compared_exactly(acme: Workspace, people: dict[str, Customer]) -> None:
    assert named(people, acme, external_ids=("Ann", " ben", "ce%", "cem\\")) == []


def test_no_external_ids_name_nobody(acme: Workspace, people: dict[str, Customer]) -> None:
    everyone = SegmentFactory.create(workspace=acme, members=list(people.values()))

    assert named(people, acme, external_ids=()) == []
    assert named(people, acme, everyone, external_ids=()) == []


def test_a_segment_names_all_its_members(acme: Workspace, people: dict[str, Customer]) -> None:
    segment = SegmentFactory.create(workspace=acme, members=[people["ann"], people["anonymous"]])

    assert named(people, acme, segment) == ["ann", "anonymous"]


def test_several_segments_are_a_union_with_one_row_per_customer(acme: Workspace, people: dict[str, Customer]) -> None:
    one = SegmentFactory.create(workspace=acme, members=[people["ann"], people["ben"]])
    other = SegmentFactory.create(workspace=acme, members=[people["ben"], people["cem"]])

    assert named(people, acme, one, other) == ["ann", "ben", "cem"]


def test_who_is_put_in_and_who_meets_the_conditions_are_a_union(acme: Workspace, people: dict[str, Customer]) -> None:
    segment = SegmentFactory.create(workspace=acme, members=[people["ann"], people["ben"]], conditions=PRO)

    assert named(people, acme, segment) == ["ann", "anonymous", "ben", "cem"]


def test_the_conditions_of_several_segments_are_a_union(acme: Workspace, people: dict[str, Customer]) -> None:
    is_ben = {"field": "customer.external_id", "op": "eq", "value": "ben"}
    is_ann = {"field": "customer.external_id", "op": "eq", "value": "ann"}
    segments = [SegmentFactory.create(workspace=acme, conditions=conditions) for conditions in (is_ben, is_ann)]

    assert named(people, acme, *segments) == ["ann", "ben"]


def test_external_ids_and_segments_are_an_intersection(acme: Workspace, people: dict[str, Customer]) -> None:
    static = SegmentFactory.create(workspace=acme, members=[people["ann"], people["anonymous"]])
    pro = SegmentFactory.create(workspace=acme, conditions=PRO)

    assert named(people, acme, static, external_ids=("ann", "ben")) == ["ann"]
    assert named(people, acme, static, pro, external_ids=("ann", "ben", "cem")) == ["ann", "cem"]


def test_segments_named_but_empty_name_nobody(acme: Workspace, people: dict[str, Customer]) -> None:
    assert named(people, acme, segment_ids=()) == []
    assert named(people, acme, segment_ids=(), external_ids=("ann",)) == []
    assert named(people, acme, SegmentFactory.create(workspace=acme), external_ids=("ann",)) == []


def test_the_excluded_are_left_out_whatever_the_source(acme: Workspace, people: dict[str, Customer]) -> None:
    static = SegmentFactory.create(workspace=acme, members=[people["ann"], people["ben"]], conditions=PRO)
    excluded = ("ann", "ann", "nobody", "", " ")

    assert named(people, acme, external_ids=("ann", "ben"), exclude_external_ids=excluded) == ["ben"]
    assert named(people, acme, static, exclude_external_ids=excluded) == ["anonymous", "ben", "cem"]
    assert named(people, acme, static, external_ids=("ann", "cem"), exclude_external_ids=excluded) == ["cem"]


def test_nobody_of_another_workspace_is_ever_named(
    acme: Workspace, rival: Workspace, people: dict[str, Customer]
) -> None:
    rivals = list(Customer.objects.filter(workspace=rival))
    everyone = SegmentFactory.create(workspace=acme, conditions={"field": "customer.nothing", "op": "not_exists"})

    assert named(people, acme, everyone) == sorted(people)
    assert named(people, acme, SegmentFactory.create(workspace=rival, members=rivals)) == []
    assert named(people, acme, external_ids=tuple(customer.external_id for customer in rivals)) == ["ann", "ben", "cem"]


def test_an_audience_is_never_the_whole_workspace_by_omission() -> None:
    with pytest.raises(ValueError, match="never the whole workspace"):
        Audience(exclude_external_ids=("ann",))


def test_conditions_that_cannot_be_understood_name_the_place(acme: Workspace, people: dict[str, Customer]) -> None:
    segment = SegmentFactory.create(workspace=acme, key="vip", conditions={"all": [PRO, {"any": PRO}]})

    with pytest.raises(ErrorResolvingSegments) as refusal:
        named(people, acme, segment)
    assert segment.id in refusal.value.message
    assert refusal.value.message.endswith("conditions.all[1].any must be an array, but an object came.")


@each("count", [1, 300])
def test_an_audience_of_any_size_is_one_query(
    acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    people = {f"p{n}": CustomerFactory.build(workspace=acme, external_id=f"p{n}") for n in range(count)}
    Customer.objects.bulk_create(people.values())
    segment = SegmentFactory.create(workspace=acme, members=list(people.values()), conditions=PRO)

    with django_assert_num_queries(1):
        found = named(people, acme, segment, external_ids=tuple(people), exclude_external_ids=("p0",))
    assert len(found) == count - 1


def test_the_query_stands_inside_an_insert(acme: Workspace, people: dict[str, Customer]) -> None:
    pro = SegmentFactory.create(workspace=acme, members=[people["ben"]], conditions=PRO)
    audience = Audience(segment_ids=(pro.id,), exclude_external_ids=("ann",))
    query = select_audience(workspace_id=acme.id, audience=audience, segments=[pro]).alone()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE picked (id text, ordinal bigint) ON COMMIT DROP")
        cursor.execute(
            f"INSERT INTO picked SELECT id, row_number() OVER (ORDER BY id) FROM ({query.sql}) audience", query.params
        )
        cursor.execute("SELECT id FROM picked ORDER BY ordinal")
        picked = [customer_id for (customer_id,) in cursor.fetchall()]
    assert picked == sorted(people[name].id for name in ("ben", "cem", "anonymous"))


MANY = 2000
MOST_ROWS = 20 * MANY  # who compares each with each goes through four million


@pytest.mark.slow
@each("excluded", [0, 500])
@each("by_name, by_segment", [(False, True), (True, True), (True, False)])
def test_nobody_is_compared_with_everybody_whatever_the_statistics_say(
    acme: Workspace, by_name: bool, by_segment: bool, excluded: int
) -> None:
    """They are of a moment when everybody had been erased: then each index seems to lead to one row."""
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, MANY, segment=segment)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM customers_customer")
        note_statistics("customers_customer", "customers_segmentmembership")
    names = crowd(acme, MANY, segment=segment)
    audience = Audience(
        external_ids=tuple(names[:1000]) if by_name else None,
        segment_ids=(segment.id,) if by_segment else None,
        exclude_external_ids=tuple(names[:excluded]),
    )
    with rows_gone_through() as seen:
        pages = list(pages_of_audience(workspace_id=acme.id, audience=audience, segments=[segment], size=300))
        query = select_audience(workspace_id=acme.id, audience=audience, segments=[segment]).alone()
        with connection.cursor() as cursor:
            cursor.execute(query.sql, query.params)
            found = sorted(customer_id for (customer_id,) in cursor.fetchall())
    assert len(found) == (1000 if by_name else MANY) - excluded
    assert [customer.customer_id for page in pages for customer in page] == found
    assert max(seen.values()) <= MOST_ROWS

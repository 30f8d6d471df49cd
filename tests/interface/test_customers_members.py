"""POST /api/v1/customers/{workspaceId}/segments/{segmentId}/members: who is put in, and who is taken out."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer, Segment, SegmentMembership
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory, crowd


@pytest.fixture
def segment(acme: Workspace) -> Segment:
    """Ada is in; Bob and Eve are not."""
    ada, *_ = (CustomerFactory.create(workspace=acme, external_id=name) for name in ("ada", "bob", "eve"))
    return SegmentFactory.create(workspace=acme, members=[ada])


def _change(server: ServerClient, segment: Segment, body: Any) -> Answer:
    return server.post(customers_path(segment.workspace, "segments", segment.id, "members"), body)


def _members(segment: Segment) -> set[str | None]:
    inside = SegmentMembership.objects.filter(segment=segment)
    return set(inside.values_list("customer__external_id", flat=True))


def test_people_are_put_in_and_taken_out(server: ServerClient, segment: Segment) -> None:
    answer = _change(server, segment, {"add": ["bob", "eve"], "remove": ["ada"]})
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "message": "2 added, 1 removed.",
        "data": {"added": 2, "removed": 1, "unknown": []},
    }
    assert _members(segment) == {"bob", "eve"}


@each(
    "body, expected",
    [
        ({"add": ["bob"]}, {"added": 1, "removed": 0, "unknown": []}),
        ({"remove": ["ada"]}, {"added": 0, "removed": 1, "unknown": []}),
        ({"add": [], "remove": None}, {"added": 0, "removed": 0, "unknown": []}),
    ],
)
def test_one_list_is_enough(server: ServerClient, segment: Segment, body: Any, expected: dict[str, Any]) -> None:
    assert data(_change(server, segment, body), status=200) == expected


def test_who_is_in_is_not_added_again_and_who_is_not_in_is_not_removed(server: ServerClient, segment: Segment) -> None:
    again = data(_change(server, segment, {"add": ["ada", "ada"], "remove": ["bob"]}), status=200)
    assert again == {"added": 0, "removed": 0, "unknown": []}
    assert _members(segment) == {"ada"}


def test_who_is_taken_out_of_one_segment_stays_in_the_others(
    server: ServerClient, acme: Workspace, segment: Segment
) -> None:
    other = SegmentFactory.create(workspace=acme, members=[Customer.objects.get(external_id="ada")])
    assert data(_change(server, segment, {"remove": ["ada"]}), status=200)["removed"] == 1
    assert (_members(segment), _members(other)) == (set(), {"ada"})


@pytest.mark.slow
def test_unknown_ids_are_skipped_and_told_once_in_their_order(server: ServerClient, segment: Segment) -> None:
    body = {"add": ["zoe", "bob", " ", "zoe"], "remove": ["max", "ADA"]}
    answer = data(_change(server, segment, body), status=200)
    assert answer == {"added": 1, "removed": 0, "unknown": ["zoe", " ", "max", "ADA"]}
    assert _members(segment) == {"ada", "bob"}


def test_a_namesake_of_another_workspace_stays_where_they_are(
    server: ServerClient, segment: Segment, rival: Workspace
) -> None:
    theirs = SegmentFactory.create(
        workspace=rival, members=[CustomerFactory.create(workspace=rival, external_id="ada")]
    )
    _change(server, segment, {"add": ["bob"], "remove": ["ada"]})
    assert _members(theirs) == {"ada"}


def test_an_id_in_both_lists_is_refused_by_name(server: ServerClient, segment: Segment) -> None:
    answer = _change(server, segment, {"add": ["bob", "eve"], "remove": ["ada", "eve"]})
    assert refused(answer, status=400, error="Invalid request") == "'eve' stands in both add and remove."
    assert _members(segment) == {"ada"}


@each("body", [{}, {"add": None, "remove": None}, {"external_ids": ["ada"]}])
def test_at_least_one_list_is_required(server: ServerClient, segment: Segment, body: Any) -> None:
    message = refused(_change(server, segment, body), status=400, error="Missing required parameter")
    assert message == "Send at least one of add, remove: arrays of external ids."


@each("name", ["add", "remove"])
def test_more_than_1000_are_refused_whole(server: ServerClient, segment: Segment, name: str) -> None:
    answer = _change(server, segment, {name: ["ada", "bob"] + [f"p-{n}" for n in range(999)]})
    message = refused(answer, status=400, error="Array size exceeded")
    assert message == f"{name} holds 1001 items; its maximum is 1000."
    assert _members(segment) == {"ada"}


@each(
    "body, message",
    [
        ({"add": "bob"}, "add must be an array of strings, but a string came."),
        ({"add": ["bob"], "remove": [7]}, "remove must be an array of strings, but item 0 is a number."),
    ],
)
def test_a_list_of_another_type_is_refused(server: ServerClient, segment: Segment, body: Any, message: str) -> None:
    assert refused(_change(server, segment, body), status=400, error="Invalid request") == message
    assert _members(segment) == {"ada"}


@each("size", [1, 1000])
def test_the_number_of_queries_does_not_grow_with_the_lists(
    acme: Workspace, server: ServerClient, django_assert_num_queries: DjangoAssertNumQueries, size: int
) -> None:
    names = crowd(acme, 2 * size)
    segment = SegmentFactory.create(workspace=acme, members=Customer.objects.filter(external_id__in=names[size:]))
    body = {"add": names[:size], "remove": names[size:]}
    with django_assert_num_queries(8):  # the key twice, the transaction twice; segment, customers, out, in
        answer = data(_change(server, segment, body), status=200)
    assert answer == {"added": size, "removed": size, "unknown": []}

"""Calls whose size the data choose leave a thread to others: each process does one of them at a time."""

from typing import Any

import pytest

from customers.models import Segment
from engage.database.statement_limit import in_one_thread
from engage.models import Workspace
from journeys.models import Journey, Trigger
from tests.support.calls import trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import Cast, SegmentFactory

pytestmark = pytest.mark.django_db

CALLS: dict[str, dict[str, Any]] = {
    "a call": {},
    "one that asks for no ids": {"HTTP_PREFER": "return=minimal"},
    "a dry run": {"QUERY_STRING": "dryRun=true"},
    "one that only counts": {"QUERY_STRING": "dryRun=true", "HTTP_PREFER": "return=minimal"},
}
CONDITIONS: dict[str, Any] = {"by hand": None, "by conditions": {"field": "customer.attributes.a", "op": "exists"}}


@pytest.fixture(autouse=True)
def _low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("customers.audience.selection.LARGE", 2)
    monkeypatch.setattr("journeys.trigger.calls.LARGE", 2)


@pytest.fixture(params=CONDITIONS)
def segment(request: pytest.FixtureRequest, acme: Workspace, cast: Cast) -> Segment:
    members = [cast["ada"], cast["grace"], cast["alan"]]
    return SegmentFactory.create(workspace=acme, key="all", members=members, conditions=CONDITIONS[request.param])


@each("call", list(CALLS))
def test_a_large_one_is_refused_while_another_is_served_and_done_afterwards(
    server: ServerClient, journey: Journey, segment: Segment, call: str
) -> None:
    with in_one_thread():
        refused = trigger(server, journey, {"segment_ids": [segment.key]}, **CALLS[call])
        small = trigger(server, journey, {"segment_ids": [segment.key], "external_ids": ["ada"]}, **CALLS[call])
    assert (refused.status_code, refused.json()["code"]) == (503, "large_work_in_progress")
    assert refused["Retry-After"] == "30"
    assert small.status_code < 300
    queued = Trigger.objects.count()
    for _ in range(2):  # the place is free again each time
        assert trigger(server, journey, {"segment_ids": [segment.key]}, **CALLS[call]).status_code < 300
    assert Trigger.objects.count() == queued + (0 if "QUERY_STRING" in CALLS[call] else 2)


def test_what_is_refused_gives_its_place_back(server: ServerClient, journey: Journey, segment: Segment) -> None:
    wrong = trigger(server, journey, {"segment_ids": [segment.key, "none"]})
    assert wrong.status_code == 400
    with in_one_thread():
        pass


def test_an_answer_that_is_given_again_is_as_large(server: ServerClient, journey: Journey, segment: Segment) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "once"}
    first = trigger(server, journey, {"segment_ids": [segment.key]}, **key)
    with in_one_thread():
        refused = trigger(server, journey, {"segment_ids": [segment.key]}, **key)
    assert refused.status_code == 503
    again = trigger(server, journey, {"segment_ids": [segment.key]}, **key)
    assert again.json() == first.json()


def test_few_people_are_no_large_call(server: ServerClient, journey: Journey, acme: Workspace, cast: Cast) -> None:
    few = SegmentFactory.create(workspace=acme, key="few", members=[cast["ada"], cast["grace"]])
    with in_one_thread():
        assert trigger(server, journey, {"segment_ids": [few.key]}).status_code == 202

"""`POST /api/v1/journeys/{workspaceId}/{journeyId}/trigger`, the bulk form."""

from typing import Any

import pytest

from customers.models import Customer, Segment
from engage.models import Workspace
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger
from tests.support.calls import data, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import Cast, CustomerFactory, JourneyFactory, SegmentFactory, crowd, take_milliseconds

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def vip(acme: Workspace, cast: Cast) -> Segment:
    return SegmentFactory.create(workspace=acme, key="vip", members=[cast["ada"], cast["grace"]])


@pytest.fixture
def beta(acme: Workspace, cast: Cast) -> Segment:
    return SegmentFactory.create(workspace=acme, key="beta", members=[cast["grace"], cast["alan"]])


def queued_names(answered: dict[str, Any]) -> set[str]:
    """Whom a bulk answer names, after checking that its counts, ids and rows agree."""
    jobs = {job.job_id: job for job in EnrollmentJob.objects.filter(trigger_id=answered["triggerId"])}
    assert answered["customersEnrolled"] == len(answered["customerIds"]) == len(answered["jobIds"]) == len(jobs)
    assert [jobs[job_id].customer_id for job_id in answered["jobIds"]] == answered["customerIds"]
    assert len(set(answered["customerIds"])) == len(answered["customerIds"])
    return {str(c.external_id) for c in Customer.objects.filter(id__in=answered["customerIds"])}


def test_the_answer_has_every_field_of_the_interface(server: ServerClient, journey: Journey, cast: Cast) -> None:
    answer = trigger(server, journey, {"external_ids": ["ada"]})
    assert answer.status_code == 202
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    (job_id,), trigger_id = body["data"].pop("jobIds"), body["data"].pop("triggerId")
    assert body == {
        "success": True,
        "message": "The customers are queued for the journey.",
        "data": {
            "journeyId": journey.id,
            "status": "queued",
            "queued": True,
            "customersEnrolled": 1,
            "customerIds": [cast["ada"].id],
            "note": "The enrollments are created by a worker after entry-rule validation.",
        },
    }
    assert job_id.startswith(f"enroll-{journey.id}-{cast['ada'].id}-")
    assert Trigger.objects.get().id == trigger_id


@each("spelling", ["external_ids", "externalIds"])
def test_external_ids_queue_their_customers(server: ServerClient, journey: Journey, spelling: str) -> None:
    assert queued_names(data(trigger(server, journey, {spelling: ["ada", "grace"]}))) == {"ada", "grace"}


def test_an_unknown_external_id_is_skipped_silently(server: ServerClient, journey: Journey) -> None:
    assert queued_names(data(trigger(server, journey, {"external_ids": ["ada", "nobody", " "]}))) == {"ada"}


def test_an_external_id_given_twice_is_one_job(server: ServerClient, journey: Journey) -> None:
    assert queued_names(data(trigger(server, journey, {"external_ids": ["ada", "ada"]}))) == {"ada"}


@each("spelling", ["segment_ids", "segmentIds"])
def test_a_segment_queues_all_its_members(server: ServerClient, journey: Journey, vip: Segment, spelling: str) -> None:
    assert queued_names(data(trigger(server, journey, {spelling: [vip.id]}))) == {"ada", "grace"}


def test_several_segments_are_united(server: ServerClient, journey: Journey, vip: Segment, beta: Segment) -> None:
    answered = data(trigger(server, journey, {"segment_ids": [vip.id, beta.id]}))
    assert queued_names(answered) == {"ada", "grace", "alan"}


def test_external_ids_and_segments_intersect(
    server: ServerClient, journey: Journey, vip: Segment, beta: Segment
) -> None:
    body = {"external_ids": ["grace", "alan", "edsger"], "segment_ids": [vip.id]}
    assert queued_names(data(trigger(server, journey, body))) == {"grace"}


@each("spelling", ["exclude_external_ids", "excludeExternalIds"])
@each("source", ["external_ids", "segment_ids", "both"])
def test_exclusions_apply_whatever_the_source(
    server: ServerClient, journey: Journey, vip: Segment, source: str, spelling: str
) -> None:
    body: dict[str, Any] = {spelling: ["ada"]}
    if source in {"external_ids", "both"}:
        body["external_ids"] = ["ada", "grace"]
    if source in {"segment_ids", "both"}:
        body["segment_ids"] = [vip.id]
    assert queued_names(data(trigger(server, journey, body))) == {"grace"}


def test_a_customer_without_an_external_id_is_never_excluded(
    server: ServerClient, journey: Journey, acme: Workspace
) -> None:
    anonymous = CustomerFactory.create(workspace=acme, external_id=None, email="anon@example.com")
    segment = SegmentFactory.create(workspace=acme, members=[anonymous])
    body = {"segment_ids": [segment.id], "exclude_external_ids": ["ada"]}
    assert data(trigger(server, journey, body))["customerIds"] == [anonymous.id]


@each(
    "body",
    [
        {"external_ids": ["nobody"]},
        {"external_ids": ["ada"], "exclude_external_ids": ["ada"]},
        {"external_ids": [], "segment_ids": "vip"},
        {"external_ids": ["ada"], "segment_ids": []},
    ],
)
@each("prefer", ["return=representation", "return=minimal"])
def test_a_call_that_selects_nobody_succeeds_with_empty_arrays_and_says_so(
    server: ServerClient, journey: Journey, vip: Segment, body: dict[str, Any], prefer: str
) -> None:
    if body.get("segment_ids"):
        body = {**body, "segment_ids": [vip.id]}
    answer = trigger(server, journey, body, headers={"Prefer": prefer})
    answered = data(answer)
    assert answer.json()["message"] == "The call selected nobody: nothing is queued."
    assert answered["customersEnrolled"] == 0
    assert (answered.get("customerIds", []), answered.get("jobIds", [])) == ([], [])
    assert ("jobIds" in answered) == (prefer != "return=minimal")
    assert not Chunk.objects.exists()


def test_the_payload_is_stored_once_and_not_per_job(server: ServerClient, journey: Journey, cast: Cast) -> None:
    data(trigger(server, journey, {"external_ids": list(cast), "payload": {"a": 1}}))
    assert Trigger.objects.get().payload == {"a": 1}
    assert EnrollmentJob.objects.count() == 4


def test_a_taken_job_id_steps_the_millisecond(transactional_db: None, server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, {"external_ids": ["ada"]}))
    last = take_milliseconds(EnrollmentJob.objects.get())
    answered = data(trigger(server, journey, {"external_ids": ["ada", "grace"]}))
    assert queued_names(answered) == {"ada", "grace"}
    assert {job_id.rpartition("-")[2] for job_id in answered["jobIds"]} == {str(last + 1)}


def test_customers_of_another_workspace_are_never_queued(
    rival_server: ServerClient, rival: Workspace, cast: Cast
) -> None:
    journey = JourneyFactory.create(workspace=rival)
    answered = data(trigger(rival_server, journey, {"external_ids": list(cast)}))
    assert set(answered["customerIds"]).isdisjoint(customer.id for customer in cast.values())
    assert answered["customersEnrolled"] == 4


@each(
    "prefer",
    ["return=minimal", "respond-async, return=minimal", 'RETURN = "Minimal"; x=y', "return=minimal, return=full"],
)
def test_return_minimal_leaves_the_arrays_out(server: ServerClient, journey: Journey, prefer: str) -> None:
    answer = trigger(server, journey, {"external_ids": ["ada"]}, headers={"Prefer": prefer})
    assert set(data(answer)) == {"journeyId", "status", "queued", "customersEnrolled", "triggerId", "note"}
    assert answer["Preference-Applied"] == "return=minimal"


@each("prefer", ["return=representation, return=minimal", "return=minimalist", "x-return=minimal"])
def test_another_preference_leaves_nothing_out(server: ServerClient, journey: Journey, prefer: str) -> None:
    answer = trigger(server, journey, {"external_ids": ["ada"]}, headers={"Prefer": prefer})
    assert len(data(answer)["customerIds"]) == 1
    assert "Preference-Applied" not in answer


def test_a_thousand_external_ids_cost_as_many_queries_as_one(
    transactional_db: None, server: ServerClient, journey: Journey, acme: Workspace, django_assert_num_queries: Any
) -> None:
    names = crowd(acme, 1000)
    data(trigger(server, journey, {"external_ids": names[:1]}))
    for number in (1, 1000):
        with django_assert_num_queries(3):  # key, journey, and the one statement that commits and gives the ids
            answered = data(trigger(server, journey, {"external_ids": names[:number]}))
        assert answered["customersEnrolled"] == number


def test_an_answer_of_several_pages_names_everybody_once(
    server: ServerClient, journey: Journey, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.entering.bulk._PAGE_SIZE", 1000)
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, 1997, segment=segment)  # and with them the cast
    answered = data(trigger(server, journey, {"segment_ids": [segment.id]}))
    assert answered["customersEnrolled"] == 2001
    assert len(queued_names(answered)) == 2001
    chunks = list(Chunk.objects.order_by("start").values_list("start", "stop"))
    assert [start for start, _ in chunks] == [0, *[stop for _, stop in chunks][:-1]]
    assert (chunks[-1][1], len(chunks)) == (2001, 5)

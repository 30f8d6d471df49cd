"""`POST …/trigger` with `recipients`: many customers in one call, each with a payload of their own."""

import gzip
import json
from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger
from tests.support.calls import (
    all_decided,
    customers_path,
    data,
    job_of,
    let_workers_decide,
    let_workers_walk,
    refused,
    trigger,
)
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import Cast, CustomerFactory, JourneyFactory, crowd, take_milliseconds

pytestmark = pytest.mark.usefixtures("cast")
KEY = {"Idempotency-Key": "4711"}
MIB = 1024 * 1024


def named(*names: str, **more: Any) -> dict[str, Any]:
    return {"recipients": [{"external_id": name, "payload": {"name": name}} for name in names], **more}


def own_payloads() -> dict[str, Any]:
    """What is kept with the jobs, by external id."""
    names = dict(Customer.objects.values_list("id", "external_id"))
    return {str(names[job.customer_id]): job.payload for job in EnrollmentJob.objects.all()}


def test_every_way_to_name_somebody_is_taken_and_the_answer_says_whose_job_is_whose(
    server: ServerClient, journey: Journey, cast: Cast
) -> None:
    grace = CustomerFactory.create(workspace_id=journey.workspace_id, email="grace@example.com")
    recipients = [
        {"external_id": "ada", "payload": {"n": 1}},
        {"externalId": "nobody", "payload": {"n": 2}},
        {"email": "Grace@Example.com", "properties": {"n": 3}},
        {"customerId": cast["alan"].id, "email": "nobody@example.com"},
    ]
    answered = data(trigger(server, journey, {"recipients": recipients, "payload": {"shop": "Berlin"}}))
    whose = [(0, cast["ada"].id), (2, grace.id), (3, cast["alan"].id)]
    assert [(one["index"], one["customerId"]) for one in answered["recipients"]] == whose
    assert answered["jobIds"] == [one["jobId"] for one in answered["recipients"]]
    assert answered["customerIds"] == [customer_id for _, customer_id in whose]
    assert (answered["customersEnrolled"], answered["refused"]) == (3, [])
    jobs = {job.job_id: job for job in EnrollmentJob.objects.all()}
    assert [jobs[one].payload for one in answered["jobIds"]] == [{"n": 1}, {"n": 3}, None]
    assert Trigger.objects.get().payload == {"shop": "Berlin"}
    let_workers_decide()
    assert all_decided()
    assert {job_of(server, journey.workspace_id, one)["result"] for one in answered["jobIds"]} == {"enrolled"}


def test_the_own_payload_goes_over_the_common_one_wherever_a_payload_is_read(
    server: ServerClient, acme: Workspace
) -> None:
    """By entry conditions, by steps, and by what ends the journey."""
    steps = [
        {
            "id": "is-it",
            "type": "branch",
            "cases": [{"if": {"field": "api.payload.n", "op": "eq", "value": 2}, "next": "keep"}],
            "else": None,
        },
        {
            "id": "keep",
            "type": "update_profile",
            "attributes": {"said": "{{ api.payload.name }} of {{ api.payload.shop }}"},
        },
    ]
    conditions = {"field": "api.payload.shop", "op": "eq", "value": "Berlin"}
    journey = JourneyFactory.create(workspace=acme, steps=steps, entry_conditions=conditions)
    recipients = [
        {"external_id": "ada", "payload": {"n": 2, "name": "Ada"}},
        {"external_id": "grace", "payload": {"n": 2, "shop": "Ulm"}},
        {"external_id": "alan"},
    ]
    body = {"recipients": recipients, "payload": {"shop": "Berlin", "n": 1, "name": "?"}}
    tried = data(server.post(f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true", body), status=200)
    assert [one["result"] for one in tried["customers"]] == ["enrolled", "conditions_not_met", "enrolled"]
    data(trigger(server, journey, body))
    let_workers_walk()
    results = dict(EnrollmentJob.objects.values_list("customer__external_id", "result"))
    assert results == {"ada": "enrolled", "grace": "conditions_not_met", "alan": "enrolled"}
    said = {c.external_id: c.attributes.get("said") for c in Customer.objects.filter(workspace=acme)}
    assert (said["ada"], said["alan"]) == ("Ada of Berlin", None)


def test_an_exit_rule_compares_with_the_own_payload(server: ServerClient, acme: Workspace) -> None:
    matches = {"field": "event.properties.order", "op": "eq", "to": "api.payload.order"}
    journey = JourneyFactory.create(
        workspace=acme,
        steps=[{"id": "wait", "type": "delay", "for": "P1D"}],
        steps__exit_on=[{"event": "paid", "where": matches}],
    )
    pay = {"external_id": "ada", "eventName": "paid", "eventProperties": {"order": 2}}
    for early in (True, False):
        data(
            trigger(
                server,
                journey,
                {"recipients": [{"external_id": "ada", "payload": {"order": 2}}], "payload": {"order": 1}},
            )
        )
        if not early:
            let_workers_walk()
        data(server.post(customers_path(acme, "events"), pay))
        let_workers_walk()
        (enrollment,) = Enrollment.objects.order_by("-id")[:1]
        assert enrollment.state == "exited", early


WRONG = [
    (7, "invalid_recipient", "A recipient must be an object, but a number came."),
    ({}, "invalid_recipient", "At least one of external_id, email, customerId must be present."),
    ({"external_id": 7}, "invalid_recipient", "external_id must be a string, but a number came."),
    ({"external_id": "a", "externalId": "b"}, "invalid_recipient", "two spellings"),
    ({"external_id": "ada", "payload": []}, "payload_invalid", "payload must be an object, but an array came."),
    ({"external_id": "ada", "payload": {"a": [[[[[[[[[[1]]]]]]]]]]}}, "payload_invalid", "nested more than 10 deep"),
    ({"external_id": "ada", "payload": {"a": "x" * 65536}}, "payload_too_large", "its maximum is 65536"),
]


def test_what_is_wrong_with_one_is_that_one_s_result(server: ServerClient, journey: Journey) -> None:
    recipients = [
        *(item for item, _, _ in WRONG),
        {"external_id": "ada"},
        {"customerId": "nobody"},
        {"external_id": "ada"},
    ]
    for query in ("", "?dryRun=true"):
        answer = server.post(
            f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger{query}", {"recipients": recipients}
        )
        told = data(answer, status=200 if query else 202)["refused"]
        again = len(WRONG) + 2
        assert [(one["index"], one["code"]) for one in told] == [
            *((index, code) for index, (_, code, _) in enumerate(WRONG)),
            (again, "duplicate_recipient"),
        ]
        assert all(message in one["message"] for one, (_, _, message) in zip(told, WRONG, strict=False))
    assert EnrollmentJob.objects.count() == 1


@each(
    "body, error",
    [
        ({"recipients": []}, "Missing required parameter"),
        ({"recipients": [{}] * 1001}, "Array size exceeded"),
        ({"recipients": {"external_id": "ada"}}, "Invalid request"),
        (named("ada", external_id="ada"), "Invalid request"),
        (named("ada", externalIds=["ada"]), "Invalid request"),
        (named("ada", segment_ids=["x"]), "Invalid request"),
        (named("ada", payload={"a": "x" * 65536}), "Invalid request"),
    ],
)
def test_what_is_wrong_with_the_call_refuses_it(
    server: ServerClient, journey: Journey, body: dict[str, Any], error: str
) -> None:
    refused(trigger(server, journey, body), status=400, error=error)
    assert not Trigger.objects.exists()


def test_exclusions_and_unknown_ones_are_told_by_the_look_up(
    server: ServerClient, journey: Journey, cast: Cast
) -> None:
    body = named("nobody", "ada", "grace", exclude_external_ids=["grace", "alan"])
    body["recipients"].append({"email": "nobody@example.com"})
    answered = data(trigger(server, journey, body))
    assert answered["customerIds"] == [cast["ada"].id]
    sent = data(server.get(f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"), status=200)
    call = sent["call"]
    assert (call["externalIds"], call["unknownRecipients"], call["unknownExternalIds"]) == (4, [0, 3], ["nobody"])
    assert [one["external_id"] for one in call["excluded"]] == ["grace"]
    assert call["leftOut"] == {"unknown": 2, "excluded": 1, "notInSegments": 0}


def test_whom_nobody_is_queues_nothing(server: ServerClient, journey: Journey) -> None:
    answer = trigger(server, journey, named("nobody"))
    assert answer.json()["message"] == "The call selected nobody: nothing is queued."
    answered = data(answer)
    assert (answered["customersEnrolled"], answered["recipients"], answered["jobIds"]) == (0, [], [])


def test_the_same_answer_is_given_again(server: ServerClient, journey: Journey) -> None:
    body = named("ada", "nobody", "grace", "ada")
    first = trigger(server, journey, body, headers=KEY)
    again = trigger(server, journey, body, headers=KEY)
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert Trigger.objects.count() == 1
    minimal = data(trigger(server, journey, body, headers={"Prefer": "return=minimal"}))
    assert minimal.keys() & {"customerIds", "jobIds", "recipients"} == set()
    assert [one["code"] for one in minimal["refused"]] == ["duplicate_recipient"]


def test_who_was_merged_is_found_by_their_id_as_before(server: ServerClient, journey: Journey, cast: Cast) -> None:
    former = CustomerFactory.create(workspace_id=journey.workspace_id, external_id=None, user_id="page-1")
    merge = {"anonymous": {"userId": "page-1"}, "into": {"external_id": "ada"}}
    answer = server.post(f"/api/v1/customers/{journey.workspace_id}/merge", merge)
    assert answer.status_code == 200, answer.json()
    answered = data(trigger(server, journey, {"recipients": [{"customerId": former.id}, {"external_id": "ada"}]}))
    assert answered["customerIds"] == [cast["ada"].id]


def test_a_millisecond_that_is_taken_moves_on(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, named("ada")))
    last = take_milliseconds(EnrollmentJob.objects.get())
    answered = data(trigger(server, journey, named("grace", "ada")))
    assert {int(job.rsplit("-", 1)[1]) for job in answered["jobIds"]} == {last + 1}


def padded(size: int) -> bytes:
    body = named("ada", "grace")
    body["junk"] = "x" * (size - len(json.dumps(body)) - len(', "junk": ""'))
    return json.dumps(body).encode()


@each("packed", [False, True])
def test_its_body_may_be_4_mib_large_and_that_of_others_1_mib(
    server: ServerClient, journey: Journey, *, packed: bool
) -> None:
    def sent(body: bytes) -> Any:
        headers = {"Content-Encoding": "gzip"} if packed else {}
        return trigger(server, journey, gzip.compress(body) if packed else body, headers=headers)

    data(sent(padded(4 * MIB)))
    refused(sent(padded(4 * MIB + 1)), status=413, error="Body too large")
    alone = json.dumps({"external_id": "ada", "junk": "x" * MIB}).encode()
    assert "1024 KiB" in refused(sent(alone), status=413, error="Body too large")


def test_own_payloads_are_forgotten_with_their_person_alone(server: ServerClient, journey: Journey, cast: Cast) -> None:
    data(trigger(server, journey, named("ada", "grace", "alan", payload={"shop": "Berlin"})))
    server.delete(customers_path(Workspace.objects.get(id=journey.workspace_id), cast["ada"].id))
    kept = dict(EnrollmentJob.objects.values_list("customer_id", "payload"))
    assert kept == {cast["ada"].id: None, cast["grace"].id: {"name": "grace"}, cast["alan"].id: {"name": "alan"}}
    # As if the call had been committed after an erasure: whoever ends the job forgets.
    EnrollmentJob.objects.filter(customer_id=cast["ada"].id).update(payload={"name": "ada"})
    let_workers_decide()
    assert "ada" not in {
        (payload or {}).get("name") for payload in EnrollmentJob.objects.values_list("payload", flat=True)
    }
    assert Trigger.objects.get().payload == {"shop": "Berlin"}


def test_an_export_has_what_was_sent_for_the_person_alone(
    server: ServerClient, acme: Workspace, journey: Journey, cast: Cast
) -> None:
    data(trigger(server, journey, named("ada", "grace", payload={"shop": "Berlin"})))
    exported = server.get(customers_path(acme, cast["ada"].id, "export")).json()["data"]
    assert [job["payload"] for job in exported["records"]["jobs"]] == [{"name": "ada"}]


def test_a_thousand_cost_as_many_statements_as_one(
    transactional_db: None, server: ServerClient, journey: Journey, acme: Workspace, django_assert_num_queries: Any
) -> None:
    names = crowd(acme, 1000)
    data(trigger(server, journey, named("ada")))
    for some in (names[:1], names):
        with django_assert_num_queries(3):  # key, journey, and the one statement that commits
            answered = data(trigger(server, journey, named(*some)))
        assert answered["customersEnrolled"] == len(some)
    assert Chunk.objects.filter(trigger_id=answered["triggerId"]).count() == 2

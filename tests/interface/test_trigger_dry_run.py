"""`POST /api/v1/journeys/{workspaceId}/{journeyId}/trigger?dryRun=true`: what the call would do, without doing it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.models import ApiKey, Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey, JourneyRevision
from tests.support.calls import data, job_of, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import DAY, PRO, ApiKeyFactory, CustomerFactory, JourneyFactory, SegmentFactory, crowd
from tests.support.tables import everything

pytestmark = pytest.mark.journey(steps=[DAY])

MET = "The customer met the entry rules."


def dry_run(server: ServerClient, journey: Journey, body: Any, *, dry: str = "true", **options: Any) -> Answer:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun={dry}"
    return server.post(path, body, **options)


def tried(server: ServerClient, journey: Journey, body: Any, **options: Any) -> dict[str, Any]:
    """The data of a dry run, after checking that it says of nobody that they are queued."""
    answered = data(dry_run(server, journey, body, **options), status=200)
    assert (answered["journeyId"], answered["status"], answered["queued"]) == (journey.id, "dry_run", False)
    return answered


def results(answered: dict[str, Any]) -> dict[str, str]:
    """External id to result, after checking the counts."""
    named = {one["external_id"]: one["result"] for one in answered["customers"]}
    assert answered["found"] == len(answered["customers"]) == sum(answered["results"].values())
    assert answered["results"] == {result: list(named.values()).count(result) for result in named.values()}
    return named


@pytest.fixture
def ada(acme: Workspace, rival: Workspace) -> Customer:
    CustomerFactory.create(workspace=rival, external_id="ada", email="ada@example.com")
    return CustomerFactory.create(workspace=acme, external_id="ada", email="ada@example.com")


@each("body", [{"external_id": "ada"}, {"email": " ADA@example.com"}, {"external_ids": ["ada"]}])
def test_who_would_enter_is_named_with_the_reason(
    server: ServerClient, journey: Journey, ada: Customer, body: dict[str, Any]
) -> None:
    answered = tried(server, journey, body)
    assert answered["customers"] == [
        {"customerId": ada.id, "external_id": "ada", "result": "enrolled", "reason": MET, "details": []}
    ]
    assert (answered["found"], answered["results"]) == (1, {"enrolled": 1})
    assert (answered["unknownExternalIds"], answered["excluded"], answered["notInSegments"]) == ([], [], [])


@each("body", [{"external_id": "ada"}, {"external_ids": ["ada", "nobody"]}])
def test_nothing_is_written_and_nothing_is_queued(
    server: ServerClient, journey: Journey, ada: Customer, body: dict[str, Any]
) -> None:
    tried(server, journey, body)  # notes when the key was used, which every call does
    before = everything()
    assert before["Customer"]
    with CaptureQueriesContext(connection) as queries:
        tried(server, journey, {**body, "payload": {"plan": "pro"}})
    assert everything() == before
    assert not [q["sql"] for q in queries.captured_queries if not q["sql"].lstrip().startswith(("SELECT", "WITH"))]


def test_a_dry_run_says_what_the_worker_then_decides(server: ServerClient, acme: Workspace) -> None:
    """Whoever they are: the answers of a dry run and of the call itself are the same, customer by customer."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], max_entries_per_customer=2, entry_conditions=PRO)
    people = [
        CustomerFactory.create(workspace=acme, external_id=name, attributes={"plan": plan})
        for name, plan in (("new", "pro"), ("inside", "pro"), ("twice", "pro"), ("free", "free"))
    ]
    for name in ("inside", "twice", "twice"):
        data(trigger(server, journey, {"external_id": name}))
        let_workers_decide()
        Enrollment.objects.filter(customer=people[2]).update(state="completed", due_at=None)
    said = tried(server, journey, {"external_ids": [person.external_id for person in people]})
    assert results(said) == {
        "new": "enrolled",
        "inside": "enrolled",
        "twice": "max_entries_reached",
        "free": "conditions_not_met",
    }
    queued = data(trigger(server, journey, {"external_ids": [person.external_id for person in people]}))
    let_workers_decide()
    jobs = [job_of(server, acme.id, job_id) for job_id in queued["jobIds"]]
    decided = {job["customerId"]: (job["result"], job["reason"]) for job in jobs}
    assert {one["customerId"]: (one["result"], one["reason"]) for one in said["customers"]} == decided


def test_a_customer_who_is_queued_already_is_decided_about_as_of_now(
    server: ServerClient, journey: Journey, ada: Customer
) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    assert results(tried(server, journey, {"external_id": "ada"})) == {"ada": "enrolled"}
    let_workers_decide()
    assert results(tried(server, journey, {"external_id": "ada"})) == {"ada": "already_enrolled"}


def test_entry_conditions_see_the_payload(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    conditions = {"field": "api.payload.total", "op": "gt", "value": 10}
    journey = JourneyFactory.create(workspace=acme, entry_conditions=conditions)
    for total, result in ((9, "conditions_not_met"), (11, "enrolled")):
        for one_or_many in ({"external_id": "ada"}, {"external_ids": ["ada"]}):
            answered = tried(server, journey, {**one_or_many, "payload": {"total": total}})
            assert results(answered) == {"ada": result}


def test_unknown_external_ids_are_listed_as_they_were_sent(
    server: ServerClient, journey: Journey, ada: Customer, rival: Workspace
) -> None:
    CustomerFactory.create(workspace=rival, external_id="stranger")
    answered = tried(server, journey, {"external_ids": ["zoe", "ada", "stranger", " ", "zoe"]})
    assert answered["unknownExternalIds"] == ["zoe", "stranger", " "]
    assert results(answered) == {"ada": "enrolled"}


WAY: list[dict[str, Any]] = [
    {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}},
    {"id": "tell", "type": "track_event", "eventName": "noted", "eventProperties": {"plan": "{{ customer.plan }}"}},
    DAY,
    {
        "id": "call",
        "type": "webhook",
        "url": "https://shop.example/people/{{ customer.external_id }}",
        "body": {"name": "{{ customer.first_name }}", "plan": "{{ customer.plan }}"},
    },
]


def test_the_rendered_steps_are_told_for_one_customer(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAY)
    answered = tried(server, journey, {"external_id": "ada", "payload": {"plan": "pro"}})
    steps = answered["rehearsal"]["steps"]
    assert [(step["stepId"], step["state"]) for step in steps] == [
        ("note", "done"),
        ("tell", "done"),
        ("day", "waiting"),
        ("day", "done"),
        ("call", "waiting"),
        ("call", "done"),
    ]
    assert steps[0]["writes"] == {"plan": "pro"}
    assert steps[1]["event"] == {"eventName": "noted", "eventProperties": {"plan": "pro"}}
    assert (steps[2]["writes"], steps[2]["event"], steps[2]["request"], steps[2]["missing"]) == (None, None, None, [])
    assert steps[4]["request"] == {
        "method": "POST",
        "url": "https://shop.example/people/ada",
        "headers": {"Content-Type": "application/json"},
        "body": '{"name":"","plan":"pro"}',
    }
    assert steps[4]["missing"] == ["customer.first_name"]
    began, over = (datetime.fromisoformat(steps[n]["at"]) for n in (2, 3))
    assert over - began == timedelta(days=1)
    assert answered["rehearsal"]["end"] == {"state": "completed", "reason": "The last step is done."}
    assert Customer.objects.get(id=ada.id).attributes == {}


def test_the_steps_know_the_customer_and_the_journey_as_it_is_now(server: ServerClient, acme: Workspace) -> None:
    identity = {"external_id": "ada", "email": "ada@example.com", "phone": "+4915112345678", "user_id": "u-1"}
    ada = CustomerFactory.create(workspace=acme, **identity, attributes={"plan": "pro"})
    names = [f"customer.{name}" for name in ("id", *identity, "plan")] + ["journey.id", "journey.name", "enrollment.id"]
    note = {"id": "note", "type": "update_profile", "attributes": {name: f"{{{{ {name} }}}}" for name in names}}
    journey = JourneyFactory.create(workspace=acme, name="Hello", steps=[DAY])
    JourneyRevision.objects.create(workspace=acme, journey=journey, number=2, steps=[note])
    Journey.objects.update(revision=2)
    (step,) = tried(server, journey, {"external_id": "ada"})["rehearsal"]["steps"]
    known = [ada.id, *identity.values(), "pro", journey.id, "Hello", "0" * 24]
    assert step["writes"] == dict(zip(names, known, strict=True))


def test_the_steps_are_told_also_for_who_would_not_enter(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], entry_conditions=PRO)
    answered = tried(server, journey, {"external_id": "ada"})
    assert results(answered) == {"ada": "conditions_not_met"}
    assert [step["stepId"] for step in answered["rehearsal"]["steps"]] == ["day", "day"]


@each(
    "steps, end",
    [
        ([], {"state": "completed", "reason": "The journey has no steps: it completes at once."}),
        ([{"id": "out", "type": "exit", "reason": "Enough."}], {"state": "exited", "reason": "Enough."}),
        ([{**DAY, "next": "day"}], {"state": "unfinished", "reason": "Stopped after 200 steps."}),
    ],
)
def test_it_is_told_how_the_way_ends(
    server: ServerClient, acme: Workspace, ada: Customer, steps: list[Any], end: dict[str, str]
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    assert tried(server, journey, {"external_id": "ada"})["rehearsal"]["end"] == end


def test_credentials_of_the_receiver_are_not_told(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    url, headers = "https://shop.example/?token=hush", {"Authorization": "Bearer hush"}
    hook = {"id": "call", "type": "webhook", "method": "GET", "url": url, "headers": headers}
    journey = JourneyFactory.create(workspace=acme, steps=[hook])
    answered = tried(server, journey, {"external_id": "ada"})
    assert "hush" not in str(answered)
    assert answered["rehearsal"]["steps"][0]["request"] == {
        "method": "GET",
        "url": "https://shop.example/?token=***",
        "headers": {"Authorization": "***"},
        "body": None,
    }


def test_many_customers_are_not_rehearsed(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert "rehearsal" not in tried(server, journey, {"external_ids": ["ada"]})


@each("source", ["external_ids", "segment_ids"])
def test_who_is_excluded_is_listed_and_not_decided_about(
    server: ServerClient, journey: Journey, acme: Workspace, ada: Customer, source: str
) -> None:
    bob, eve = (CustomerFactory.create(workspace=acme, external_id=name) for name in ("bob", "eve"))
    segment = SegmentFactory.create(workspace=acme, members=[ada, bob])
    names = {"external_ids": ["ada", "bob"], "segment_ids": [segment.id]}
    answered = tried(server, journey, {source: names[source], "exclude_external_ids": ["bob", "eve", "nobody"]})
    assert answered["excluded"] == [{"customerId": bob.id, "external_id": "bob"}]
    assert results(answered) == {"ada": "enrolled"}
    assert eve.id not in str(answered)


@each("name", ["customerId", "external_id", "email"])
def test_an_excluded_single_customer_is_listed_so_by_whatever_they_are_named(
    server: ServerClient, journey: Journey, ada: Customer, name: str
) -> None:
    known_by = {"customerId": ada.id, "external_id": "ada", "email": "ada@example.com"}
    answered = tried(server, journey, {name: known_by[name], "exclude_external_ids": ["ada"]})
    assert answered["excluded"] == [{"customerId": ada.id, "external_id": "ada"}]
    assert (answered["customers"], answered["found"], "rehearsal" in answered) == ([], 0, False)


def test_who_is_in_none_of_the_segments_is_listed(
    server: ServerClient, journey: Journey, acme: Workspace, ada: Customer
) -> None:
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    segment = SegmentFactory.create(workspace=acme, members=[ada])
    answered = tried(server, journey, {"external_ids": ["ada", "bob", "nobody"], "segment_ids": [segment.id]})
    assert answered["notInSegments"] == [{"customerId": bob.id, "external_id": "bob"}]
    assert answered["unknownExternalIds"] == ["nobody"]
    assert results(answered) == {"ada": "enrolled"}


@each("dry", ["false", "0"])
def test_dry_run_false_triggers(server: ServerClient, journey: Journey, ada: Customer, dry: str) -> None:
    data(dry_run(server, journey, {"external_id": "ada"}, dry=dry))
    assert EnrollmentJob.objects.count() == 1


def test_one_is_true_as_some_clients_write_it(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert results(tried(server, journey, {"external_id": "ada"}, dry="1")) == {"ada": "enrolled"}


@each("query", ["dryRun=2", "dryRun=", "dryRun=True", "dryRun=true&dryRun=false", "dryRun=a%00b"])
def test_another_value_is_refused_and_nothing_is_queued(
    server: ServerClient, journey: Journey, ada: Customer, query: str
) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?{query}"
    assert "dryRun" in refused(server.post(path, {"external_id": "ada"}), status=400, error="Invalid request")
    assert not EnrollmentJob.objects.exists()


@each("name", ["dryrun", "dry_run", "DryRun", "dry-run", "dryRun[]", "dry.run"])
def test_another_spelling_is_refused_so_that_nobody_triggers_by_mistake(
    server: ServerClient, journey: Journey, ada: Customer, name: str
) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?{name}=true"
    message = refused(server.post(path, {"external_id": "ada"}), status=400, error="Invalid request")
    assert message == f"Write dryRun, not {name}."
    assert not EnrollmentJob.objects.exists()


@each(
    "fields, body",
    [
        ({}, {}),
        ({}, {"external_id": 1}),
        ({}, {"external_id": "ada", "external_ids": ["ada"]}),
        ({}, {"external_ids": ["x"] * 1001}),
        ({"active": False}, {"external_id": "nobody"}),
        ({"trigger_type": "event", "event_name": "paid"}, {"segment_ids": ["6" * 24]}),
        ({}, {"segment_ids": ["6" * 24]}),
        ({}, {"email": "nobody@example.com"}),
        ({}, b"[1"),
    ],
)
def test_a_dry_run_is_refused_as_the_call_is(
    server: ServerClient, acme: Workspace, fields: dict[str, Any], body: Any
) -> None:
    journey = JourneyFactory.create(workspace=acme, **fields)
    call, dry = (send(server, journey, body).json() for send in (trigger, dry_run))
    assert call["success"] is False
    assert call.pop("requestId") != dry.pop("requestId")
    assert dry == call


def test_a_dry_run_counts_against_the_limit(acme: Workspace, journey: Journey, ada: Customer) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme, rate_limit="2/d"))
    for _ in range(2):
        tried(server, journey, {"external_id": "ada"})
    assert dry_run(server, journey, {"external_id": "ada"}).status_code == 429
    assert trigger(server, journey, {"external_id": "ada"}).status_code == 429
    assert ApiKey.objects.get(id=server.key.id).rate_limit == "2/d"


def test_a_thousand_customers_cost_as_many_queries_as_one(
    server: ServerClient, acme: Workspace, django_assert_num_queries: Any
) -> None:
    journey = JourneyFactory.create(workspace=acme, entry_conditions=PRO)
    names = crowd(acme, 1000)
    tried(server, journey, {"external_ids": names[:1]})
    for number in (1, 1000):
        # key, journey, whom it leaves out, whom it means, their jobs, journey, conditions, and why these fail
        with django_assert_num_queries(8):
            answered = tried(server, journey, {"external_ids": names[:number]})
        assert answered["results"] == {"conditions_not_met": number}


def test_a_huge_segment_is_answered_in_pages_and_names_everybody_once(
    server: ServerClient, journey: Journey, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.entering.dry_runs._PAGE_SIZE", 500)
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, 1001, segment=segment)
    answered = tried(server, journey, {"segment_ids": [segment.id]})
    assert (answered["found"], answered["results"]) == (1001, {"enrolled": 1001})
    assert len({one["customerId"] for one in answered["customers"]}) == 1001


def test_return_minimal_gives_the_counts_without_the_customers(
    server: ServerClient, journey: Journey, acme: Workspace
) -> None:
    body = {"external_ids": [*crowd(acme, 2), "nobody"]}
    answer = dry_run(server, journey, body, headers={"Prefer": "return=minimal"})
    answered = data(answer, status=200)
    assert "customers" not in answered
    assert (answered["found"], answered["results"]) == (2, {"enrolled": 2})
    assert answered["unknownExternalIds"] == ["nobody"]
    assert answer["Preference-Applied"] == "return=minimal"

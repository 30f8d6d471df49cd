"""`entranceId`: what one entry of a customer into a journey is for, and that there is one entry for it."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.steering import entrances
from journeys.models import CHUNK_SIZE, Chunk, Enrollment, EnrollmentJob, Journey, Trigger
from tests.support.calls import (
    customers_path,
    data,
    job_of,
    let_workers_decide,
    let_workers_walk,
    refused,
    serve_until_empty,
    trigger,
)
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import Cast, CustomerFactory, JourneyFactory, crowd
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.usefixtures("cast")
WAIT = {"id": "wait", "type": "delay", "for": "P1D"}


@pytest.fixture
def waiting(acme: Workspace) -> Journey:
    """Whoever enters it stays, and may be inside once for each entrance."""
    return JourneyFactory.create(workspace=acme, steps=[WAIT], concurrent_entrances=True)


def enter(server: ServerClient, journey: Journey, entrance: str | None, **body: Any) -> dict[str, Any]:
    return data(trigger(server, journey, {"external_id": "ada", "entranceId": entrance, **body}))


def results() -> list[str]:
    return list(EnrollmentJob.objects.order_by("id").values_list("result", flat=True))


def holders() -> list[str]:
    held = EnrollmentJob.objects.filter(holds_entrance=True).order_by("id")
    return [str(entrance) for entrance in held.values_list("entrance", flat=True)]


def exit_of(server: ServerClient, journey: Journey, entrance: str, **body: Any) -> Answer:
    return server.post(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/entrances/{entrance}/exit", body)


FORMS: dict[str, dict[str, Any]] = {
    "one": {"external_id": "ada", "entranceId": "order-17"},
    "many": {"external_ids": ["ada"], "entrance_id": "order-17"},
    "recipients": {"recipients": [{"external_id": "ada", "entranceId": "order-17"}]},
    "common": {"recipients": [{"external_id": "ada"}], "entranceId": "order-17"},
}


@each("again", FORMS)
@each("form", FORMS)
def test_a_repeat_is_decided_with_the_first_job_s_id(
    server: ServerClient, journey: Journey, cast: Cast, form: str, again: str
) -> None:
    first = data(trigger(server, journey, FORMS[form]))
    (job,) = first.get("jobIds") or [first["jobId"]]
    assert first["duplicates"] == []
    for decided in (False, True):
        headers = {"Idempotency-Key": f"key-{decided}"}
        answers = [trigger(server, journey, FORMS[again], headers=headers) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        repeat = data(answers[0])
        assert repeat["duplicates"] == [{"entranceId": "order-17", "customerId": cast["ada"].id, "jobId": job}]
        let_workers_decide()
        (later,) = repeat.get("jobIds") or [repeat["jobId"]]
        found = job_of(server, journey.workspace_id, later)
        assert (found["result"], found["entranceId"]) == ("duplicate_entrance", "order-17")
        assert found["reason"] == f"The entrance is that of an earlier job: {job}."
    assert results() == ["enrolled", "duplicate_entrance", "duplicate_entrance"]
    assert holders() == ["order-17"]


@each("form", FORMS)
def test_a_dry_run_decides_by_the_entrance(server: ServerClient, journey: Journey, form: str) -> None:
    Journey.objects.filter(id=journey.id).update(
        allow_reenrollment=True, entry_conditions={"field": "entrance.id", "op": "exists"}
    )
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
    for expected in ("enrolled", "duplicate_entrance"):
        assert data(server.post(path, FORMS[form]), status=200)["results"] == {expected: 1}
        enter(server, journey, "order-17")
        let_workers_decide()


def test_an_entrance_is_held_by_what_is_queued_or_has_enrolled_and_by_nothing_else(
    server: ServerClient, journey: Journey
) -> None:
    Journey.objects.filter(id=journey.id).update(
        allow_reenrollment=True, entry_conditions={"field": "entrance.id", "op": "eq", "value": "order-18"}
    )
    enter(server, journey, "order-17")
    enter(server, journey, "order-17")  # not held any more once the first is refused
    let_workers_decide()
    assert (results(), holders()) == (["conditions_not_met"] * 2, [])
    enter(server, journey, "order-18")
    job = enter(server, journey, "order-18")["jobId"]
    server.delete(f"/api/v1/journeys/{journey.workspace_id}/jobs/{EnrollmentJob.objects.order_by('id')[2].job_id}")
    assert holders() == []
    let_workers_decide()
    assert job_of(server, journey.workspace_id, job)["result"] == "enrolled"
    assert holders() == ["order-18"]
    EnrollmentJob.objects.filter(result="enrolled").update(entrance=None, holds_entrance=None)  # as if it were pruned
    enter(server, journey, "order-18")
    let_workers_decide()
    assert results()[-1] == "enrolled"


def test_where_a_refused_one_lets_go_the_next_of_its_batch_takes_over(server: ServerClient, journey: Journey) -> None:
    Journey.objects.filter(id=journey.id).update(
        entry_conditions={"field": "api.payload.paid", "op": "eq", "value": True}
    )
    for paid in (False, True, True):
        enter(server, journey, "order-17", payload={"paid": paid})
    let_workers_decide()
    assert results() == ["conditions_not_met", "enrolled", "duplicate_entrance"]
    assert holders() == ["order-17"]


def test_an_expired_repeat_lets_go_of_nobody_else_s_entrance(server: ServerClient, journey: Journey) -> None:
    Journey.objects.filter(id=journey.id).update(allow_reenrollment=True)
    enter(server, journey, "order-17")
    let_workers_decide()
    in_an_hour = timezone.now() + timedelta(hours=1)
    expiring = enter(server, journey, "order-17", expiresAt=in_an_hour.isoformat())
    Trigger.objects.filter(id=expiring["triggerId"]).update(expires_at=timezone.now() - timedelta(hours=1))
    enter(server, journey, "order-17")
    enter(server, journey, "order-18")
    let_workers_decide()
    assert results() == ["enrolled", "expired", "duplicate_entrance", "enrolled"]
    assert holders() == ["order-17", "order-18"]


@pytest.mark.parametrize("before", [0, CHUNK_SIZE - 1])
def test_a_person_s_entrances_are_decided_in_the_order_of_the_call_as_a_dry_run_says(
    server: ServerClient, acme: Workspace, before: int
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[WAIT])
    order = [*("z", "a", "m"), *"QWERTZ"]
    recipients = [{"external_id": name} for name in crowd(acme, before)]
    recipients += [{"external_id": "ada", "entranceId": one} for one in order]
    path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, {"recipients": recipients}), status=200)["customers"][before:]
    expected = ["enrolled"] + ["already_enrolled"] * 8
    assert [one["result"] for one in tried] == expected
    queued = data(trigger(server, journey, {"recipients": recipients}))
    assert len(queued["jobIds"]) == before + 9
    assert list(Chunk.objects.values_list("start", "stop")) == [(0, before + 9)]
    let_workers_decide()
    jobs = EnrollmentJob.objects.filter(entrance__isnull=False).order_by("ordinal")
    assert list(jobs.values_list("entrance", "result")) == list(zip(order, expected, strict=True))


def test_whoever_is_inside_twice_as_entrances_cease_to_count_apart_leaves_both_for_a_new_entry(
    server: ServerClient, waiting: Journey
) -> None:
    Journey.objects.filter(id=waiting.id).update(max_entries_per_customer=5)
    for entrance in ("order-17", "order-18", None):
        enter(server, waiting, entrance)
    let_workers_decide()
    assert Enrollment.objects.filter(state="active").count() == 3
    Journey.objects.filter(id=waiting.id).update(concurrent_entrances=False)
    enter(server, waiting, "order-19")
    let_workers_decide()
    inside = Enrollment.objects.select_related("job").get(state="active")
    assert inside.job
    assert inside.job.entrance == "order-19"
    assert set(Enrollment.objects.filter(state="exited").values_list("exit_reason", flat=True)) == {
        "Replaced by a new entry."
    }


def test_the_database_holds_it_whoever_decides(server: ServerClient, journey: Journey) -> None:
    """Such as a worker of the version before."""
    enter(server, journey, "order-17")
    enter(server, journey, "order-17")
    first, second = EnrollmentJob.objects.order_by("id")
    EnrollmentJob.objects.filter(id=first.id).update(status="decided", result="enrolled")
    with pytest.raises(IntegrityError, match="job_entrance"):
        EnrollmentJob.objects.filter(id=second.id).update(status="decided", result="enrolled")


@each("concurrent", [False, True])
def test_two_entrances_of_a_person_are_two_jobs(
    server: ServerClient, acme: Workspace, cast: Cast, *, concurrent: bool
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[WAIT], concurrent_entrances=concurrent)
    wanted = ["order-17", "order-18", None, "order-17", None]
    recipients = [{"external_id": "ada", "entranceId": entrance} for entrance in wanted]
    answered = data(trigger(server, journey, {"recipients": recipients}))
    assert answered["customersEnrolled"] == 1
    assert answered["customerIds"] == [cast["ada"].id] * 3
    milliseconds = [int(job.rsplit("-", 1)[1]) for job in answered["jobIds"]]
    assert [ms - milliseconds[0] for ms in milliseconds] == [0, 1, 2]
    assert [one["index"] for one in answered["refused"]] == [3, 4]
    let_workers_walk()
    expected = ["enrolled"] * 3 if concurrent else ["enrolled", "already_enrolled", "already_enrolled"]
    assert results() == expected
    assert Enrollment.objects.filter(state="active").count() == expected.count("enrolled")


def test_where_entrances_are_concurrent_each_counts_apart(server: ServerClient, acme: Workspace) -> None:
    """Of one entrance the interface's rules hold, also when its job is pruned; none exits another's enrollment."""
    journey = JourneyFactory.create(workspace=acme, steps=[WAIT], concurrent_entrances=True, max_entries_per_customer=2)
    for entrance in ("order-17", "order-18", None, None):
        enter(server, journey, entrance)
    let_workers_walk()
    assert results() == ["enrolled"] * 4
    states = Counter(Enrollment.objects.values_list("entrance", "state"))
    assert states == {("order-17", "active"): 1, ("order-18", "active"): 1, (None, "active"): 1, (None, "exited"): 1}
    Journey.objects.filter(id=journey.id).update(max_entries_per_customer=None)
    EnrollmentJob.objects.update(holds_entrance=None, entrance=None)
    enter(server, journey, "order-17")
    let_workers_decide()
    assert results()[-1] == "already_enrolled"


def test_servers_events_have_entrances(server: ServerClient, acme: Workspace) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered", allow_reenrollment=True)
    ordered = {"external_id": "ada", "eventName": "ordered"}
    one = {**ordered, "entranceId": "order-17"}
    data(
        server.post(
            customers_path(acme, "events"), {"events": [one, one, {**ordered, "entrance_id": "order-18"}, ordered]}
        )
    )
    data(server.post(customers_path(acme, "events"), one))
    let_workers_decide()
    assert Counter(results()) == {"enrolled": 3, "duplicate_entrance": 2}
    assert holders() == ["order-17", "order-18"]


def test_entrance_id_is_read_by_steps_and_conditions(server: ServerClient, acme: Workspace, cast: Cast) -> None:
    is_it = {"field": "entrance.id", "op": "eq", "to": "api.payload.order"}
    steps = [
        {"id": "is", "type": "branch", "cases": [{"if": is_it, "next": "keep"}], "else": None},
        {"id": "keep", "type": "update_profile", "attributes": {
            "said": "{{ entrance.id }}", "kept": {"$value": "entrance.id"}
        }},
    ]  # fmt: skip
    enter(server, JourneyFactory.create(workspace=acme, steps=steps), "order-17", payload={"order": "order-17"})
    let_workers_walk()
    assert Customer.objects.get(id=cast["ada"].id).attributes == {"said": "order-17", "kept": "order-17"}


def test_an_entrance_id_may_be_any_text(server: ServerClient, waiting: Journey) -> None:
    for entrance in ("2026/17", "a b?c#d%", "Bücher ☂"):
        enter(server, waiting, entrance)
        assert data(exit_of(server, waiting, quote(entrance, safe="")), status=200) == {
            "journeyId": waiting.id, "entranceId": entrance, "cancelled": 1, "exited": 0
        }  # fmt: skip


def test_an_entrance_id_has_at_most_128_characters(server: ServerClient, journey: Journey) -> None:
    assert enter(server, journey, "x" * 128)["duplicates"] == []
    body = {"external_id": "ada", "entranceId": "x" * 129}
    assert "entranceId must be at most 128" in refused(
        trigger(server, journey, body), status=400, error="Invalid request"
    )
    told = data(trigger(server, journey, {"recipients": [body]}))["refused"]
    assert [one["code"] for one in told] == ["invalid_recipient"]


# Exits --------------------------------------------------------------------------------------------------------------


def test_exiting_an_entrance_cancels_what_is_queued_and_exits_who_is_inside(
    server: ServerClient, waiting: Journey
) -> None:
    everybody = {"recipients": [{"external_id": name, "entranceId": "order-17"} for name in ("ada", "grace", "alan")]}
    data(trigger(server, waiting, everybody))
    enter(server, waiting, "order-18")
    let_workers_walk()
    enter(server, waiting, "order-17")
    data(trigger(server, waiting, {"external_id": "edsger", "entranceId": "order-17"}))
    one = data(exit_of(server, waiting, "order-17", external_id="grace"), status=200)
    assert (one["cancelled"], one["exited"]) == (0, 1)
    done = data(exit_of(server, waiting, "order-17"), status=200)
    assert done == {"journeyId": waiting.id, "entranceId": "order-17", "cancelled": 2, "exited": 2}
    assert data(exit_of(server, waiting, "order-17"), status=200)["exited"] == 0
    let_workers_walk()
    assert Enrollment.objects.get(state="active").entrance == "order-18"
    refused(exit_of(server, waiting, "order-17", customerId="nobody"), status=404, error="Customer not found")
    assert data(exit_of(server, waiting, "order-99"), status=200)["cancelled"] == 0
    data(trigger(server, waiting, {"external_id": "edsger", "entranceId": "order-17"}))  # it was cancelled: free again
    let_workers_decide()
    assert results()[-1] == "enrolled"


def test_an_exit_of_many_ends_after_a_while_and_another_call_goes_on(
    server: ServerClient, acme: Workspace, waiting: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrances, "_AT_ONCE", 2)
    names = crowd(acme, 7)
    data(trigger(server, waiting, {"external_ids": names[:3], "entranceId": "order-17"}))
    let_workers_decide()
    data(trigger(server, waiting, {"external_ids": names[3:], "entranceId": "order-17"}))
    with monkeypatch.context() as shortly:
        shortly.setattr(entrances, "_EXIT_SECONDS", 0.0)
        first = data(exit_of(server, waiting, "order-17"), status=200)
    assert (first["cancelled"] + first["exited"], first["more"]) == (2, True)
    with CaptureQueriesContext(connection) as queries:
        rest = data(exit_of(server, waiting, "order-17"), status=200)
    assert (rest["cancelled"] + rest["exited"], "more" in rest) == (5, False)
    looked = [one for one in queries if "= 'active' LIMIT" in one["sql"]]
    assert len(looked) == 2, "all jobs of the entrance are gone through once, and once more to see that none is left"
    assert not EnrollmentJob.objects.filter(status="queued").exists()
    assert not Enrollment.objects.filter(state="active").exists()


# Races --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("form", "concurrent"), [("one", True), ("one", False), ("recipients", True), ("many", True)])
def test_of_32_equal_entrances_at_once_one_enters(
    transactional_db: None, server: ServerClient, waiting: Journey, form: str, *, concurrent: bool
) -> None:
    Journey.objects.update(concurrent_entrances=concurrent)
    answers = all_at_once([partial(trigger, server, waiting, FORMS[form])] * 32)
    assert sum(data(answer)["duplicates"] == [] for answer in answers) == 1
    all_at_once([serve_until_empty] * 3)
    assert Counter(results()) == {"enrolled": 1, "duplicate_entrance": 31}
    assert (Enrollment.objects.count(), holders()) == (1, ["order-17"])


def test_while_the_first_jobs_fail_there_is_never_more_than_one_who_enters(
    transactional_db: None, server: ServerClient, waiting: Journey
) -> None:
    def fail() -> None:
        queued = EnrollmentJob.objects.filter(status="queued", holds_entrance=True)
        queued.update(status="failed", result="failed")

    calls: list[Callable[[], Any]] = [partial(trigger, server, waiting, FORMS["one"])] * 8
    for _ in range(3):
        all_at_once([*calls, fail, serve_until_empty, fail])
    enter(server, waiting, "order-17")
    serve_until_empty()
    counted = Counter(results())
    assert (counted["enrolled"], counted.total()) == (1, 25)
    assert counted.keys() <= {"enrolled", "duplicate_entrance", "failed"}
    assert (Enrollment.objects.count(), holders()) == (1, ["order-17"])


def test_with_the_flag_off_one_of_32_different_ones_at_once_enters(
    transactional_db: None, server: ServerClient, acme: Workspace
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[WAIT])
    names = [f"order-{n}" for n in range(32)]
    all_at_once([partial(trigger, server, journey, {"external_id": "ada", "entranceId": name}) for name in names])
    all_at_once([serve_until_empty] * 2)
    assert Counter(results()) == {"enrolled": 1, "already_enrolled": 31}
    assert len(holders()) == 1


@pytest.mark.slow
def test_of_32_different_ones_at_once_all_enter_and_exits_between_are_exact(
    transactional_db: None, server: ServerClient, waiting: Journey
) -> None:
    names = [f"order-{n}" for n in range(32)]
    calls = [partial(trigger, server, waiting, {"external_id": "ada", "entranceId": name}) for name in names]
    assert all(answer.status_code == 202 for answer in all_at_once(calls))
    exits: list[Callable[[], Answer | None]] = [partial(exit_of, server, waiting, name) for name in names[:16]]
    told: list[Answer | None] = all_at_once([serve_until_empty, *exits, serve_until_empty])
    numbers = [data(answer, status=200) for answer in told if answer]
    assert all(one["cancelled"] + one["exited"] == 1 for one in numbers)
    serve_until_empty()
    active = Enrollment.objects.filter(state="active").values_list("entrance", flat=True)
    assert set(active) == set(names[16:])


# Merges -------------------------------------------------------------------------------------------------------------


@each("known", [False, True])
def test_of_two_people_with_one_entrance_the_one_who_stays_keeps_it(
    server: ServerClient, acme: Workspace, waiting: Journey, cast: Cast, *, known: bool
) -> None:
    passing = JourneyFactory.create(workspace=acme)
    former = CustomerFactory.create(
        workspace=acme, external_id="page-1" if known else None, user_id=None if known else "page-1"
    )
    both = [{"customerId": former.id}, {"external_id": "ada"}]
    for journey, entrance in ((waiting, "inside"), (passing, "completed")):
        for one in both:
            data(trigger(server, journey, {**one, "entranceId": entrance}))
    data(trigger(server, waiting, {"customerId": former.id, "entranceId": "theirs"}))
    let_workers_walk()
    for one in both:
        data(trigger(server, waiting, {**one, "entranceId": "queued"}))
    merge: dict[str, Any] = {"customer": {"external_id": "page-1"}} if known else {"anonymous": {"userId": "page-1"}}
    merge["into"] = {"external_id": "ada"}
    assert server.post(customers_path(acme, "merge"), merge).status_code == 200
    ada = Enrollment.objects.filter(customer_id=cast["ada"].id)
    assert Counter(ada.values_list("journey_id", "job__entrance", "state")) == {
        (waiting.id, "inside", "active"): 1,
        (waiting.id, "inside", "exited"): 1,
        (passing.id, "completed", "completed"): 2,
        (waiting.id, "theirs", "active"): 1,
    }
    queued = EnrollmentJob.objects.filter(entrance="queued").order_by("id").values_list("status", flat=True)
    assert sorted(queued) == ["cancelled", "queued"]
    assert sorted(holders()) == ["completed", "inside", "queued", "theirs"]


def test_an_erasure_forgets_the_entrance(server: ServerClient, acme: Workspace, waiting: Journey, cast: Cast) -> None:
    enter(server, waiting, "order-17")
    server.delete(customers_path(acme, cast["ada"].id))
    assert [(job.entrance, job.holds_entrance) for job in EnrollmentJob.objects.all()] == [(None, None)]

"""`scheduledFor` and `expiresAt`: jobs that are queued until they are due, and that count until a time."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from customers.models import Customer, Event
from engage.database.pruning import may_go
from engage.models import Workspace
from journeys.engine.entering.chunks import claim_chunk
from journeys.engine.entering.scheduled import come_due
from journeys.engine.operations.backlog import backlog
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from journeys.tasks import sweep
from tests.support.calls import customers_path, data, job_of, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.usefixtures("cast", "queue")
WAIT = {"id": "wait", "type": "delay", "for": "P1D"}
BERLIN = {"timezoneFrom": "customer.timezone", "else": "Europe/Berlin"}
FORMS: dict[str, dict[str, Any]] = {
    "one": {"external_id": "ada"},
    "many": {"external_ids": ["ada"]},
    "recipients": {"recipients": [{"external_id": "ada", "payload": {"n": 1}}]},
}


def written(moment: datetime) -> str:
    return moment.replace(microsecond=0).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ahead(**duration: float) -> str:
    return written(timezone.now() + timedelta(**duration))


def jobs_in(answered: dict[str, Any]) -> list[str]:
    return answered.get("jobIds") or [answered["jobId"]]


def scheduled(server: ServerClient, journey: Journey, form: str = "one", **more: Any) -> dict[str, Any]:
    return data(trigger(server, journey, {**FORMS[form], "scheduledFor": ahead(days=1), **more}))


def let_it_come_due() -> None:
    time_passes(days=2)
    EnrollmentJob.objects.update(scheduled_for=F("scheduled_for") - timedelta(days=2))
    come_due()
    let_workers_decide()


def results() -> list[str]:
    return list(EnrollmentJob.objects.order_by("id").values_list("result", flat=True))


@each("form", FORMS)
def test_until_it_is_due_a_job_is_queued_and_no_worker_decides_it(
    server: ServerClient, journey: Journey, form: str
) -> None:
    when = ahead(days=1)
    headers = {"Idempotency-Key": "4711"}
    body = {**FORMS[form], "scheduledFor": when, "expiresAt": ahead(days=4)}
    answers = [trigger(server, journey, body, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    answered = data(answers[0])
    (job,) = jobs_in(answered)
    told = answered["recipients"][0] if form == "recipients" else answered
    assert told["scheduledFor"] == when
    let_workers_decide()
    assert not come_due()
    found = job_of(server, journey.workspace_id, job)
    assert (found["status"], found["scheduledFor"]) == ("queued", when)
    call = data(server.get(f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"), status=200)
    assert (call["queued"], call["scheduledFor"], call["expiresAt"]) == (1, when, body["expiresAt"])
    assert all(lane.jobs.number == 0 for lane in backlog().lanes)
    time_passes(days=2)
    [(overdue, seconds)] = [(one.jobs.number, one.jobs.seconds_late) for one in backlog().lanes if one.jobs.number]
    assert (overdue, 86_300 < seconds < 86_500) == (1, True), "due a day ago, and put into no lane"
    sweep()
    let_workers_decide()
    assert (results(), Chunk.objects.count()) == (["enrolled"], 0)
    assert "scheduledFor" not in data(
        server.get(f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"), status=200
    )


TOKYO = {"timezoneFrom": "customer.timezone", "else": "Asia/Tokyo"}
PAST = ["2020-01-01T00:00:00Z", "0001-01-01T00:00:00+12:00", {"local": "0001-01-01T00:00", **TOKYO}]


@each("form, past", list(product(FORMS, PAST)))
def test_what_is_past_is_due_at_once(server: ServerClient, journey: Journey, form: str, past: Any) -> None:
    """Also what is before the first year of UTC."""
    scheduled(server, journey, form, scheduledFor=past)
    let_workers_decide()
    assert results() == ["enrolled"]


ZONES = {
    "America/New York ": ("America/New_York", 5), "w. europe standard time": ("Europe/Berlin", -1),
    "UTC+5:45": ("UTC+05:45", -5.75), "GMT\u22123": ("UTC-03:00", 3), "Nowhere": None, "": None, 7: None, None: None,
}  # fmt: skip


@each("form", FORMS)
def test_jobs_and_dry_runs_tell_by_whose_clocks_they_are_due(server: ServerClient, acme: Workspace, form: str) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[])
    local = (timezone.now() + timedelta(days=3)).replace(tzinfo=None, minute=0, second=0, microsecond=0)
    when = {"local": local.isoformat(), "timezoneFrom": "customer.attributes.tz", "else": "gmt+1"}
    wanted, jobs, tried, counted = [], [], [], Counter[str]()
    for number, (zone, known) in enumerate(ZONES.items()):
        CustomerFactory.create(workspace=acme, external_id=f"z-{number}", attributes={"tz": zone})
        name, behind = known or ("UTC+01:00", -1)
        due = written((local + timedelta(hours=behind)).replace(tzinfo=UTC))
        wanted.append({"scheduledFor": due, "timezone": name, "elseStoodIn": known is None})
        body = json.loads(json.dumps(FORMS[form]).replace("ada", f"z-{number}")) | {"scheduledFor": when}
        path = f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true"
        dry = data(server.post(path, body), status=200)
        tried += dry["customers"]
        answered = data(trigger(server, journey, body))
        job = answered["recipients"][0]["jobId"] if form == "recipients" else jobs_in(answered)[0]
        jobs.append(job_of(server, acme.id, job))
        call = data(server.get(f"/api/v1/journeys/{acme.id}/triggers/{answered['triggerId']}"), status=200)
        counted.update(dry=dry["elseStoodIn"], call=call.get("elseStoodIn", 0))
    for found in (tried, jobs):
        assert [{name: one[name] for name in wanted[0]} for one in found] == wanted
    assert counted == {"dry": 4, "call": 0 if form == "one" else 4}


def test_segments_are_resolved_at_the_call_and_the_entry_rules_when_it_is_due(
    server: ServerClient, acme: Workspace
) -> None:
    steps = [WAIT]
    journey = JourneyFactory.create(
        workspace=acme, steps=steps, entry_conditions={"field": "customer.plan", "op": "eq", "value": "pro"}
    )
    scheduled(server, journey)
    Customer.objects.filter(external_id="ada").update(attributes={"plan": "pro"})
    let_it_come_due()
    assert results() == ["enrolled"]


@each("before", [True, False])
def test_what_ends_the_journey_counts_from_the_call_and_first_waits_from_when_it_is_due(
    server: ServerClient, acme: Workspace, *, before: bool
) -> None:
    wait = {"type": "wait_for_event", "event": "paid", "timeout": "PT1H", "onEvent": None, "onTimeout": "late"}
    steps = [{"id": "paid", **wait}, {"id": "late", "type": "update_profile", "attributes": {"late": "yes"}}]
    journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=[{"event": "left"}] if before else [])
    scheduled(server, journey)
    for name in ("left", "paid"):
        data(server.post(customers_path(acme, "events"), {"external_id": "ada", "eventName": name}))
    Event.objects.update(created_at=timezone.now() - timedelta(days=3))
    EnrollmentJob.objects.update(queued_ms=int((timezone.now() - timedelta(days=4)).timestamp() * 1000))
    let_it_come_due()
    let_workers_walk()
    assert ("left" in Enrollment.objects.get().exit_reason) == before
    late = {} if before else {"late": "yes"}  # what was paid before does not count, and the hour since then is over
    assert Customer.objects.get(workspace=acme, external_id="ada").attributes == late


def test_a_first_delay_counts_from_then(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P7D"}])
    scheduled(server, journey)
    EnrollmentJob.objects.update(queued_ms=int((timezone.now() - timedelta(days=4)).timestamp() * 1000))
    let_it_come_due()
    let_workers_walk()
    due_at, due_from = Enrollment.objects.get().due_at, EnrollmentJob.objects.get().scheduled_for
    assert due_at
    assert due_from
    assert due_at == due_from + timedelta(days=7)


def test_each_is_due_when_the_clocks_of_their_own_zone_show_it(server: ServerClient, acme: Workspace) -> None:
    year = timezone.now().year + 1
    journey = JourneyFactory.create(workspace=acme)
    zones = {"ada": "America/New_York", "grace": "Asia/Tokyo", "alan": "no zone", "edsger": None}
    for name, zone in zones.items():
        Customer.objects.filter(external_id=name).update(attributes={"timezone": zone} if zone else {})
    at_nine = {"local": f"{year}-01-05T09:00", **BERLIN}
    wanted = {"ada": f"{year}-01-05T14:00:00.000Z", "grace": f"{year}-01-05T00:00:00.000Z"}
    wanted |= dict.fromkeys(("alan", "edsger"), f"{year}-01-05T08:00:00.000Z")
    recipients = [{"external_id": name} for name in zones]
    for body in ({"external_ids": list(zones)}, {"recipients": recipients}):
        answered = data(trigger(server, journey, {**body, "scheduledFor": at_nine}))
        told = {}
        for job in answered["jobIds"]:
            found = job_of(server, acme.id, job)
            told[found["externalId"] if "externalId" in found else found["external_id"]] = found["scheduledFor"]
        assert told == wanted
        starts = list(Chunk.objects.filter(trigger_id=answered["triggerId"]).order_by("start").values_list("due_at"))
        assert starts == sorted(starts)
        assert len(starts) == 3
        listed = answered.get("recipients", [])
        assert [one["scheduledFor"] for one in listed] == sorted(one["scheduledFor"] for one in listed)
    one = data(trigger(server, journey, {"external_id": "grace", "scheduledFor": at_nine}))
    assert one["scheduledFor"] == wanted["grace"]
    Customer.objects.filter(external_id="grace").update(attributes={})  # the zone is that of the call
    assert job_of(server, acme.id, one["jobId"])["scheduledFor"] == wanted["grace"]


@pytest.mark.parametrize(
    ("local", "instant"),
    [("03-28T02:30", "03-28T01:30:00"), ("10-31T02:30", "10-31T00:30:00")],  # skipped: later; doubled: the first
)
def test_an_hour_that_clocks_skip_moves_on_and_of_a_doubled_one_the_first_counts(
    server: ServerClient, journey: Journey, local: str, instant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.entering.schedules._LONGEST", timedelta(days=3660))
    local_form = {"local": f"2027-{local}", **BERLIN}
    assert scheduled(server, journey, scheduledFor=local_form)["scheduledFor"] == f"2027-{instant}.000Z"


REFUSED: dict[str, dict[str, Any]] = {
    "scheduledFor must be an instant": {"scheduledFor": "2026-12-24T09:00"},
    "scheduledFor must be an": {"scheduledFor": 5},
    "more than a year ahead": {"scheduledFor": "2999-01-01T00:00:00Z"},
    "scheduledFor is more than a year ahead": {"scheduledFor": "9999-12-31T23:00:00-12:00"},
    "scheduledFor.local must be a date": {"scheduledFor": {"local": "2026-12-24T09:00Z", **BERLIN}},
    "scheduledFor.local must be a date and": {"scheduledFor": {"local": "2026-02-30T09:00", **BERLIN}},
    "scheduledFor.else must be": {"scheduledFor": {"local": "2026-12-24T09:00", **BERLIN, "else": "Berlin"}},
    "scheduledFor.timezoneFrom is 'event.name'": {
        "scheduledFor": {"local": "2026-12-24T09:00", **BERLIN, "timezoneFrom": "event.name"}
    },
    "scheduledFor.timezoneFrom must be a string": {"scheduledFor": {"local": "2026-12-24T09:00", "else": "UTC"}},
    "no field 'zone'": {"scheduledFor": {"local": "2026-12-24T09:00", **BERLIN, "zone": "UTC"}},
    "expiresAt must be an instant": {"expiresAt": "soon"},
    "expiresAt must be after scheduledFor": {
        "scheduledFor": "2020-01-02T00:00:00Z", "expiresAt": "2020-01-01T00:00:00.000Z"
    },
}  # fmt: skip


@each("message", REFUSED)
def test_what_is_wrong_is_named(server: ServerClient, journey: Journey, message: str) -> None:
    answer = trigger(server, journey, {"external_id": "ada", **REFUSED[message]})
    assert message in refused(answer, status=400, error="Invalid request")
    assert not EnrollmentJob.objects.exists()


@each("form", FORMS)
def test_what_is_not_decided_by_its_time_is_expired(server: ServerClient, journey: Journey, form: str) -> None:
    over = {**FORMS[form], "expires_at": ahead(days=-1)}
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
    assert data(server.post(path, over), status=200)["results"] == {"expired": 1}
    data(trigger(server, journey, over))
    data(trigger(server, journey, {**FORMS[form], "expiresAt": ahead(days=1), "entranceId": "order-17"}))
    let_workers_decide()
    assert results() == ["expired", "enrolled"]


# Taken back ---------------------------------------------------------------------------------------------------------


def cancel_of(server: ServerClient, journey: Journey, answered: dict[str, Any], how: str) -> Answer:
    path = f"/api/v1/journeys/{journey.workspace_id}"
    if how == "job":
        return server.delete(f"{path}/jobs/{jobs_in(answered)[0]}")
    if how == "trigger":
        return server.post(f"{path}/triggers/{answered['triggerId']}/cancel", {})
    return server.post(f"{path}/{journey.id}/entrances/order-17/exit", {})


@pytest.mark.slow
@pytest.mark.parametrize("how", ["job", "trigger", "entrance"])
@pytest.mark.parametrize("form", FORMS)
def test_a_scheduled_job_can_be_taken_back_and_sent_again(
    server: ServerClient, journey: Journey, form: str, how: str
) -> None:
    answered = scheduled(server, journey, form, entranceId="order-17")
    assert cancel_of(server, journey, answered, how).status_code == 200
    scheduled(server, journey, form, entranceId="order-17", scheduledFor=ahead(hours=1))
    let_it_come_due()
    assert (results(), Chunk.objects.count()) == (["cancelled", "enrolled"], 0)


@pytest.mark.parametrize("how", ["job", "trigger", "entrance"])
def test_cancelled_while_due_each_is_one_of_the_two(
    transactional_db: None, server: ServerClient, acme: Workspace, how: str
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[WAIT])
    for name in (names := [f"c{n}" for n in range(8)]):
        CustomerFactory.create(workspace=acme, external_id=name)
    answered = [
        data(trigger(server, journey, {
            "external_id": name, "entranceId": f"order-{n}", "scheduledFor": ahead(days=1)
        })) for n, name in enumerate(names)
    ]  # fmt: skip
    time_passes(days=2)

    def cancels(n: int) -> Answer:
        if how == "entrance":
            return server.post(f"/api/v1/journeys/{acme.id}/{journey.id}/entrances/order-{n}/exit", {})
        return cancel_of(server, journey, answered[n], how)

    def works() -> None:
        come_due()
        let_workers_decide()

    calls: list[Any] = [*(partial(cancels, n) for n in range(8)), works, works]
    all_at_once(calls)
    works()
    statuses = set(EnrollmentJob.objects.values_list("status", "result"))
    assert statuses <= {("decided", "enrolled"), ("cancelled", "cancelled")}
    enrolled = EnrollmentJob.objects.filter(result="enrolled").count()
    assert Enrollment.objects.count() == enrolled
    assert (how == "entrance") <= (Enrollment.objects.filter(state="active").count() == 0)
    assert not Chunk.objects.exists()


# Coming due ---------------------------------------------------------------------------------------------------------


def test_many_single_calls_for_one_moment_go_to_the_bulk_lane_and_a_few_do_not(
    server: ServerClient, acme: Workspace, rival: Workspace, journey: Journey
) -> None:
    when = ahead(days=1)
    for n in range(11):
        CustomerFactory.create(workspace=acme, external_id=f"c{n}")
        data(trigger(server, journey, {"external_id": f"c{n}", "scheduledFor": when}))
    time_passes(days=2)
    assert come_due()
    assert set(Chunk.objects.values_list("lane", flat=True)) == {"bulk"}
    scheduled(server, journey)
    time_passes(days=2)
    assert come_due()
    assert Chunk.objects.filter(lane="single").count() == 1


def test_a_worker_that_names_a_chunk_which_is_not_due_does_not_get_it(server: ServerClient, journey: Journey) -> None:
    """Nor do those of the version before, which claim as this one does."""
    answered = scheduled(server, journey)
    assert claim_chunk(trigger_id=answered["triggerId"], start=0) == []


def test_events_are_kept_while_a_job_of_their_customer_is_scheduled(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    data(server.post(customers_path(acme, "events"), {"external_id": "ada", "eventName": "left"}))
    data(server.post(customers_path(acme, "events"), {"external_id": "grace", "eventName": "left"}))
    scheduled(server, journey)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM customers_event old WHERE {may_go(Event)}",
            {"before": datetime(2999, 1, 1, tzinfo=UTC)},
        )
        assert cursor.fetchone() == (1,)


@each("form", FORMS)
def test_a_dry_run_decides_as_of_when_each_is_due(server: ServerClient, acme: Workspace, form: str) -> None:
    Customer.objects.update(attributes={"timezone": "Pacific/Pago_Pago", "endsAt": ahead(hours=36)})
    on_trial = {"field": "customer.endsAt", "op": "after", "value": {"now": "PT0S"}}
    journey = JourneyFactory.create(workspace=acme, entry_conditions=on_trial)
    local = {**BERLIN, "local": ahead(hours=20).removesuffix(".000Z")}  # her clocks show it eleven hours later than UTC
    for terms, result in (
        ({}, "enrolled"),
        ({"scheduledFor": ahead(days=-2)}, "enrolled"),
        ({"scheduledFor": ahead(days=1)}, "enrolled"),
        ({"scheduledFor": ahead(days=2)}, "conditions_not_met"),
        ({"scheduledFor": local}, "enrolled"),
        ({"scheduledFor": local, "expiresAt": ahead(hours=32)}, "enrolled"),
        ({"scheduledFor": local, "expiresAt": ahead(hours=30)}, "expired"),
    ):
        answer = server.post(f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true", {**FORMS[form], **terms})
        assert data(answer, status=200)["results"] == {result: 1}, terms


def test_the_rehearsal_of_a_dry_run_begins_when_the_customer_is_due(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{**WAIT, "for": "PT0S"}])
    due = ahead(days=1)
    call = {"external_id": "ada", "scheduledFor": due}
    answer = server.post(f"/api/v1/journeys/{acme.id}/{journey.id}/trigger?dryRun=true", call)
    assert [step["at"] for step in data(answer, status=200)["rehearsal"]["steps"]] == [due]


@each("form", FORMS)
def test_a_call_may_expire_before_the_clocks_of_else_show_its_time(
    server: ServerClient, journey: Journey, form: str
) -> None:
    Customer.objects.update(attributes={"timezone": "Pacific/Kiritimati"})  # whose clocks are ahead by 14 hours
    local = {**BERLIN, "else": "UTC", "local": ahead(hours=20).removesuffix(".000Z")}
    call = {**FORMS[form], "scheduledFor": local}
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
    assert data(server.post(path, {**call, "expiresAt": ahead(hours=8)}), status=200)["results"] == {"enrolled": 1}
    assert data(trigger(server, journey, {**call, "expiresAt": ahead(hours=8)}))["queued"]
    answer = trigger(server, journey, {**call, "expiresAt": ahead(hours=5)})
    assert "expiresAt must be after scheduledFor." in refused(answer, status=400, error="Invalid request")

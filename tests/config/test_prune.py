"""`manage.py prune`: what is old and over goes, and no decision comes out differently."""

import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from bridge.models import Interaction
from customers.models import Event
from engage.audit.recording import change, record
from engage.database.pruning import prune
from engage.models import AuditEntry, FeedBatch, IdempotencyRecord, Workspace
from journeys.models import (
    Chunk,
    Enrollment,
    EnrollmentJob,
    Journey,
    StepRun,
    Trigger,
    WebhookAttempt,
    WebhookCircuit,
    WebhookDelivery,
    WebhookHost,
    WebhookSecret,
)
from tests.journeys.walking.stories import walked
from tests.support.calls import data, job_of, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.one_of_everything import one_of_everything
from tests.support.simultaneous import all_at_once, elsewhere, made_to_wait

pytestmark = pytest.mark.django_db


def after(days: float, *options: str) -> dict[str, int]:
    """What the command says that it removed, so many days from now."""
    output = StringIO()
    with time_machine.travel(timezone.now() + timedelta(days=days)):
        call_command("prune", *options, stdout=output)
    lines = (line.partition(" (")[0].split(maxsplit=1) for line in output.getvalue().splitlines())
    return {what: int(number.replace(",", "")) for number, what in lines if number != "0"}


def everything() -> dict[str, list[Any]]:
    return {model.__name__: sorted(model._default_manager.values_list("pk", flat=True)) for model in apps.get_models()}


def over(workspace: Workspace, **fields: Any) -> Enrollment:
    """One of everything, in which nothing waits."""
    enrollment = one_of_everything(workspace)
    now = timezone.now()
    Enrollment.objects.filter(id=enrollment.id).update(**{"state": "completed", "ended_at": now, **fields})
    EnrollmentJob.objects.filter(workspace=workspace).update(status="decided", result="enrolled", decided_at=now)
    Chunk.objects.filter(workspace=workspace).delete()
    enrollment.refresh_from_db()
    return enrollment


# What goes -----------------------------------------------------------------------------------------------------------


def test_nothing_goes_before_its_time(acme: Workspace) -> None:
    over(acme)
    WebhookSecret.objects.update(retires_at=timezone.now() + timedelta(days=90))
    IdempotencyRecord.objects.all().delete()
    before = everything()
    assert after(13) == {}
    assert everything() == before
    assert after(89) == {"parts of the feed": 1}
    assert everything() == {**before, "FeedBatch": []}


def test_histories_and_jobs_go_before_events_and_interactions(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        over(workspace)
    assert after(91) == {
        "step runs": 2,
        "webhook deliveries": 2,
        "goals watched": 2,
        "jobs": 2,
        "triggers": 2,
        "retired webhook secrets": 2,
        "idempotency records": 4,
        "parts of the feed": 2,
    }
    for gone in (FeedBatch, StepRun, WebhookDelivery, WebhookAttempt, EnrollmentJob, Trigger, IdempotencyRecord):
        assert not gone._default_manager.exists()
    assert (Event.objects.count(), Interaction.objects.count(), Enrollment.objects.count()) == (2, 2, 2)
    assert set(WebhookSecret.objects.values_list("retires_at", flat=True)) == {None}
    assert after(366) == {"events": 2, "interactions": 2}
    assert after(366) == {}


def test_the_circuit_of_a_host_that_nobody_calls_any_more_goes(acme: Workspace) -> None:
    now = timezone.now()
    for host, failing_since, open_until in (
        ("failed", now, None),
        ("open", now, now + timedelta(seconds=30)),
        ("probed", now, now + timedelta(days=2)),
    ):
        WebhookHost.objects.create(
            workspace=acme, host=host, failures=9, failing_since=failing_since, open_until=open_until
        )
    WebhookCircuit.objects.create(workspace=acme, host="failed", source="a", failures=9, failing_since=now)
    assert after(1.9) == {}
    assert after(2.1, "--dry-run") == {"idle webhook circuits": 3}
    assert after(2.1) == {"idle webhook circuits": 3}
    assert WebhookHost.objects.get().host == "probed"


def test_sessions_of_staff_go_once_they_have_expired() -> None:
    now = timezone.now()
    for key, days in (("old", -1), ("new", 14)):
        Session.objects.create(session_key=key, session_data="", expire_date=now + timedelta(days=days))
    assert after(0, "--dry-run") == {"expired sessions of staff": 1}
    assert after(0) == {"expired sessions of staff": 1}
    assert Session.objects.get().session_key == "new"


def test_an_interaction_that_is_younger_than_its_event_stays_without_it(acme: Workspace, settings: Any) -> None:
    settings.RETAIN_INTERACTIONS_DAYS = 0
    over(acme)
    assert after(366)["events"] == 1
    assert Interaction.objects.get().event_id is None


def test_an_exited_enrollment_goes_altogether(acme: Workspace) -> None:
    over(acme, state="exited")
    assert after(91)["exited enrollments"] == 1
    assert not Enrollment.objects.exists()


@each("status", ["decided", "failed", "cancelled"])
def test_a_job_goes_however_it_ended(acme: Workspace, status: str) -> None:
    over(acme)
    EnrollmentJob.objects.update(status=status, result="enrolled" if status == "decided" else status)
    assert {"jobs": 1, "triggers": 1}.items() <= after(91).items()


def test_what_is_needed_for_one_customer_keeps_nothing_of_another(acme: Workspace, rival: Workspace) -> None:
    over(acme, state="exited")
    one_of_everything(rival)  # with a queued job
    Enrollment.objects.filter(workspace=rival).update(state="active")
    WebhookDelivery.objects.filter(workspace=rival).update(state="waiting")
    kinds = (StepRun, WebhookDelivery, Enrollment, EnrollmentJob, Trigger, Event)
    assert after(1000).keys() >= {
        "step runs", "webhook deliveries", "exited enrollments", "jobs", "triggers", "events",
    }  # fmt: skip
    assert [kind._default_manager.get().workspace_id for kind in kinds] == [rival.id] * len(kinds)


def test_a_dry_run_says_the_same_and_removes_nothing(acme: Workspace) -> None:
    over(acme, state="exited")
    before = everything()
    announced = after(366, "--dry-run")
    assert everything() == before
    assert announced == after(366) != {}


def test_each_setting_is_for_records_of_its_own(acme: Workspace, settings: Any) -> None:
    over(acme, state="exited")
    settings.RETAIN_FEED_DAYS = 5
    settings.RETAIN_HISTORY_DAYS, settings.RETAIN_INTERACTIONS_DAYS = 10, 20
    settings.RETAIN_JOBS_DAYS, settings.RETAIN_EVENTS_DAYS = 30, 40
    gone = [set(after(days)) - {"retired webhook secrets", "idempotency records"} for days in (4, 6, 11, 21, 31, 41)]
    history = {"step runs", "webhook deliveries", "exited enrollments", "goals watched"}
    assert gone == [set(), {"parts of the feed"}, history, {"interactions"}, {"jobs", "triggers"}, {"events"}]


def test_zero_days_keep_for_ever(acme: Workspace, settings: Any) -> None:
    over(acme)
    settings.RETAIN_JOBS_DAYS = settings.RETAIN_HISTORY_DAYS = settings.RETAIN_FEED_DAYS = 0
    assert set(after(3660)) == {"events", "interactions", "retired webhook secrets", "idempotency records"}


def test_pages_follow_one_another(acme: Workspace, journey: Journey, server: ServerClient) -> None:
    crowd(acme, 25)
    for names in ([f"user-{n}" for n in range(20)], ["user-20"], [f"user-{n}" for n in range(21, 25)]):
        data(trigger(server, journey, {"external_ids": names}))
        let_workers_decide()
    later = timezone.now() + timedelta(days=1)
    assert [prune(one, before=later, page=7).rows for one in (EnrollmentJob, Trigger)] == [25, 3]


# What stays ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_completed_a_journey_is_not_let_in_again(server: ServerClient, acme: Workspace) -> None:
    customer = CustomerFactory.create(workspace=acme)
    once = JourneyFactory.create(workspace=acme)
    twice = JourneyFactory.create(workspace=acme, max_entries_per_customer=2)

    def results() -> list[str]:
        found = []
        for journey in (once, twice):
            job = data(trigger(server, journey, {"customerId": customer.id}))["jobId"]
            let_workers_decide()
            found.append(job_of(server, acme.id, job)["result"])
        return found

    assert [results(), results()] == [["enrolled", "enrolled"], ["already_enrolled", "enrolled"]]
    assert after(91) == {"jobs": 4, "triggers": 4}
    assert results() == ["already_enrolled", "max_entries_reached"]


def test_an_active_enrollment_keeps_all_that_it_needs(server: ServerClient, acme: Workspace) -> None:
    steps = [{"id": "year", "type": "delay", "for": "P365D"}]
    enrollment = walked(server, acme, steps, coupon="X")
    event = Event.objects.create(
        workspace=acme, customer=enrollment.customer, name="paid", source="api", occurred_at=timezone.now()
    )
    Enrollment.objects.update(event=event)
    before = everything()
    assert after(1000, "--dry-run") == after(1000) == {}
    assert everything() == before
    assert Trigger.objects.get().payload == {"coupon": "X"}


def test_what_is_queued_keeps_its_trigger_and_its_event(acme: Workspace) -> None:
    one_of_everything(acme)
    Enrollment.objects.all().delete()
    before = everything()
    announced = after(1000, "--dry-run")
    assert announced == after(1000)
    assert set(announced) == {
        "interactions", "retired webhook secrets", "idempotency records", "parts of the feed", "goals watched",
    }  # fmt: skip
    now = everything()
    for kind in ("EnrollmentJob", "Trigger", "Chunk", "Event"):
        assert now[kind] == before[kind] != []


def test_what_ended_lately_stays_however_long_ago_it_began(acme: Workspace) -> None:
    lately = timezone.now() + timedelta(days=60)
    over(acme, state="exited", ended_at=lately)
    EnrollmentJob.objects.update(decided_at=lately)
    assert set(after(91)) == {"retired webhook secrets", "idempotency records", "parts of the feed", "goals watched"}
    assert {"step runs", "webhook deliveries", "exited enrollments", "jobs", "triggers"} <= set(after(151))


def test_a_webhook_that_staff_send_again_stays_with_its_enrollment(acme: Workspace) -> None:
    over(acme, state="exited")
    WebhookDelivery.objects.update(state="waiting", again=True)
    gone = after(91)
    assert "webhook deliveries" not in gone
    assert "exited enrollments" not in gone
    assert WebhookDelivery.objects.count() == WebhookAttempt.objects.count() == Enrollment.objects.count() == 1
    WebhookDelivery.objects.update(state="failed")
    assert {"webhook deliveries", "exited enrollments"} <= after(91).keys()


def test_a_trigger_stays_as_long_as_one_of_its_jobs(acme: Workspace) -> None:
    enrollment = over(acme)
    sent = Trigger.objects.get()
    EnrollmentJob.objects.create(
        workspace=acme, journey=sent.journey, trigger=sent, customer=enrollment.customer, ordinal=10_000, queued_ms=7
    )
    assert after(91)["jobs"] == 1
    assert [job.status for job in EnrollmentJob.objects.filter(trigger=sent)] == ["queued"]


def test_staff_and_servers_still_read_an_enrollment_without_its_job(
    acme: Workspace, server: ServerClient, admin_user: User, client: Client
) -> None:
    enrollment = over(acme)
    assert after(91)["jobs"] == 1
    client.force_login(admin_user)
    found = data(server.get(f"/api/v1/journeys/{acme.id}/enrollments/{enrollment.id}"), status=200)
    assert (found["jobId"], found["triggerId"], found["state"]) == (None, None, "completed")
    for page in ("", f"{enrollment.id}/change/"):
        assert client.get(f"/admin/journeys/enrollment/{page}").status_code == 200


# Beside the traffic --------------------------------------------------------------------------------------------------


def _decided(server: ServerClient, workspace: Workspace, number: int) -> Journey:
    names = crowd(workspace, number)
    journey = JourneyFactory.create(workspace=workspace)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()
    return journey


@pytest.mark.django_db(transaction=True)
def test_four_at_once_remove_each_row_once(server: ServerClient, acme: Workspace) -> None:
    _decided(server, acme, 400)
    later = timezone.now() + timedelta(days=1)
    pruned = all_at_once([lambda: prune(EnrollmentJob, before=later, page=50)] * 4)
    left = prune(EnrollmentJob, before=later).rows
    assert sum(one.rows for one in pruned) + left == 400
    assert not EnrollmentJob.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_pruner_waits_for_nobody_and_finds_it_the_next_time(server: ServerClient, acme: Workspace) -> None:
    _decided(server, acme, 3)
    later = timezone.now() + timedelta(days=1)
    with transaction.atomic():
        list(Enrollment.objects.select_for_update())  # which lose their jobs
        started = time.monotonic()
        pruned = made_to_wait(lambda: prune(EnrollmentJob, before=later)).result(10)
    assert (pruned.rows, pruned.pages_left) == (0, 1)
    assert time.monotonic() - started < 5
    assert prune(EnrollmentJob, before=later).rows == 3


@pytest.mark.django_db(transaction=True)
def test_the_command_waits_for_no_call_that_is_done_anew_after_24_hours(server: ServerClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    journey = JourneyFactory.create(workspace=acme)

    def sent(key: str) -> Answer:
        return trigger(server, journey, {"external_id": "ada"}, headers={"Idempotency-Key": key})

    data(sent("one"))
    data(sent("another"))
    IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=25))
    with transaction.atomic():
        data(sent("one"))  # not committed yet
        assert elsewhere(lambda: after(0)) == {"idempotency records": 1}
    assert sent("one")["Idempotency-Replayed"] == "true"


@pytest.mark.django_db(transaction=True)
def test_rows_that_somebody_holds_are_passed_over(acme: Workspace) -> None:
    enrollment = over(acme)
    StepRun.objects.create(
        workspace=acme, enrollment=enrollment, ordinal=1, step_id="end", type="exit", state="done",
        began_at=timezone.now(), ended_at=timezone.now(),
    )  # fmt: skip
    later = timezone.now() + timedelta(days=1)
    with transaction.atomic():
        list(StepRun.objects.select_for_update().filter(ordinal=0))
        assert [one.rows for one in all_at_once([lambda: prune(StepRun, before=later)])] == [1]
    assert prune(StepRun, before=later).rows == 1


def test_the_audit_is_pruned_when_its_time_has_come_and_not_before(acme: Workspace, settings: Settings) -> None:
    what = "entries of the audit"
    record(change(AuditEntry.Action.CHANGED, acme, note="kept for a year"))
    settings.RETAIN_AUDIT_DAYS = 0
    record(change(AuditEntry.Action.CHANGED, acme, note="kept for ever"))
    assert what not in after(1000)
    settings.RETAIN_AUDIT_DAYS = 30  # says nothing of entries that are there
    assert what not in after(364)
    assert AuditEntry.objects.count() == 2

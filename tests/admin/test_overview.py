"""The first page says whether the service keeps up, what failed, and what happened lately."""

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import strip_tags

from engage.admin.parts.columns import page_url
from engage.models import App, Workspace
from journeys.engine.counts.counting import count_entries, fold
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger, WebhookDelivery
from tests.admin.failures import failed_webhooks
from tests.admin.records import list_of
from tests.admin.staff import staff_with
from tests.journeys.connections.made import connect
from tests.journeys.walking.stories import walked
from tests.journeys.webhooks.standing import send
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.clock import later
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.one_of_everything import live_through, populate, queue_job
from tests.support.plans import note_statistics, rows_gone_through
from tests.support.receiver import Receiver


def figures_of(client: Client, part: str = "figures") -> dict[str, Any]:
    return {figure.title: figure for figure in client.get("/admin/").context[part]}


@pytest.mark.slow
def test_it_tells_how_much_work_waits_and_how_late_it_is(staff: Client, acme: Workspace, rival: Workspace) -> None:
    populate(acme, rows=2)
    populate(rival, rows=1)
    Chunk.objects.filter(workspace=acme).update(turn_at=timezone.now() - timedelta(minutes=5, seconds=40))
    Chunk.objects.filter(workspace=rival).update(error="It burst.")
    jobs = figures_of(staff)["Waiting to enter"]
    assert (jobs.value, jobs.note) == ("3", "the first is late by 5\xa0minutes")
    failing = figures_of(staff, "failures")["Decisions that fail"]
    assert (failing.value, failing.failed) == ("1", True)


def test_it_tells_what_failed_in_the_last_day_in_red_with_a_link(staff: Client, acme: Workspace) -> None:
    failed_webhooks(acme, number=2)
    (old,) = failed_webhooks(acme, ago=25 * 3600)
    ended = {"state": "exited", "ended_at": timezone.now(), "due_at": None}
    Enrollment.objects.filter(pk=old.enrollment_id).update(exit_reason="Given up after 5 attempts: a bug", **ended)
    page = staff.get("/admin/").content.decode()
    failed, given_up, deciding = figures_of(staff, "failures").values()
    assert [(one.value, one.failed) for one in (failed, given_up, deciding)] == [("2", True), ("1", True), ("0", False)]
    assert page.count("engage-bad") == 2
    assert len(staff.get(failed.href).context["cl"].result_list) == 2
    assert [one.pk for one in staff.get(given_up.href).context["cl"].result_list] == [old.enrollment_id]


def test_it_counts_failures_no_further_than_it_is_worth(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed_webhooks(acme, number=3)
    for most, value in ((3, "3"), (2, "2+")):
        monkeypatch.setattr("journeys.overview.dashboard.COUNTED_AT_MOST", most)
        assert figures_of(staff, "failures")["Failed webhooks"].value == value


@pytest.mark.slow
def test_charts_and_the_busiest_journeys_tell_what_was_decided_and_sent(
    staff: Client, server: ServerClient, acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    CustomerFactory.create(workspace=acme, external_id="bob")
    connect(acme, receiver.url("/status/200"), inputs={"type": "object"}, body={})
    calls = [{"id": "call", "type": "webhook", "url": receiver.url(f"/status/{status}")} for status in (200, 404)]
    for call in (*calls, {"id": "mail", "type": "send", "connection": "mailer"}):
        walked(server, acme, [call])
    send()
    let_workers_walk()
    JourneyFactory.create(workspace=rival, name="Quiet")
    for _ in range(2):  # unfolded, and folded
        shown = staff.get("/admin/").context["lately"]
        decisions, webhooks = shown["charts"]
        assert decisions["numbers"]["enrolled"][-1] + decisions["numbers"]["enrolled"][-2] == 3
        assert [sum(counts) for counts in webhooks["numbers"].values()] == [2, 1]
        assert webhooks["told"] == "Webhooks per hour, last 24 hours: 2 delivered, 1 failed"
        rows = [[strip_tags(str(cell)) for cell in row[2:]] for row in shown["busiest"]["rows"]]
        assert sorted(rows) == [["1", "1", "0", "1"], ["1", "1", "1", "0"], ["1", "1", "1", "0"]]
        fold()


def test_the_overview_asks_as_many_queries_whatever_there_is(staff: Client, acme: Workspace) -> None:
    staff.get("/admin/")
    numbers = []
    for rows in (1, 4):
        populate(acme, rows=rows, journeys=rows)
        failed_webhooks(acme, number=rows)
        for journey in Journey.objects.all():
            count_entries(workspace_id=acme.id, journey_id=journey.id, result="conditions_not_met")
        with CaptureQueriesContext(connection) as queries:
            page = staff.get("/admin/").content.decode()
        assert page.count("engage-line") == min(Journey.objects.count(), 8)
        numbers.append(len(queries))
    assert numbers[0] == numbers[1] <= 23


def test_it_looks_for_failures_among_the_oldest_chunks_only(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(acme, rows=1)
    trigger, now = Trigger.objects.get(), timezone.now()
    whose = {"workspace": acme, "trigger": trigger, "lane": "bulk", "turn_at": now, "due_at": now}
    Chunk.objects.bulk_create(Chunk(**whose, start=start, stop=start + 1) for start in range(1, 1_000))
    last = Chunk.objects.latest("pk")
    Chunk.objects.filter(pk=last.pk).update(error="It burst.")
    note_statistics("journeys_chunk", "journeys_trigger")  # else the plans are those of earlier tests' tables
    for searched, value in ((1_000, "1"), (20, "0")):
        monkeypatch.setattr("journeys.overview.dashboard.OLDEST_CHUNKS", searched)
        with rows_gone_through() as rows:
            figures = figures_of(staff, "failures")
        assert figures["Decisions that fail"].value == value
    assert min(number for sql, number in rows.items() if "COUNT(" in sql and "journeys_chunk" in sql) <= 100


def test_it_tells_how_many_enrollments_are_due(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=4)
    now = timezone.now()
    later, completed, since, _due = Enrollment.objects.all()
    Enrollment.objects.exclude(pk=completed.pk).update(state="active", due_at=now - timedelta(hours=1, seconds=40))
    Enrollment.objects.filter(pk=later.pk).update(due_at=now + timedelta(hours=1))
    Enrollment.objects.filter(pk=since.pk).update(due_at=now - timedelta(minutes=1))
    due = figures_of(staff)["Late for a next step"]
    assert (due.value, due.note) == ("2", "the first is late by 1\xa0hour")


def test_it_is_quiet_where_nothing_happened_yet(staff: Client) -> None:
    context = staff.get("/admin/").context
    assert [(figure.value, figure.note) for figure in (*context["figures"], *context["failures"])] == [
        ("0", "nobody waits for a decision"),
        ("0", "nobody is due"),
        ("0", "none is late"),
        ("0", "in the last day"),
        ("0", "in the last day"),
        ("0", "now; they are tried again"),
    ]
    assert not any(figure.failed for figure in context["failures"])
    assert context["lately"]["busiest"] is None


def test_it_shows_the_latest_triggers_and_results(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    trigger, app = Trigger.objects.get(), App.objects.get()
    queue_job(trigger, customer, status="decided", result="enrolled")
    queue_job(trigger, customer, status="failed", result="failed")
    with later():
        for _ in range(10):
            live_through(customer, journey=Journey.objects.get(), app=app)
    with CaptureQueriesContext(connection) as queries:
        page = staff.get("/admin/").content.decode()
    assert f'<a href="{page_url(Journey.objects.get())}"' in page
    named = 'FROM "journeys_journey" WHERE ("journeys_journey"."id") IN'
    assert len([query for query in queries if named in query["sql"]]) == 1
    latest = Trigger.objects.order_by("-pk")[:10]
    assert all(page_url(one) in page for one in latest)
    assert page_url(trigger) not in page
    assert [label in page for label in ("11 queued", "1 enrolled", "1 failed")] == [True] * 3
    assert page.index("11 queued") < min(page.index("1 enrolled"), page.index("1 failed"))


def test_it_tells_the_results_of_the_latest_jobs_only(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.overview.dashboard.LATEST_JOBS", 2)
    (customer,) = populate(acme, rows=1)
    trigger = Trigger.objects.get()
    for result in ("journey_inactive", "enrolled", "enrolled"):
        queue_job(trigger, customer, status="decided", result=result)
    page = staff.get("/admin/").content.decode()
    assert "Results of the latest 2 jobs" in page
    assert "2 enrolled" in page
    assert "queued" not in page
    assert "journey inactive" not in page


def test_a_trigger_tells_what_came_of_its_jobs(staff: Client, acme: Workspace) -> None:
    (customer,) = populate(acme, rows=1)
    trigger = Trigger.objects.get()
    EnrollmentJob.objects.update(status="decided", result="already_enrolled")
    queue_job(trigger, customer)
    page = staff.get(page_url(trigger)).content.decode()
    assert "1 already enrolled" in page
    assert "1 queued" in page


def test_it_shows_only_what_its_user_may_see(acme: Workspace) -> None:
    populate(acme, rows=1)
    for permission, models, shows_results, shows_triggers in (
        ("view_enrollment", [Enrollment], False, False),
        ("view_chunk", [Chunk], False, False),
        ("view_webhookdelivery", [WebhookDelivery], False, False),
        ("view_enrollmentjob", [], True, False),
        ("view_trigger", [], False, True),
        ("change_enrollment", [Enrollment], False, False),
    ):
        answer = staff_with(permission).get("/admin/")
        context = answer.context
        for part in ("figures", "failures"):
            assert [figure.href.partition("?")[0] for figure in context[part]] == [list_of(model) for model in models]
        page = answer.content.decode()
        assert ("Results of the latest 10,000 jobs" in page) is shows_results
        assert (page_url(Trigger.objects.get()) in page) is shows_triggers
        titles = [chart["title"] for chart in (context["lately"] or {"charts": []})["charts"]]
        assert ("Decisions per hour" in titles) is shows_results
        assert ("Webhooks per hour" in titles) is (models == [WebhookDelivery])
        assert not (context["lately"] or {}).get("busiest")


def test_it_says_so_to_staff_without_permissions(staff: Client) -> None:
    said = "This account has no permissions for any page yet. An administrator can grant them."
    for client, is_said in (
        (staff, False),
        (staff_with(), True),
        (staff_with("delete_customer"), True),
        (staff_with("add_app"), True),
        (staff_with("add_app", "view_workspace"), False),
        (staff_with("view_app"), False),
    ):
        assert (said in client.get("/admin/").content.decode()) is is_said


def test_its_style_and_icons_come_from_the_service_itself(staff: Client) -> None:
    page = staff.get("/admin/").content.decode()
    assert "https://" not in page
    assert "//cdn" not in page
    for file in ("/static/engage/admin.css", "/static/unfold/css/styles.css", "/static/engage/icon.svg"):
        assert f'href="{file}"' in page
        with closing(staff.get(file)) as answer:
            assert answer.status_code == 200


def test_delays_that_do_not_say_what_follows_without_a_time_are_listed(staff: Client, acme: Workspace) -> None:
    delay = {"id": "wait", "type": "delay", "at": "{{ customer.renewsAt }}"}
    told: dict[str, Any] = {"silent": {}, "leaves": {"onMissing": "exit"}, "fixed": {"at": "2026-12-24"}, "gone": {}}
    for name, said in told.items():
        JourneyFactory.create(workspace=acme, key=name, name=name, steps=[delay | said])
    Journey.objects.filter(key="gone").update(active=False, archived_at=timezone.now())
    (listed,) = staff.get("/admin/").context["unsaid_delays"]
    assert strip_tags(listed) == "silent"

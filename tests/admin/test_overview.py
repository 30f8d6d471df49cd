"""The first page says what waits and what was decided lately."""

from contextlib import closing
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engage.admin.columns import page_url
from engage.models import App, Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger
from tests.admin.records import list_of
from tests.admin.staff import staff_with
from tests.support.clock import later
from tests.support.one_of_everything import live_through, populate, queue_job
from tests.support.plans import rows_gone_through


def test_it_tells_how_much_work_waits_and_for_how_long(staff: Client, acme: Workspace, rival: Workspace) -> None:
    populate(acme, rows=2)
    populate(rival, rows=1)
    Trigger.objects.filter(workspace=acme).update(queued_at=timezone.now() - timedelta(minutes=5, seconds=1))
    Chunk.objects.filter(workspace=rival).update(error="It burst.")
    figures = {figure.title: figure for figure in staff.get("/admin/").context["figures"]}
    assert figures["Waiting batches"].value == "3"
    assert figures["Waiting batches"].note == "the oldest for 5\xa0minutes"
    assert figures["Batches that failed"].value == "1"


def test_it_counts_no_further_than_it_is_worth(staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(acme, rows=3)
    for most, value in ((3, "3"), (2, "2+")):
        monkeypatch.setattr("journeys.admin.dashboard.COUNTED_AT_MOST", most)
        with CaptureQueriesContext(connection) as queries:
            figures = staff.get("/admin/").context["figures"]
        assert figures[0].value == value
        assert [query for query in queries if f'FROM "journeys_chunk" LIMIT {most + 1})' in query["sql"]]


def test_it_looks_for_failures_among_the_oldest_chunks_only(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(acme, rows=1)
    trigger, now = Trigger.objects.get(), timezone.now()
    whose = {"workspace": acme, "trigger": trigger, "lane": "bulk", "turn_at": now, "due_at": now}
    Chunk.objects.bulk_create(Chunk(**whose, start=start, stop=start + 1) for start in range(1, 1_000))
    last = Chunk.objects.latest("pk")
    Chunk.objects.filter(pk=last.pk).update(error="It burst.")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE journeys_chunk, journeys_trigger")  # else the plans are those of earlier tests' tables
    monkeypatch.setattr("journeys.admin.dashboard.COUNTED_AT_MOST", 20)
    for searched, value in ((1_000, "1"), (20, "0")):
        monkeypatch.setattr("journeys.admin.dashboard.OLDEST_CHUNKS", searched)
        with rows_gone_through() as rows:
            figures = {figure.title: figure for figure in staff.get("/admin/").context["figures"]}
        assert figures["Batches that failed"].value == value
    assert max(number for sql, number in rows.items() if "journeys_chunk" in sql) <= 100


def test_it_tells_how_many_enrollments_are_due(staff: Client, acme: Workspace) -> None:
    populate(acme, rows=4)
    now = timezone.now()
    later, completed, since, _due = Enrollment.objects.all()
    Enrollment.objects.exclude(pk=completed.pk).update(state="active", due_at=now - timedelta(hours=1, seconds=1))
    Enrollment.objects.filter(pk=later.pk).update(due_at=now + timedelta(hours=1))
    Enrollment.objects.filter(pk=since.pk).update(due_at=now - timedelta(minutes=1))
    figures = {figure.title: figure for figure in staff.get("/admin/").context["figures"]}
    assert figures["Enrollments due for a step"].value == "2"
    assert figures["Enrollments due for a step"].note == "the first for 1\xa0hour"


def test_it_is_quiet_where_nothing_happened_yet(staff: Client) -> None:
    figures = staff.get("/admin/").context["figures"]
    assert [(figure.value, figure.note) for figure in figures] == [
        ("0", "every job is decided"),
        ("0", "of the oldest 10,000; tried again when they are due"),
        ("0", "nobody waits"),
    ]


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
    assert len([query for query in queries if 'FROM "journeys_journey"' in query["sql"]]) == 1
    latest = Trigger.objects.order_by("-pk")[:10]
    assert all(page_url(one) in page for one in latest)
    assert page_url(trigger) not in page
    assert [label in page for label in ("11 queued", "1 enrolled", "1 failed")] == [True] * 3
    assert page.index("11 queued") < min(page.index("1 enrolled"), page.index("1 failed"))


def test_it_tells_the_results_of_the_latest_jobs_only(
    staff: Client, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.admin.dashboard.LATEST_JOBS", 2)
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
    for permission, hrefs, shows_results, shows_triggers in (
        ("view_enrollment", [list_of(Enrollment)], False, False),
        ("view_chunk", [list_of(Chunk), list_of(Chunk)], False, False),
        ("view_enrollmentjob", [], True, False),
        ("view_trigger", [], False, True),
        ("change_enrollment", [list_of(Enrollment)], False, False),
        ("change_chunk", [list_of(Chunk), list_of(Chunk)], False, False),
        ("change_enrollmentjob", [], True, False),
        ("change_trigger", [], False, True),
    ):
        answer = staff_with(permission).get("/admin/")
        assert [figure.href.rstrip("?") for figure in answer.context["figures"]] == hrefs
        page = answer.content.decode()
        assert ("Results of the latest 10,000 jobs" in page) is shows_results
        assert (page_url(Trigger.objects.get()) in page) is shows_triggers


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

"""The map on a journey's page: its steps, how many went which way, and who stands where."""

import pytest
from django.db import connection
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import Enrollment, Journey
from tests.admin.drawn import BRANCH, drawing_in, node_in, notes_of, rows_in, ways_of
from tests.admin.staff import staff_with
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import enter, walked
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory


@pytest.fixture
def waiting(server: ServerClient, acme: Workspace) -> Journey:
    """A journey in which one customer waits in the second revision of its steps, and another one of the first left."""
    journey = walked(
        server, acme, [{"id": "note", "type": "update_profile", "attributes": {"plan": "pro"}}, BRANCH, DAY]
    )
    return journey.journey


def page_of(staff: Client, journey: Journey, query: str = "") -> str:
    return staff.get(page_url(journey) + query).content.decode()


def test_the_map_tells_how_many_went_which_way_and_who_stands_where(staff: Client, waiting: Journey) -> None:
    page = page_of(staff, waiting)
    drawing = drawing_in(page, "map-drawing")
    assert ways_of(drawing) == {
        ("@entry", "note"): 1,
        ("note", "plan"): 1,
        ("plan", "day"): 1,
        ("plan", "@completed"): 0,
        ("day", "@completed"): 0,
    }
    assert node_in(drawing, "day")["label"] == "Wait 1 day"
    assert (notes_of(drawing, "plan"), notes_of(drawing, "day")) == (["1 went on"], ["1 waiting"])
    assert ["day", "Wait 1 day", "1", "1", "0", "0", "0", "0"] in rows_in(page, "map")
    assert ["plan", "day", 'customer.plan is "pro"', "1"] in rows_in(page, "map")
    (enrollment,) = Enrollment.objects.all()
    there = staff.get(node_in(drawing, "day")["href"]).content.decode()
    elsewhere = staff.get(node_in(drawing, "note")["href"]).content.decode()
    assert (page_url(enrollment) in there, page_url(enrollment) in elsewhere) == (True, False)


@pytest.mark.slow
def test_the_map_is_of_the_revision_and_the_days_that_are_chosen(staff: Client, waiting: Journey) -> None:
    other = [{**DAY, "for": "P2D"}]
    waiting.revisions.create(workspace=waiting.workspace, number=2, steps=other)
    Journey.objects.filter(id=waiting.id).update(revision=2)
    for query, label, notes in (
        ("", "Wait 2 days", ["1 waiting"]),
        ("?revision=1", "Wait 1 day", ["1 waiting"]),
        ("?revision=2", "Wait 2 days", []),
        ("?begin=2020-01-01&end=2020-01-02", "Wait 2 days", ["1 waiting"]),
    ):
        drawing = drawing_in(page_of(staff, waiting, query), "map-drawing")
        assert (node_in(drawing, "day")["label"], notes_of(drawing, "day")) == (label, notes), query
    assert '<strong class="font-semibold">0</strong> entered' in page_of(staff, waiting, "?end=2020-01-02")
    assert ["plan", "of another revision", "1", "0", "1", "0", "0", "0"] in rows_in(page_of(staff, waiting), "map")
    for wrong in ("?revision=9", "?begin=2020-02-30", "?begin=2020-01-02&end=2020-01-01", "?begin=0001-01-01"):
        page = page_of(staff, waiting, wrong)
        assert "text-red-700" in page.partition('id="map"')[2].partition("</form>")[0], wrong
        assert notes_of(drawing_in(page, "map-drawing"), "day") == ["1 waiting"]


def test_who_may_not_see_enrollments_sees_the_numbers_without_links(waiting: Journey) -> None:
    drawing = drawing_in(page_of(staff_with("view_journey"), waiting), "map-drawing")
    assert notes_of(drawing, "day") == ["1 waiting"]
    assert not [node for node in drawing["nodes"] if node.get("href")]


def test_it_tells_the_share_of_each_way_and_who_reached_the_goals_there(
    staff: Client, server: ServerClient, acme: Workspace
) -> None:
    goal = {"key": "bought", "event": "ordered", "within": "P7D"}
    journey = JourneyFactory.create(workspace=acme, steps=[BRANCH, DAY], goals=[goal])
    people = [
        CustomerFactory.create(workspace=acme, attributes={"plan": plan}) for plan in ("pro", "pro", "pro", "free")
    ]
    for one in people:
        enter(server, journey, one)
    let_workers_walk()
    report(server, people[0])
    page = page_of(staff, journey)
    told = {
        (edge["source"], edge["target"]): (edge["share"], edge["told"])
        for edge in drawing_in(page, "map-drawing")["edges"]
    }
    assert told == {
        ("@entry", "plan"): ("", []),
        ("plan", "day"): ("75 %", ["bought 33 % (6.1 to 79 %)"]),
        ("plan", "@completed"): ("25 %", []),
        ("day", "@completed"): ("", []),
    }
    rows = rows_in(page, "map")
    assert ["bought", "all who entered", "4", "1", "25 % (4.6 to 70 %)"] in rows
    assert ["bought", "plan → day", "3", "1", "33 % (6.1 to 79 %)"] in rows
    Journey.objects.filter(id=journey.id).update(hold_out={"share": 1 - 1e-9})
    late = CustomerFactory.create(workspace=acme)
    data(trigger(server, journey, {"customerId": late.id}))
    let_workers_decide()
    assert ["bought", "held out", "1", "0", "0 % (0 to 79 %)"] in rows_in(page_of(staff, journey), "map")


def test_a_revision_that_cannot_be_drawn_says_why(staff: Client, acme: Workspace) -> None:
    page = page_of(staff, JourneyFactory.create(workspace=acme, steps=[{"id": "old", "type": "fax"}]))
    assert "This revision cannot be drawn: steps[0].type must be one of" in page


def test_the_list_of_who_stands_at_a_step_reads_nobody_else(
    staff: Client, server: ServerClient, acme: Workspace, waiting: Journey
) -> None:
    ended = enter(server, waiting, CustomerFactory.create(workspace=acme))
    Enrollment.objects.filter(id=ended.id).update(
        state="exited", due_at=None, ended_at="2026-01-01T00:00Z", step_id="day"
    )
    standing = Enrollment.objects.filter(journey=waiting, step_id="day", step_began_at__isnull=False).order_by("-id")
    assert [one.state for one in standing] == ["active"]
    page = staff.get(f"/admin/journeys/enrollment/?journey__id__exact={waiting.id}&step_id=day").content.decode()
    assert ended.id not in page
    assert standing[0].id in page
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        # As if it had never been analyzed: of one row, all plans cost the same.
        cursor.execute("UPDATE pg_class SET relpages = 0, reltuples = -1 WHERE oid = 'journeys_enrollment'::regclass")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid = 'journeys_enrollment'::regclass")
    assert "enrollment_by_step" in standing.all()[:51].explain()

"""The way of an enrollment on its page: what it went through, where it is, and when it goes on."""

from django.test import Client
from django.utils import timezone

from engage.models import Workspace
from journeys.connection.resource import CONNECTIONS
from journeys.engine.enrollments.exiting import exit_enrollment
from journeys.models import Enrollment
from tests.admin.drawn import BRANCH, drawing_in, lit, marks, node_in, notes_of
from tests.admin.enrollment_page import page_of
from tests.admin.staff import staff_with
from tests.journeys.walking.stories import walked
from tests.support.clients import ServerClient
from tests.support.factories import DAY

NOTE = {"id": "note", "type": "update_profile", "attributes": {"plan": "pro"}}
SMS = {"url": "https://sms.example/", "inputs": {"type": "object", "required": ["to"], "properties": {"to": {}}}}
LATER = {"id": "later", "type": "delay", "for": "P2D"}


def test_the_page_begins_with_the_way_and_where_it_stands(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [NOTE, BRANCH, DAY, LATER])
    page = page_of(staff, enrollment)
    drawing = drawing_in(page, "way-drawing")
    assert lit(drawing) == {("@entry", "note"), ("note", "plan"), ("plan", "day")}
    assert marks(drawing) == {
        "@entry": "taken",
        "note": "taken",
        "plan": "taken",
        "day": "here",
        "later": "unvisited",
        "@completed": "unvisited",
    }
    assert notes_of(drawing, "day") == [f"here, due {enrollment.due_at:%Y-%m-%d %H:%M:%S} UTC"]
    assert page.index('id="way"') < page.index('class="engage-copy"')
    assert page.index('id="way"') < page.index('id="timeline"')


def test_a_step_that_did_not_send_says_so(staff: Client, server: ServerClient, acme: Workspace) -> None:
    CONNECTIONS.save(workspace=acme, key="sms", now=timezone.now(), definition=SMS)
    enrollment = walked(server, acme, [{"id": "text", "type": "send", "connection": "sms", "inputs": {"to": ""}}, DAY])
    [said] = notes_of(drawing_in(page_of(staff, enrollment), "way-drawing"), "text")
    assert said.startswith("skipped ")
    path = f"/admin/journeys/journey/{enrollment.journey_id}/try/"
    tried = staff.post(path, {"customer": enrollment.customer_id}, follow=True).content.decode()
    assert notes_of(drawing_in(tried, "trial-drawing"), "text")[0].startswith("skipped ")


def test_a_way_that_left_the_steps_is_drawn_to_its_end(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY])
    exit_enrollment(workspace_id=acme.id, enrollment_id=enrollment.id, reason="Enough.")
    drawing = drawing_in(page_of(staff, enrollment), "way-drawing")
    assert lit(drawing) == {("@entry", "day"), ("day", "@exited")}
    assert marks(drawing)["@exited"] == "ended"
    assert notes_of(drawing, "day")[0].startswith("interrupted ")


def test_a_step_that_was_taken_again_says_how_often(staff: Client, server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY])
    run = enrollment.step_runs.get()
    run.pk, run.ordinal, run.state = None, 1, "waiting"
    run.save()
    Enrollment.objects.filter(id=enrollment.id).update(
        steps_begun=2, state="completed", due_at=None, ended_at=run.began_at
    )
    assert notes_of(drawing_in(page_of(staff, enrollment), "way-drawing"), "day")[0].startswith("2 times, last ")


def test_who_may_not_see_journeys_sees_no_drawing_of_one(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [NOTE, DAY])
    page = page_of(staff_with("view_enrollment"), enrollment)
    assert "Waits in day until" in page
    assert "way-drawing" not in page
    assert node_in(drawing_in(page_of(staff_with("view_enrollment", "view_journey"), enrollment), "way-drawing"), "day")

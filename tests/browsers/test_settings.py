"""The settings of a journey and a send are written in forms; read is what is stored. JSON is the other view of them."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from customers.models import Event
from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.models import EnrollmentJob, Journey, JourneyRevision, Trigger
from tests.browsers.staff import Staff, superuser_at
from tests.support.factories import DAY, PRO, CustomerFactory, JourneyFactory, SegmentFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

EXITS: list[dict[str, Any]] = [
    {"event": "bought", "where": {"field": "event.properties.price", "op": "gt", "value": 1.0}}
]
GUARDS = {"failedShare": 0.25, "of": 50, "entries": 50000, "per": "PT1H"}


def settings(staff: Staff, journey: Journey) -> Page:
    page = staff.goes_to(f"{page_url(journey)}#settings")
    page.wait_for_selector("#id_guards-form")
    return page


def test_entry_rules_exits_and_guards_are_written_in_forms(staff: Staff, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], steps__exit_on=EXITS)
    page = settings(staff, journey)
    page.get_by_role("button", name="Add a condition: Who may enter").click()
    page.get_by_label("Field of Who may enter").fill("customer.plan")
    page.keyboard.press("Tab")
    page.get_by_label("Value of Who may enter", exact=True).fill("pro")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_role("group", name="rule 2").get_by_label("Ends with").select_option(label="A condition")
    page.get_by_label("Field of If").fill("customer.plan")
    page.keyboard.press("Tab")
    page.get_by_label("Operation of If").select_option(label="is not there")
    page.get_by_label("When webhooks fail").select_option(label="Hold it, if too many do")
    page.get_by_label("Share in percent").fill("25")
    page.keyboard.press("Tab")
    page.get_by_label("When customers enter").select_option(label="Hold it, if too many do")
    staff.finds_nothing_serious("#content-main")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=was changed successfully")
    journey.refresh_from_db()
    assert (journey.entry_conditions, journey.guards) == (PRO, GUARDS)
    gone = {"if": {"field": "customer.plan", "op": "not_exists"}}
    assert JourneyRevision.objects.get(number=2).exit_on == [*EXITS, gone]


def test_goals_and_the_hold_out_are_written_in_forms(staff: Staff, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    Event.objects.create(workspace=acme, customer=ada, source="api", name="order_paid", occurred_at=timezone.now())
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    page = settings(staff, journey)
    page.get_by_label("Of those who might enter").select_option(label="Hold out a share")
    page.get_by_label("Share in percent").fill("12.5")
    for key in ("bought", "gone"):
        page.get_by_role("button", name="Add a goal").click()
        page.get_by_label("Key", exact=True).last.fill(key)
        page.keyboard.press("Tab")
    first = page.get_by_role("group", name="goal 1")
    offered = page.locator(f"datalist[id='{first.get_by_label('Event', exact=True).get_attribute('list')}'] option")
    assert "order_paid" in [one.get_attribute("value") for one in offered.all()]
    first.get_by_label("Event", exact=True).fill("order_paid")
    first.get_by_label("Within", exact=True).fill("2")
    first.get_by_label("Within: unit").select_option(label="weeks")
    first.get_by_role("button", name="Add a condition: Only if").click()
    first.get_by_label("Field of Only if").fill("event.properties.price")
    page.keyboard.press("Tab")
    first.get_by_label("Kind of the value of Only if").select_option(label="number")
    first.get_by_label("Value of Only if", exact=True).fill("10")
    page.keyboard.press("Tab")
    staff.finds_nothing_serious("#content-main")
    expect(page.locator("[data-place='goals[1].event']")).not_to_be_empty()
    page.get_by_role("button", name="Take out goal 2").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=was changed successfully")
    journey.refresh_from_db()
    where = {"field": "event.properties.price", "op": "eq", "value": 10}
    goal = {"key": "bought", "event": "order_paid", "within": "P2W", "where": where}
    assert (journey.goals, journey.hold_out) == ([goal], {"share": 0.125})


def test_what_is_wrong_is_told_in_the_form_and_leads_to_its_text(staff: Staff, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], steps__exit_on=EXITS)
    page = settings(staff, journey)
    area = page.locator("#id_exit_on")
    written = area.input_value()
    page.get_by_label("Value of Only if", exact=True).fill("2")
    page.keyboard.press("Tab")
    page.get_by_label("Value of Only if", exact=True).fill("1.0")
    page.keyboard.press("Tab")
    assert area.input_value() == written
    page.get_by_label("Event", exact=True).fill(" ")
    page.keyboard.press("Tab")
    expect(page.locator("[data-place='exitOn[0].event']")).not_to_be_empty()
    expect(area).to_be_hidden()
    page.locator(".engage-draft-mistakes button").first.click()
    expect(area).to_be_focused()
    assert staff.complaints == []


def test_who_may_only_look_sees_the_same_forms_and_changes_nothing(staff: Staff, acme: Workspace) -> None:
    goal = {"key": "bought", "event": "order_paid", "within": "P7D", "where": EXITS[0]["where"]}
    journey = JourneyFactory.create(
        workspace=acme, steps=[DAY], steps__exit_on=EXITS, guards=GUARDS, goals=[goal], hold_out={"share": 0.1}
    )
    onlooker = User.objects.create_user("onlooker", is_staff=True)
    onlooker.user_permissions.set(Permission.objects.filter(codename="view_journey"))
    staff.logs_in(onlooker)
    page = settings(staff, journey)
    first = page.get_by_role("group", name="goal 1")
    expect(first.get_by_label("Key", exact=True)).to_have_value("bought")
    expect(first.get_by_label("Within", exact=True)).to_have_value("7")
    expect(page.locator("#id_hold_out-form").get_by_label("Share in percent")).to_have_value("10")
    assert page.locator(".studio-form :is(input, select, textarea):visible:not(:disabled)").count() == 0
    assert page.locator(".studio-form button:visible").count() == 0
    area = page.locator("#id_goals")
    expect(area).to_be_hidden()
    staff.finds_nothing_serious("#content-main")
    page.locator("#id_goals-form").get_by_role("button", name="JSON").click()
    assert json.loads(area.input_value()) == [goal]
    assert not area.is_editable()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / "settings-onlooker.png", full_page=True)


def test_what_cannot_be_read_is_told_and_not_sent(staff: Staff, acme: Workspace) -> None:
    goal = {"key": "bought", "event": "order_paid", "within": "P7D"}
    journey = JourneyFactory.create(
        workspace=acme, steps=[DAY], guards=GUARDS, goals=[goal], hold_out={"share": 0.1}, payload_schema=SCHEMA
    )
    page = settings(staff, journey)
    guards, goals, held_out = (page.locator(f"#id_{name}-form") for name in ("guards", "goals", "hold_out"))
    typed = {
        guards.get_by_label("Share in percent"): ("ten", "12,5"),
        guards.get_by_label("Customers", exact=True): ("1.000", "1000"),
        goals.get_by_label("Within", exact=True): ("", "3"),
        held_out.get_by_label("Share in percent"): ("1.000,5", "20"),
    }
    for field, (wrong, _) in typed.items():
        field.fill(wrong)
        page.keyboard.press("Tab")
        expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator('[aria-invalid="true"]').first).to_be_focused()
    for field, (_, right) in typed.items():
        field.fill(right)
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=was changed successfully")
    journey.refresh_from_db()
    assert journey.guards == {**GUARDS, "failedShare": 0.125, "entries": 1000}
    assert (journey.goals, journey.hold_out) == ([{**goal, "within": "P3D"}], {"share": 0.2})
    page = staff.goes_to(page_url(journey).replace("/change/", "/send/"))
    page.get_by_label("External ids").fill("ada")
    page.get_by_label("percent").fill("ten")
    page.get_by_role("button", name="See what would happen").click()
    expect(page.get_by_label("percent")).to_be_focused()
    page.get_by_label("percent").fill("2,5")
    page.keyboard.press("Tab")
    assert json.loads(page.locator("#id_payload").input_value()) == {"percent": 2.5}
    assert staff.complaints == []


SCHEMA = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string"}, "percent": {"type": "number"}, "gift": {"type": "boolean"}},
}


def test_a_segment_is_sent_to_in_three_clicks(staff: Staff, acme: Workspace) -> None:
    """After the search: Send…, the segment, See what would happen; then the number and Enter."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY], payload_schema=SCHEMA)
    SegmentFactory.create(workspace=acme, name="VIP", members=CustomerFactory.create_batch(3, workspace=acme))
    page = staff.opens(journey)
    page.get_by_role("link", name="Send…").click()
    page.get_by_label("VIP").click()
    page.get_by_label("code *").fill("TEN")
    page.get_by_label("percent").fill("2.50")
    page.get_by_label("gift").select_option(label="Yes")
    page.get_by_role("button", name="See what would happen").click()
    number = page.get_by_label("Type 3 to send")
    expect(number).to_be_focused()
    expect(page.get_by_label("code *")).to_have_value("TEN")
    staff.finds_nothing_serious("#content-main")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Sent to 3.")
    trigger = Trigger.objects.get()
    assert (trigger.customers, trigger.payload) == (3, {"code": "TEN", "percent": 2.5, "gift": True})


def test_a_send_is_for_a_time_of_who_sends_it(browser: Browser, live_server: LiveServer, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    customer = CustomerFactory.create(workspace=acme)
    with superuser_at(browser, live_server.url, timezone_id="Asia/Karachi") as staff:
        page = staff.goes_to(page_url(journey).replace("/change/", "/send/"))
        page.get_by_label("External ids").fill(customer.external_id or "")
        when = (timezone.now() + timedelta(days=2)).replace(hour=9, minute=0, second=0, microsecond=0)
        page.get_by_label("At (your time)").fill(f"{when:%Y-%m-%dT%H:%M}")
        page.get_by_role("button", name="See what would happen").click()
        expect(page.get_by_label("At (your time)")).to_have_value(f"{when:%Y-%m-%dT%H:%M}")
        page.get_by_label("Type 1 to schedule it").fill("1")
        page.get_by_role("button", name="Schedule", exact=True).click()
        page.wait_for_selector("text=Scheduled for 1, due")
    assert EnrollmentJob.objects.get().scheduled_for == when.replace(tzinfo=ZoneInfo("Asia/Karachi"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_they_are_seen(browser: Browser, live_server: LiveServer, acme: Workspace, width: int, scheme: Any) -> None:
    journey = JourneyFactory.create(
        workspace=acme,
        steps=[DAY],
        steps__exit_on=[*EXITS, {"if": PRO}],
        entry_conditions={"all": [PRO, PRO]},
        guards=GUARDS,
        goals=[{"key": "bought", "event": "order_paid", "within": "P7D", "where": EXITS[0]["where"]}],
        hold_out={"share": 0.1},
    )
    viewport = {"width": width, "height": 900}
    with superuser_at(browser, live_server.url, viewport=viewport, color_scheme=scheme) as staff:
        page = settings(staff, journey)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        staff.finds_nothing_serious("#content-main")
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"settings-{width}-{scheme}.png", full_page=True)
        Journey.objects.update(payload_schema=SCHEMA)
        members = CustomerFactory.create_batch(3, workspace=acme, attributes={"plan": "pro"})
        SegmentFactory.create(workspace=acme, name="VIP", members=members)
        page = staff.goes_to(page_url(journey).replace("/change/", "/send/"))
        page.get_by_label("VIP").check()
        page.get_by_label("code *").fill("TEN")
        page.get_by_role("button", name="See what would happen").click()
        page.wait_for_selector("#trial")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        staff.finds_nothing_serious("#content-main")
        if folder:
            page.screenshot(path=Path(folder) / f"send-{width}-{scheme}.png", full_page=True)

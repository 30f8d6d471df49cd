"""Stopping a journey in three clicks, and pages of journeys without a mouse: by Tab, with a focus that can be seen."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Playwright
from pytest_django.live_server_helper import LiveServer

from engage.models import Workspace
from journeys.models import Journey, SteeringAct
from tests.browsers.staff import Staff, superuser_in_chromium
from tests.journeys.walking.stories import walked
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

DAY = {"id": "day", "type": "delay", "for": "P1D"}
_FOCUS = """() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one.querySelector?.(":scope > g > rect") ?? one);
  return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
}"""


@pytest.fixture
def staff(playwright: Playwright, live_server: LiveServer) -> Iterator[Staff]:
    with superuser_in_chromium(playwright, live_server.url, viewport={"width": 1440, "height": 900}) as member:
        yield member


@pytest.fixture
def journey(server: ServerClient, acme: Workspace) -> Journey:
    """One customer stands in it."""
    return walked(server, acme, [DAY]).journey


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the element has the focus, which can be seen."""
    wanted = page.locator(selector).first
    for _ in range(150):
        page.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            assert page.evaluate(_FOCUS), f"{selector} does not show that it has the focus"
            return
    raise AssertionError(f"{selector} cannot be reached")


def is_held(journey: Journey) -> bool:
    journey.refresh_from_db()
    return journey.state is Journey.State.HELD


@pytest.mark.telling
def test_a_journey_is_stopped_in_three_clicks(staff: Staff, journey: Journey) -> None:
    page = staff.goes_to("/admin/")
    page.locator("#main").get_by_role("link", name="Welcome").first.click()
    page.get_by_role("link", name="Hold…").click()
    assert "1 staying inside" in page.inner_text("#main")
    assert not is_held(journey)
    page.get_by_role("button", name="Hold").click()
    page.wait_for_selector("text=Nobody steps, and no webhook is sent.")
    assert is_held(journey)
    assert SteeringAct.objects.get().actor == "staff root"
    assert staff.complaints == []


def test_a_journey_is_stopped_by_keyboard_alone(staff: Staff, journey: Journey) -> None:
    page = staff.goes_to("/admin/")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#search-input-command:focus")
    page.keyboard.type("welcome", delay=20)
    page.keyboard.press("Enter")
    page.wait_for_selector("#map svg")
    tab_to(page, "a:has-text('Hold…')")
    page.keyboard.press("Enter")
    page.wait_for_selector("button:has-text('Hold'):focus")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Nobody steps, and no webhook is sent.")
    assert is_held(journey)
    tab_to(page, "a:has-text('Resume…')")
    page.keyboard.press("Enter")
    page.wait_for_selector("button:has-text('Resume'):focus")
    page.keyboard.press("Shift+Tab")  # how many per minute
    page.keyboard.type("60")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Resumed.")
    assert not is_held(journey)
    assert SteeringAct.objects.latest("pk").numbers["per_minute"] == 60
    assert staff.complaints == []


def test_a_step_of_the_map_leads_by_keyboard_to_who_stands_there(staff: Staff, journey: Journey) -> None:
    page = staff.opens(journey)
    page.wait_for_selector("#map svg")
    tab_to(page, "#map [role=region]")
    tab_to(page, "#map svg a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#result_list")
    (row,) = page.locator("#result_list tbody tr").all()
    assert row.locator("a[href*='/enrollment/']").count() > 0


def test_a_step_is_put_into_the_json_by_keyboard(staff: Staff, acme: Workspace) -> None:
    page = staff.opens(JourneyFactory.create(workspace=acme, steps=[DAY]))
    tab_to(page, "nav.engage-tabs a[href$='#settings']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".engage-draft svg")
    tab_to(page, "#id_steps")
    tab_to(page, ".engage-draft select")
    page.keyboard.type("send")
    tab_to(page, ".engage-draft button:has-text('Insert')")
    page.keyboard.press("Enter")
    page.wait_for_selector(".engage-draft [data-step=mail]")
    steps = json.loads(page.input_value("#id_steps"))
    assert {step["type"] for step in steps} == {"delay", "send"}


def test_the_search_for_any_record_is_opened_and_left_by_keyboard(staff: Staff, journey: Journey) -> None:
    page = staff.goes_to("/admin/")
    tab_to(page, "button:has-text('Find any record')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-input-command:focus")
    page.keyboard.type("welcome", delay=20)
    page.wait_for_selector("#command-results-list a")
    staff.finds_nothing_serious()
    page.keyboard.press("Escape")  # empties it
    page.keyboard.press("Escape")
    page.wait_for_selector("#search-input-command", state="hidden")

"""The page of a journey in tabs: one part at a time, and the part in which a place or a mistake is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Playwright, expect
from pytest_django.live_server_helper import LiveServer

from engage.admin.parts.columns import page_url
from journeys.models import Journey
from tests.browsers.staff import Staff, superuser_in_chromium

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


@pytest.fixture
def staff(playwright: Playwright, live_server: LiveServer) -> Iterator[Staff]:
    with superuser_in_chromium(playwright, live_server.url, viewport={"width": 1440, "height": 900}) as member:
        yield member


def test_one_part_of_a_journey_is_shown_at_a_time(staff: Staff, journey: Journey) -> None:
    page = staff.opens(journey)
    tabs = page.locator("nav.engage-tabs")
    places = {
        "Map": page.locator("#map"),
        "Runs": page.get_by_role("heading", name="Triggers"),
        "Revisions": page.get_by_role("heading", name="Journey revisions"),
        "Use it": page.locator("#how-to-trigger"),
        "Settings": page.locator("#id_name"),
    }
    for name in places:
        tabs.get_by_text(name, exact=True).click()
        for other, place in places.items():
            expect(place).to_be_visible(visible=other == name)
    staff.finds_nothing_serious()
    page.fill("#id_name", "")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".engage-refused")).to_be_visible()
    page.goto("about:blank")
    staff.goes_to(f"{page_url(journey)}#id_guards")
    expect(page.locator("#id_guards-form")).to_be_in_viewport()
    tabs.get_by_text("Steps", exact=True).click()
    expect(page.locator("#studio")).to_be_visible()
    tabs.get_by_text("Runs", exact=True).click()
    expect(places["Runs"]).to_be_visible()

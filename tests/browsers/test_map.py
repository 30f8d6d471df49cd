"""The map, the live drawing and the way of an enrollment, in a real browser: seen, used by keyboard, read aloud."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Playwright, expect
from pytest_django.live_server_helper import LiveServer

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from journeys.engine.enrollments.exiting import exit_enrollment
from journeys.models import Enrollment, Journey
from tests.browsers.staff import Staff, superuser_in_chromium
from tests.journeys.walking.stories import enter, walked
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

DAY = {"id": "day", "type": "delay", "for": "P1D"}
LOOP: list[dict[str, Any]] = [
    {"id": "ask", "type": "webhook", "url": "https://mail.example/ask"},
    {"id": "listen", "type": "wait_for_event", "event": "bought", "timeout": "P3D", "onEvent": "thank"},
    {"id": "again", "type": "branch", "else": None,
     "cases": [{"if": {"field": "customer.tries", "op": "lt", "value": 3}, "next": "ask"}]},
    {"id": "thank", "type": "webhook", "url": "https://mail.example/thanks"},
]  # fmt: skip


@pytest.fixture(params=["light", "dark"])
def staff(playwright: Playwright, live_server: LiveServer, request: pytest.FixtureRequest) -> Iterator[Staff]:
    how = {"viewport": {"width": 1440, "height": 900}, "color_scheme": request.param}
    with superuser_in_chromium(playwright, live_server.url, **how) as member:
        yield member


def steps_in(page: Page, within: str) -> set[str]:
    found: list[str] = page.eval_on_selector_all(f"{within} [data-step]", "all => all.map((one) => one.dataset.step)")
    return set(found)


def overlapping(page: Page, within: str) -> int:
    """How many pairs of boxes cover each other."""
    count: int = page.evaluate(
        """(within) => {
          const boxes = [...document.querySelectorAll(`${within} [data-step] > rect`)].map((one) => one.getBBox());
          return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) =>
            a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)).length;
        }""",
        within,
    )
    return count


def zoom_of(page: Page) -> float:
    return float(page.eval_on_selector("#map", "(map) => map.querySelector('[data-drawing]').zoom"))


def test_a_loop_and_two_hundred_steps_are_drawn_and_moved_by_keyboard(staff: Staff, acme: Workspace) -> None:
    loop = JourneyFactory.create(workspace=acme, steps=LOOP)
    page = staff.opens(loop)
    page.wait_for_selector("#map svg")
    assert steps_in(page, "#map") == {"@entry", "ask", "listen", "again", "thank", "@completed"}
    assert page.locator('#map [data-way="again ask"]').count() == 1
    assert overlapping(page, "#map") == 0
    staff.finds_nothing_serious("#map")

    long: list[dict[str, Any]] = [{"id": f"s{n}", "type": "delay", "for": "P1D"} for n in range(200)]
    for n in range(5, 200, 10):
        case = {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": f"s{min(n + 3, 199)}"}
        long[n] = {"id": f"s{n}", "type": "branch", "cases": [case]}
        long[n + 1] = {"id": f"s{n + 1}", "type": "webhook", "url": "https://mail.example/", "onFailure": "exit"}
    page = staff.opens(JourneyFactory.create(workspace=acme, steps=long))
    page.wait_for_selector("#map svg")
    assert len(steps_in(page, "#map")) == 203
    assert page.locator('#map [data-step="@exited"]').count() == 20  # each near its step
    assert overlapping(page, "#map") == 0
    assert zoom_of(page) >= 0.7
    view = page.locator("#map [role=region]")
    view.focus()
    page.keyboard.press("PageDown")
    page.wait_for_function("document.querySelector('#map [role=region]').scrollTop > 0")
    before = zoom_of(page)
    page.keyboard.press("+")
    assert zoom_of(page) > before
    page.keyboard.press("0")
    assert view.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1
    assert staff.complaints == []


def test_mistakes_are_told_and_found_while_they_are_typed(staff: Staff, acme: Workspace) -> None:
    page = staff.goes_to(f"{page_url(JourneyFactory.create(workspace=acme, steps=LOOP))}#settings")
    page.wait_for_selector(".engage-draft svg")
    area = page.locator("#id_steps")
    written = json.dumps([*LOOP[:1], {**LOOP[1], "timeout": "soon"}, *LOOP[2:]], indent=2)
    area.fill(written.replace("mail.example/ask", "mail.example/{{ user.name }}"))
    mistakes = page.locator(".engage-draft-mistakes button")
    mistakes.nth(1).wait_for(timeout=1000)  # a second
    assert mistakes.count() == 2
    staff.finds_nothing_serious(".engage-draft")
    mistakes.nth(1).press("Enter")
    chosen = area.evaluate("(one) => one.value.slice(one.selectionStart, one.selectionEnd)")
    assert chosen == '"soon"'
    page.keyboard.type('"P2D"')
    page.wait_for_function("document.querySelectorAll('.engage-draft-mistakes li').length === 1")
    page.wait_for_selector(".engage-draft svg >> text=2 days")

    page.locator(".engage-draft select").select_option(label="delay: day")
    page.get_by_role("button", name="Insert").press("Enter")
    page.wait_for_selector(".engage-draft [data-step=day]")
    steps = [step["id"] for step in json.loads(area.input_value())]
    assert steps == ["ask", "listen", "day", "again", "thank"]
    assert staff.complaints == []


def test_the_way_of_an_enrollment_and_of_a_trial_are_lit(staff: Staff, server: ServerClient, acme: Workspace) -> None:
    enrollment: Enrollment = walked(server, acme, [DAY, *LOOP])
    page = staff.opens(enrollment)
    page.wait_for_selector("#way svg")
    assert page.locator("#way g.here").get_attribute("data-step") == "day"
    assert page.locator('#way [data-way="@entry day"]').get_attribute("class") == "engage-map-way lit"
    expect(page.locator("#timeline")).to_contain_text(re.compile(r"Waits until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    staff.finds_nothing_serious("#way")

    journey: Journey = enrollment.journey
    CustomerFactory.create(workspace=acme, external_id="ada")
    page = staff.opens(journey, to="try")
    page.get_by_label("Customer").fill("ada")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial svg")
    assert page.locator("#trial g.ended").get_attribute("data-step") == "@completed"
    staff.finds_nothing_serious("#content-main")


def test_ways_that_leave_early_are_dotted_lines_to_one_side(
    staff: Staff, server: ServerClient, acme: Workspace
) -> None:
    steps = [DAY, {**LOOP[0], "onFailure": "exit"}, {**DAY, "id": "night"}]
    journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=[{"event": "bought"}])
    for _ in range(2):
        enrollment = enter(server, journey, CustomerFactory.create(workspace=acme))
        let_workers_walk()
        exit_enrollment(workspace_id=acme.id, enrollment_id=enrollment.id, reason="Enough.")
    for url, within, left in ((page_url(journey), "#map", "2"), (f"{page_url(journey)[:-7]}steps/", "#studio", "")):
        page = staff.goes_to(url)
        page.wait_for_selector(f"{within} svg")
        side = page.locator(f"{within} [data-leaving]")
        assert [one.get_attribute("data-leaving") for one in side.all()] == ["day", "ask", "night"]
        told = side.first.text_content() or ""
        assert "bought" in told
        assert (f"by {left}:" in told) == bool(left)
        for one in (side.first, page.locator(f'{within} [data-way="ask @exited"]')):
            assert one.evaluate("(path) => getComputedStyle(path).strokeDasharray") != "none"
        assert overlapping(page, within) == 0
        staff.finds_nothing_serious(within)
        if folder := os.environ.get("SCREENSHOTS"):
            scheme = page.evaluate("document.documentElement.className.includes('dark')")
            page.locator(f"{within} .engage-map").screenshot(path=Path(folder) / f"leaving {within[1:]} {scheme}.png")

"""Every page of the admin, wide and narrow, light and dark: without errors, within the screen, and read aloud.

SCREENSHOTS=folder keeps a picture of each.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django_otp.oath import totp
from playwright.sync_api import Playwright
from pytest_django.live_server_helper import LiveServer

from engage.models import ApiKey, Membership, Phone, Workspace
from tests.admin.staff import member
from tests.browsers.admin_pages import pages
from tests.browsers.furnished import furnish
from tests.browsers.staff import Staff, superuser_in_chromium
from tests.support.clients import ServerClient

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
BUSIEST = ["index", "journeys journey change", "journeys webhookdelivery changelist"]
OK, FORBIDDEN = 200, 403


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def staff(playwright: Playwright, live_server: LiveServer, theme: str) -> Iterator[Staff]:
    """In Karachi, five hours ahead of UTC."""
    where = {"color_scheme": theme, "timezone_id": "Asia/Karachi", "locale": "en-US"}
    with superuser_in_chromium(playwright, live_server.url, **where) as member:
        yield member


def test_every_page_is_sound(
    staff: Staff, acme: Workspace, server: ServerClient, theme: str, subtests: pytest.Subtests
) -> None:
    for name, url in pages(furnish(acme, server)).items():
        with subtests.test(page=name):
            assert wrong_with(staff, url, called=f"{name} {theme}") == []


@pytest.mark.parametrize("theme", ["light"], indirect=True)
@pytest.mark.parametrize("role", Membership.Role.values)
def test_every_page_is_sound_for_a_member(
    staff: Staff, acme: Workspace, server: ServerClient, role: str, subtests: pytest.Subtests
) -> None:
    found = pages(furnish(acme, server))
    member(role, acme=role)
    staff.logs_in(User.objects.get(username=role))
    for name, url in found.items():
        with subtests.test(page=name):
            assert wrong_with(staff, url, called=f"{name} {role}", sizes=["narrow"]) == []


@pytest.mark.telling
@pytest.mark.parametrize("theme", ["dark"], indirect=True)
def test_the_busiest_pages_are_sound(staff: Staff, acme: Workspace, server: ServerClient) -> None:
    found = pages(furnish(acme, server))
    assert [wrong for name in BUSIEST for wrong in wrong_with(staff, found[name], called=name, sizes=["narrow"])] == []


def wrong_with(staff: Staff, url: str, *, called: str, sizes: Iterable[str] = SIZES) -> list[object]:
    """What is wrong with the page; nothing with one that nobody may open, such as that to add a job."""
    wrong: list[object] = []
    staff.complaints.clear()
    for size in sizes:
        staff.page.set_viewport_size(SIZES[size])  # type: ignore[arg-type] # has both its keys
        answer = staff.page.goto(staff.at + url, wait_until="networkidle")
        assert answer
        if answer.status == FORBIDDEN:
            return []
        if answer.status != OK:
            return [answer.status]
        wrong += wrong_now(staff, called=f"{called} {size}")
    return wrong


def wrong_now(staff: Staff, *, called: str) -> list[object]:
    """What is wrong with what is shown now."""
    if folder := os.environ.get("SCREENSHOTS"):
        name = re.sub(r"[^a-z0-9]+", "-", called)
        staff.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
    width = staff.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    too_wide = [f"{called} is {width} pixels too wide"] if width > 0 else []
    return [*too_wide, *staff.serious_findings(), *staff.complaints]


def test_what_takes_more_than_an_address_is_sound(
    staff: Staff, acme: Workspace, server: ServerClient, theme: str, subtests: pytest.Subtests
) -> None:
    found = pages(furnish(acme, server))
    acts = (
        try_it, connection_tried, filters, palette, new_key, refused, failures_chosen, second_factor, asked_for_a_code,
        logged_out,
    )  # fmt: skip
    for act in acts:
        for size, viewport in SIZES.items():
            staff.complaints.clear()
            staff.page.set_viewport_size(viewport)  # type: ignore[arg-type]
            for step in act(staff, found):
                with subtests.test(page=step, size=size):
                    assert wrong_now(staff, called=f"{step} {theme} {size}") == []


Steps = Iterator[str]  # the name of what is shown now


def try_it(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["journeys journey try"])
    page.get_by_label("Customer").fill("ada")
    page.get_by_role("button", name="Try it").click()
    page.wait_for_selector("#trial svg")
    yield "try it, tried"


def connection_tried(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["journeys connection change"])
    page.get_by_label("Inputs of the test, as JSON").fill('{"to": "a@b.example", "subject": "A", "html": "b"}')
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Send a test").click()
    page.wait_for_selector("#test-title")
    yield "connection, tried"


def filters(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["journeys enrollmentjob changelist"])
    page.locator("a, button, div").filter(has_text=re.compile(r"^\s*Filters")).last.click()
    page.wait_for_selector("#changelist-filter", state="visible")
    yield "filters"


def palette(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["index"])
    page.keyboard.press("Control+k")
    page.wait_for_selector("#search-input-command:focus")
    page.keyboard.type("ada", delay=20)
    page.wait_for_selector("#command-results-list a")
    yield "palette"


def new_key(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(f"{found['engage apikey add']}?workspace={Workspace.objects.get().pk}")
    page.fill("#id_name", f"till {ApiKey.objects.count()}")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("#secret")
    yield "new key"


def refused(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(f"{found['journeys journey change']}#settings")
    page.locator("#id_steps").fill('[{"id": "a", "type": "dance"}]')
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector(".engage-refused")
    yield "journey refused"


def failures_chosen(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["journeys webhookdelivery changelist"])
    page.locator("input.action-select").first.check()
    page.select_option("select[name=action]", label="Send again")
    yield "failures, one chosen"
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Yes, send again").wait_for()
    yield "send the chosen again"


def second_factor(staff: Staff, found: dict[str, str]) -> Steps:
    page = staff.goes_to(found["second factor set up"])
    page.fill("#id_code", "000000")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=That is not the code of this moment.")
    yield "second factor, wrong code"
    device = Phone.objects.latest("pk")
    device.throttle_reset()
    page.fill("#id_code", f"{totp(device.bin_key):06d}")
    page.keyboard.press("Enter")
    page.wait_for_selector("#codes")
    yield "recovery codes"


def asked_for_a_code(staff: Staff, found: dict[str, str]) -> Steps:
    staff.logs_in(User.objects.get(username="root"))
    page = staff.goes_to("/admin/")
    page.fill("#id_code", "000000")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=That is not the code of this moment.")
    yield "second factor asked for"


def logged_out(staff: Staff, found: dict[str, str]) -> Steps:
    staff.page.context.clear_cookies()
    page = staff.goes_to("/admin/login/")
    yield "login"
    page.fill("#id_username", "root")
    page.fill("#id_password", "wrong")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=Please enter the correct")
    yield "login refused"

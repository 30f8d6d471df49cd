"""The overview and the lists in real browsers: times, the box for any record, and failures when there are many."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Resending, WebhookDelivery
from journeys.tasks import resend
from tests.admin.failures import failed_webhooks
from tests.browsers.admin_pages import pages
from tests.browsers.furnished import furnish
from tests.browsers.staff import superuser_at
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.one_of_everything import populate
from tests.support.processes import web

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

_FAILURES = "/admin/journeys/webhookdelivery/"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[str]:
    with web(log=tmp_path_factory.mktemp("web") / "web.log") as started:
        yield started


@pytest.fixture
def page(browser: Browser, address: str, acme: Workspace) -> Iterator[Page]:
    """Of a superuser in Karachi, five hours ahead of UTC, who has opened nothing yet. No page complains of anything."""
    with superuser_at(browser, address, timezone_id="Asia/Karachi", locale="en-US") as staff:
        yield staff.page
        assert staff.complaints == []


_ROWS = """(rows) => rows.map((row) => {
  const box = (selector) => row.querySelector(`:scope > ${selector}`)?.getBoundingClientRect();
  const first = box(":is(:first-child:not(.action-checkbox), .action-checkbox + *)");
  const state = box(":has(> .uppercase):not(:has(> details))");
  const { height, bottom, right } = row.getBoundingClientRect();
  const cells = [...row.children].map((one) => one.getBoundingClientRect());
  const isCut = cells.some((cell) => cell.top < bottom - 2 && cell.bottom > bottom);
  const hasNothing = [...row.children].slice(1).some((one) => one.innerText.trim() === "-" && one.clientWidth);
  const hasState = !state || (state.top === first.top && state.right <= right);
  return height <= 70 && first.width > 60 && !isCut && hasState && !hasNothing ? "" : row.innerText;
}).filter(Boolean)"""


def test_on_a_phone_a_row_of_each_list_is_two_lines(
    browser: Browser, live_server: LiveServer, acme: Workspace, server: ServerClient
) -> None:
    lists = {name: url for name, url in pages(furnish(acme, server)).items() if name.endswith("changelist")}
    phone = {"width": 390, "height": 844}
    wrong = []
    with superuser_at(browser, live_server.url, viewport=phone) as staff:
        for name, url in lists.items():
            page = staff.goes_to(url)
            wrong += [(name, text) for text in page.eval_on_selector_all("#result_list .data-row", _ROWS)]
            wrong += [(name, "is too wide")] * page.evaluate("document.documentElement.scrollWidth > innerWidth")
            if folder := os.environ.get("SCREENSHOTS"):
                page.screenshot(path=Path(folder) / f"list {name}.png")
        assert wrong == []
        assert staff.complaints == []


def test_ten_thousand_failures_are_sent_again_in_three_clicks(page: Page, address: str, acme: Workspace) -> None:
    failed_webhooks(acme, number=10_000)
    page.goto(f"{address}/admin/")
    page.get_by_role("link", name="since midnight").click()
    page.wait_for_selector("#result_list")
    assert "10,000 failed" in page.inner_text(".engage-above")
    assert page.locator("#result_list tbody").count() == 50
    assert page.url.partition("since=")[2][:13].endswith("T19") or "T19%3A00" in page.url  # midnight in Karachi
    page.get_by_role("link", name="Send all 10,000 again").click()
    assert "Send 10,000 webhooks again?" in page.inner_text("main, body")
    page.get_by_role("button", name="Yes, send again").click()
    page.wait_for_selector("#sending-again [data-going-on]")
    while not Resending.objects.filter(ended_at__isnull=False).exists():
        resend()
    page.wait_for_selector("#sending-again :text('Sent again: 10000 of 10000')")
    assert WebhookDelivery.objects.filter(state="waiting", again=True).count() == 10_000


def test_the_chosen_are_sent_again(page: Page, address: str, acme: Workspace) -> None:
    failed_webhooks(acme, number=3)
    page.goto(f"{address}{_FAILURES}")
    for place in (0, 1):
        page.locator("input.action-select").nth(place).check()
    page.select_option("select[name=action]", label="Send again")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Yes, send again").click()
    page.wait_for_selector("text=2 webhooks are sent again.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Send msg_").click()
    page.wait_for_selector("text=1 webhook is sent again.")
    assert WebhookDelivery.objects.filter(state="waiting").count() == 3


def test_enter_opens_the_first_hit(page: Page, address: str, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme, attributes={"name": "Ada Lovelace"})
    page.goto(f"{address}/admin/")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#search-input-command:focus")
    page.keyboard.type("ADA L", delay=20)
    page.keyboard.press("Enter")  # before the hits are there
    page.wait_for_url(f"**/customer/{ada.pk}/change/")


def test_times_are_told_from_now_in_the_browsers_zone(page: Page, address: str, acme: Workspace) -> None:
    populate(acme, rows=1)
    Customer.objects.update(created_at="2020-01-31T22:30:00Z")
    page.goto(f"{address}/admin/customers/customer/?since=2020-01-31T22:00")
    time = page.locator("td.field-created_at time")
    assert time.inner_text() == "Feb 1, 2020"
    title = time.get_attribute("title") or ""
    assert "3:30:00" in title
    assert "GMT+5" in title
    assert page.input_value("input[data-utc][name=since]") == "2020-02-01T03:00"
    page.locator("#filter-form").evaluate("(form) => form.requestSubmit()")
    page.wait_for_url("**since=2020-01-31T22%3A00%3A00.000Z**")
    page.goto(f"{address}/admin/journeys/enrollment/")
    assert page.locator("time").first.inner_text().endswith(("just now", "ago"))


def test_the_overview_draws_its_charts(page: Page, address: str, acme: Workspace) -> None:
    failed_webhooks(acme, number=2)
    page.goto(f"{address}/admin/")
    assert page.evaluate("[...document.querySelectorAll('canvas')].map((one) => Boolean(Chart.getChart(one)))") == [
        True,
        True,
    ]
    assert page.locator(".engage-bad").first.inner_text() == "2"

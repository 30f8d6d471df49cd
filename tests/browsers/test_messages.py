"""The admin's pages of messages and apps, and the HTML that a message's page gives to copy, in real browsers."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from bridge.messages.definition import parse_definition
from bridge.messages.markup import html_of
from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.admin.parts.columns import page_url
from engage.models import App, Workspace
from tests.admin.messages import HOSTILE, interact
from tests.bridge.messages import sale
from tests.browsers.pages import Shop
from tests.browsers.staff import Staff, superuser_at
from tests.support.factories import AppFactory, MessageFactory
from tests.support.processes import web
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
ONLY_CHROMIUM = pytest.mark.parametrize("browser", ["chromium"], indirect=True)


@pytest.fixture
def message(acme: Workspace) -> Message:
    """Used, refused, and with a text that no line has room for."""
    made = MessageFactory.create(workspace=acme, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)
    app = AppFactory.create(workspace=acme, identity=App.Identity.REPORT)
    for days_ago in range(5):
        interact(made, 3 + days_ago, days_ago=days_ago, app=app)
    problem = {"reason": "event_not_listed", "field": "x" * 300, "why": HOSTILE}
    interact(made, 1, app=app, message_problems=[problem], origin="https://shop.example")
    interact(made, 2, app=app, verified=False, identity_problem="missing", origin="https://shop.example")
    return made


@pytest.fixture
def staff(browser: Browser, message: Message, tmp_path: Path) -> Iterator[Staff]:
    with web(log=tmp_path / "web.log") as address, superuser_at(browser, address) as member:
        yield member


@ONLY_CHROMIUM
def test_the_pages_of_messages_fit_break_no_policy_and_are_used_by_keyboard(staff: Staff, message: Message) -> None:
    page, app = staff.page, App.objects.get()
    for url in ("/admin/bridge/message/", page_url(message), f"{page_url(message)}?learn=1", page_url(app)):
        for width, theme in ((1440, "dark"), (390, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type] # one of its literals
            staff.goes_to(url)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert staff.complaints == []
    staff.opens(message)
    assert page.evaluate("Chart.getChart(document.querySelector('canvas.chart')).data.datasets[0].data.length") == 7
    tabs = page.get_by_label("The parts of this message")
    places = {"Figures": "#usage", "What it shows": "#html", "Settings": "#id_status"}
    for name in places:
        tabs.get_by_text(name, exact=True).click()
        assert [one for one, place in places.items() if page.locator(place).is_visible()] == [name]
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"message {name}.png", full_page=True)
        staff.finds_nothing_serious()
    _press_until(page, "Learn from the last seven days")
    page.keyboard.press("Enter")
    page.wait_for_url("**?learn=1*")
    assert page.locator("#learned").is_visible()
    tabs.get_by_text("What it shows", exact=True).click()
    assert page.frame_locator("iframe[title=Preview]").locator("button").first.is_visible()


def _press_until(page: Page, text: str) -> None:
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    raise AssertionError(f"{text} cannot be reached")


def test_copied_html_does_what_the_message_lists(context: BrowserContext, shop: Shop, acme: Workspace) -> None:
    App.objects.filter(pk=shop.app.pk).update(message_policy=App.MessagePolicy.ENFORCE)
    MessageFactory.create(workspace=acme, key=sale.KEY, actions=sale.ACTIONS, forms=sale.FORMS)
    copied = html_of(parse_definition(actions=sale.ACTIONS, forms=sale.FORMS))
    head = '<!doctype html><script type="module" src="/page.js"></script><iframe id="framed"></iframe>'
    shop.pages.files["/copied"] = ("text/html", f'{head}<div id="message">{copied}</div>')
    page = context.new_page()
    page.goto(f"{shop.url}/copied")
    page.wait_for_function("window.ready")
    for button in page.locator("button[data-engage-id]").all():
        button.click()
    page.fill("[data-engage-id=nps] [name=score]", "3")
    page.check("[data-engage-id=nps] [value=speed]")
    page.click("[data-engage-id=nps] button")
    page.fill("[data-engage-id=address] [name=zip]", "89073")
    page.click("[data-engage-id=address] button")
    wait_until(lambda: Interaction.objects.count() == 6, what="the six interactions", seconds=20)
    assert set(Interaction.objects.values_list("action_id", flat=True)) == {"cta", "opt", "in", "x", "nps", "address"}
    assert Event.objects.get(name="answered").properties == {"score": 3, "from": "nps"}
    attributes = Customer.objects.get().attributes
    assert attributes == {"plan": "free", "newsletter": True, "lastScore": 3, "zip": "89073"}
    assert page.evaluate("window.violations") == []

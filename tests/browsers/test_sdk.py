"""The SDK in real browsers: nothing is lost, nothing is done twice, and nothing is asked first."""

import pytest
from playwright.sync_api import BrowserContext, Page

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import Workspace
from tests.browsers.conftest import Shop
from tests.support.factories import CustomerFactory
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def opened(context: BrowserContext, shop: Shop) -> Page:
    page = context.new_page()
    page.goto(f"{shop.url}/")
    page.wait_for_function("window.ready")
    return page


def kinds() -> list[str]:
    return list(Interaction.objects.order_by("id").values_list("kind", flat=True))


def test_what_the_page_declares_is_recorded_and_no_preflight_asked(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    for button in ("click", "plan", "close", "send", "bad", "broken"):
        page.click(f"#{button}")
    page.frame_locator("#framed").locator("#inside").click()
    wait_until(lambda: Interaction.objects.count() == 5, what="five interactions", seconds=20)
    assert sorted(kinds()) == ["capture", "close", "track_event", "track_event", "update_profile"]
    clicked, answered, framed = (Event.objects.get(name=name) for name in ("clicked", "answered", "framed"))
    assert (clicked.properties, framed.properties) == ({"n": 1}, {})
    assert answered.properties == {"city": "Ulm", "likes": ["a", "b"], "days": ["mon"]}
    customer = Customer.objects.get()
    assert customer.attributes["plan"] == "pro"
    assert customer.attributes["likes"] == ["a", "b"]
    assert shop.proxy.methods["OPTIONS"] == 0
    assert page.evaluate("window.violations") == []
    assert page.title() == "Shop"
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.includes(':q:'))") == []


def test_a_double_click_is_one(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.dblclick("#click")
    page.evaluate("engage.flush()")
    assert kinds() == ["track_event"]


def test_clicks_that_leave_the_page_are_all_recorded(context: BrowserContext, shop: Shop) -> None:
    page = context.new_page()
    for _ in range(10):
        page.goto(f"{shop.url}/")
        page.wait_for_function("window.ready")
        page.click("#away")
        page.wait_for_url("**/away")
    wait_until(lambda: Interaction.objects.count() >= 10, what="the clicks", seconds=10)
    assert kinds() == ["link"] * 10


def test_answers_that_are_lost_double_nothing(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.cuts_every = 3
    for number in range(12):
        page.evaluate(f"void message.track('t{number}')")
    wait_until(lambda: page.evaluate("window.outcomes.filter(([what]) => what === 'sent').length") == 12, seconds=30)
    assert list(Event.objects.order_by("serial").values_list("name", flat=True)) == [f"t{n}" for n in range(12)]


@pytest.mark.parametrize("fails", [0, 429, 503])
def test_what_cannot_be_sent_waits_in_order_and_survives_the_page(
    context: BrowserContext, shop: Shop, fails: int
) -> None:
    page = opened(context, shop)
    shop.proxy.fails = fails
    for name in ("a", "b", "c"):
        assert page.evaluate(f"message.track('{name}')")["status"] == "queued"
    page.goto(f"{shop.url}/elsewhere")
    assert not Interaction.objects.exists()
    shop.proxy.fails = None
    opened(context, shop)
    wait_until(lambda: Interaction.objects.count() == 3, what="what waited", seconds=20)
    assert list(Event.objects.order_by("serial").values_list("name", flat=True)) == ["a", "b", "c"]


def test_tabs_send_what_waits_once(context: BrowserContext, shop: Shop) -> None:
    shop.proxy.fails = 0
    tabs = [opened(context, shop) for _ in range(3)]
    for number, tab in enumerate(tabs):
        tab.evaluate(f"void message.track('t{number}')")
    shop.proxy.fails = None
    for tab in tabs:
        tab.evaluate("void engage.flush()")
    wait_until(lambda: Interaction.objects.count() == 3, what="the clicks of all tabs", seconds=20)
    assert Customer.objects.count() == 1


def test_what_waits_is_never_sent_as_somebody_else(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.fails = 0
    assert page.evaluate("message.track('mine')")["status"] == "queued"
    before = page.evaluate(
        "JSON.parse(localStorage.getItem(Object.keys(localStorage).find((n) => n.endsWith(':me')))).userId"
    )
    page.evaluate("engage.reset()")
    shop.proxy.fails = None
    page.evaluate("message.track('theirs')")
    wait_until(lambda: Interaction.objects.count() == 2, what="both clicks", seconds=20)
    assert Event.objects.get(name="mine").customer.user_id == before
    assert Event.objects.get(name="theirs").customer.user_id != before


@pytest.mark.parametrize("leaving", [False, True])
def test_what_was_done_before_logging_in_becomes_the_known_persons(
    acme: Workspace, context: BrowserContext, shop: Shop, leaving: bool
) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    page = opened(context, shop)
    told = "message.track('before'), engage.identify({ external_id: 'ada' }), message.track('after')"
    if leaving:
        page.evaluate(f"void ({told}); location.assign('/elsewhere')")
        page.wait_for_url("**/elsewhere")
        opened(context, shop)
    else:
        outcomes = page.evaluate(f"Promise.all([{told}])")
        assert [outcome["status"] for outcome in outcomes] == ["sent"] * 3
    wait_until(lambda: sorted(kinds()) == ["identify", "track_event", "track_event"], what="all three", seconds=20)
    assert set(Event.objects.values_list("name", "customer_id")) == {("before", ada.id), ("after", ada.id)}
    assert Customer.objects.get() == ada


def test_who_opts_out_sends_nothing(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate("engage.optOut()")
    assert page.evaluate("message.track('seen')")["status"] == "refused"
    page.click("#click")
    assert shop.proxy.methods["POST"] == 0

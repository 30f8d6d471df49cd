"""Deliveries in browsers that are killed, on two devices, and on one that people share.

The database tells: each is acted on once, and by the right person.
"""

import time
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import InAppDelivery
from tests.bridge.in_app.deliveries import deliver, events_of, offer
from tests.browsers.in_app import counted, furnish, opened, state_of
from tests.browsers.killed import MOMENTS, STEP_SECONDS, preferred, running
from tests.browsers.pages import NOTHING_WAITS, Shop, until
from tests.browsers.programs import PROGRAMS
from tests.support.factories import CustomerFactory
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
_BANNER = "#slot section"


@pytest.fixture
def ada(acme: Workspace, shop: Shop) -> Customer:
    furnish(shop)
    offer(acme)
    return CustomerFactory.create(workspace=acme, external_id="ada")


def once_each(number: int, shop: Shop) -> None:
    """Each of so many deliveries was shown, clicked and acted on, once."""
    assert Counter(InAppDelivery.objects.values_list("state", flat=True)) == {"acted": number}
    assert [counted(name) for name in ("in_app.shown", "clicked", "in_app.acted")] == [number] * 3
    pressed = Counter(one for one in shop.pages.asked if one.startswith("/clicked"))
    assert pressed == {f"/clicked?n={n}": 1 for n in range(number)}


_DRAWN = '[...document.querySelector("#slot > div").shadowRoot.querySelectorAll("section")]'
_SHOWN = f'{_DRAWN}.map((section) => section.querySelector("p").textContent)'
_PRESS = (
    _DRAWN
    + """.map((section) => {
  const n = section.querySelector("p").textContent;
  section.querySelector("[part=button]").click();
  fetch(`/clicked?n=${n}`);
  return n;
})"""
)


@pytest.mark.parametrize(("tabs", "number"), [(2, 12), (8, 1000)])
def test_many_deliveries_in_many_tabs_are_each_shown_and_acted_on_once(
    context: BrowserContext, shop: Shop, ada: Customer, tabs: int, number: int
) -> None:
    """A person presses in one tab at a time, and in the next once it has heard of that: browsers tell their tabs soon.

    A driven browser takes all of them for looked at.
    """
    for n in range(number):
        deliver(ada, values={"coupon": str(n)})
    pages = [opened(context, shop) for _ in range(tabs)]
    looked_at, pressed = cycle(pages), set[str]()

    def all_are_acted_on() -> bool:
        page = next(looked_at)
        wait_until(lambda: pressed.isdisjoint(page.evaluate(_SHOWN)), what="a tab that has heard of what was pressed")
        pressed.update(page.evaluate(_PRESS))
        page.wait_for_timeout(300)
        return counted("in_app.acted") >= number

    wait_until(all_are_acted_on, what="all clicks", seconds=900)
    for page in pages:
        until(page, NOTHING_WAITS)
        assert page.locator(_BANNER).count() == 0
    once_each(number, shop)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_browser_killed_at_twenty_moments_shows_nothing_again_that_was_clicked(
    name: str, shop: Shop, ada: Customer, tmp_path: Path
) -> None:
    preferred(tmp_path)
    for number in range(MOMENTS):
        deliver(ada, values={"coupon": str(number)})
        with running(name, f"{shop.url}/in-app?presses", tmp_path):
            wait_until(lambda clicked=f"/clicked?n={number}": clicked in shop.pages.asked, what="the click")  # type: ignore[misc]
            shop.proxy.fails = 0 if number % 2 else None  # every other time the network is gone when it starts again
            time.sleep(0.3 + number * STEP_SECONDS)  # it is on the disk: IndexedDB is open by then
        shop.proxy.fails = None
    with running(name, f"{shop.url}/in-app", tmp_path):
        wait_until(lambda: counted("in_app.acted") == MOMENTS, what="all clicks")
    once_each(MOMENTS, shop)


def test_what_one_device_ends_the_other_stops_showing(
    context: BrowserContext, browser: Browser, shop: Shop, ada: Customer
) -> None:
    mine = deliver(ada)
    telephone = browser.new_context()
    try:
        here, there = opened(context, shop), opened(telephone, shop)
        for page in (here, there):
            page.locator(_BANNER).wait_for()
        # A page that cannot hear of it still does what its button says, and changes no state.
        telephone.set_offline(True)
        here.locator(_BANNER).get_by_role("button", name="Go").click()
        wait_until(lambda: state_of(mine) == "acted", what="acted")
        there.locator(_BANNER).get_by_role("button", name="Close").click()
        telephone.set_offline(False)
        until(there, NOTHING_WAITS)
        assert (state_of(mine), mine.action_id) == ("acted", "cta")
        assert events_of(ada) == ["in_app.shown", "clicked", "in_app.acted"]
        other = deliver(ada)
        for page in (here, there):
            page.locator(_BANNER).wait_for()
        there.locator(_BANNER).get_by_role("button", name="Go").click()
        here.locator(_BANNER).wait_for(state="detached")
        assert state_of(other) == "acted"
    finally:
        telephone.close()


def test_what_waits_for_who_has_left_shows_nothing_to_who_came(
    context: BrowserContext, shop: Shop, ada: Customer, acme: Workspace
) -> None:
    grace = CustomerFactory.create(workspace=acme, external_id="grace")
    hers, more = deliver(ada, values={"coupon": "of Ada"}), deliver(ada, values={"coupon": "of Ada, too"})
    theirs = deliver(grace, values={"coupon": "of Grace"})
    page, beside = opened(context, shop), opened(context, shop)
    page.evaluate(
        "seen = []; new MutationObserver(() => seen.push(...[...document.querySelector('#slot > div').shadowRoot"
        ".querySelectorAll('p')].map((one) => one.textContent)))"
        ".observe(document.querySelector('#slot > div').shadowRoot, { childList: true, subtree: true })"
    )
    page.bring_to_front()
    page.locator(_BANNER).nth(1).wait_for()
    shop.proxy.fails = 503
    page.locator(_BANNER).first.get_by_role("button", name="Go").click()
    page.evaluate("engage.reset(); void engage.identify({ external_id: 'grace' }); seen.length = 0")
    page.locator(_BANNER).first.wait_for(state="detached")
    shop.proxy.fails = None
    for tab in (beside, page):
        tab.bring_to_front()
        tab.locator(_BANNER).get_by_text("of Grace").wait_for()
        until(tab, NOTHING_WAITS)
        assert tab.locator(_BANNER).count() == 1
    assert set(page.evaluate("seen")) == {"of Grace"}
    wait_until(lambda: state_of(hers) == "acted", what="what Ada did")
    wait_until(lambda: state_of(theirs) == "shown", what="what Grace sees")
    assert state_of(more) == "shown"
    assert set(Event.objects.filter(customer=grace).values_list("name", flat=True)) == {"in_app.shown"}

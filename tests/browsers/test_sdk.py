"""The SDK in real browsers: nothing is lost, nothing is done twice, and nothing is asked first."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from playwright.sync_api import BrowserContext

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import Workspace
from tests.browsers.pages import NOTHING_WAITS, Shop, kinds, names, opened, until
from tests.support.factories import CustomerFactory
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


@pytest.mark.telling
def test_what_the_page_declares_is_recorded_and_no_preflight_asked(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    for button in ("click", "plan", "close", "send", "bad", "broken"):
        page.click(f"#{button}")
    for button in ("inside", "ask"):
        page.frame_locator("#framed").locator(f"#{button}").click()
    wait_until(lambda: Interaction.objects.count() == 6, what="six interactions")
    assert sorted(kinds()) == ["capture", "capture", "close", "track_event", "track_event", "update_profile"]
    said = dict(Event.objects.values_list("name", "properties"))
    lists = {"city": "Ulm", "likes": ["a"], "days": ["mon"]}
    assert said == {"clicked": {"n": 1}, "framed": {}, "answered": {**lists, "terms": "yes"}, "asked": lists}
    customer = Customer.objects.get()
    assert customer.attributes["plan"] == "pro"
    assert customer.attributes["likes"] == ["a"]
    assert shop.proxy.methods["OPTIONS"] == 0
    assert page.evaluate("window.violations") == []
    assert page.title() == "Shop"
    until(page, NOTHING_WAITS)


def test_a_frame_that_was_there_before_the_pages_script_is_heard(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate(
        "new Promise((loaded) => { const late = document.createElement('iframe');"
        "  Object.assign(late, { id: 'late', sandbox: 'allow-scripts', src: '/framed', onload: () => loaded() });"
        "  document.body.append(late); })"
    )
    page.frame_locator("#late").locator("#inside").click()
    page.evaluate("void message.frame(document.getElementById('late'), { events: ['framed'] })")
    wait_until(lambda: names() == ["framed"], what="the click in the frame")


def test_the_button_that_sends_a_form_is_one_of_its_fields(context: BrowserContext, shop: Shop) -> None:
    shop.pages.files["/framed"] = ("text/html", shop.pages.files["/framed"][1].replace('id="ask"', 'id="ask" name="a"'))
    page = opened(context, shop)
    page.evaluate("Object.assign(document.getElementById('send'), { name: 'answer', value: 'yes' }), undefined")
    page.click("#send")
    page.frame_locator("#framed").locator("#ask").click()
    wait_until(lambda: Event.objects.count() == 2, what="both forms")
    said = dict(Event.objects.values_list("name", "properties"))
    assert (said["answered"]["answer"], said["asked"]["a"]) == ("yes", "")


def test_a_double_click_is_one(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.dblclick("#click")
    page.evaluate("engage.flush()")
    assert kinds() == ["track_event"]


@pytest.mark.telling
def test_clicks_that_leave_the_page_are_all_recorded(context: BrowserContext, shop: Shop) -> None:
    page = context.new_page()
    page.goto(f"{shop.url}/leaving?n=20")
    wait_until(lambda: "/leaving?n=0" in shop.pages.asked, what="the last page")
    wait_until(lambda: Interaction.objects.count() >= 20, what="the clicks")
    page.goto(f"{shop.url}/")
    until(page, NOTHING_WAITS)
    assert kinds() == ["link"] * 20


def test_a_thousand_clicks_that_leave_the_pages_of_eight_tabs_are_a_thousand(
    context: BrowserContext, shop: Shop
) -> None:
    tabs = [context.new_page() for _ in range(8)]
    for tab in tabs:
        tab.goto(f"{shop.url}/leaving?n=125", wait_until="commit")
    wait_until(lambda: shop.pages.asked.count("/leaving?n=0") == 8, what="the last pages", seconds=300)
    wait_until(lambda: Interaction.objects.count() >= 1000, what="the clicks", seconds=120)
    until(tabs[0], NOTHING_WAITS)
    assert Interaction.objects.count() == 1000
    assert Customer.objects.count() == 1
    assert shop.proxy.methods["OPTIONS"] == 0


@pytest.mark.telling
def test_answers_that_are_lost_double_nothing(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.cuts_every = 3
    for number in range(12):
        page.evaluate(f"void message.track('t{number}')")
    until(page, "window.outcomes.filter(([what]) => what === 'sent').length === 12")
    assert names() == [f"t{n}" for n in range(12)]


@pytest.mark.parametrize("fails", [pytest.param(503, marks=pytest.mark.telling), 429, 0])
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
    wait_until(lambda: Interaction.objects.count() == 3, what="what waited")
    assert names() == ["a", "b", "c"]


def test_a_server_that_asks_to_wait_is_left_alone_for_so_long(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.fails, shop.proxy.retry_after = 429, "2"
    assert page.evaluate("message.track('a')")["status"] == "queued"
    refused = time.monotonic()
    shop.proxy.fails = None
    for name in ("b", "c"):
        assert page.evaluate(f"message.track('{name}')")["status"] == "queued"
    assert shop.proxy.methods["POST"] == 1
    wait_until(lambda: Interaction.objects.count() == 3, what="what waited")
    assert time.monotonic() - refused > 1.9
    assert names() == ["a", "b", "c"]


@pytest.mark.parametrize("is_date", [True, False])
def test_a_server_that_names_a_date_or_a_far_time_is_left_alone(
    context: BrowserContext, shop: Shop, is_date: bool
) -> None:
    """A timer of more than 24.8 days would end at once."""
    page = opened(context, shop)
    until(page, "navigator.locks.query().then(({ held }) => !held.length)")
    page.evaluate(
        "turns = 0; const locks = navigator.locks, request = locks.request.bind(locks);"
        "locks.request = (...given) => { turns += 1; return request(...given); }, undefined"
    )
    at = datetime.now(UTC) + timedelta(seconds=4)
    shop.proxy.fails, shop.proxy.retry_after = 503, format_datetime(at, usegmt=True) if is_date else "3000000"
    assert page.evaluate("message.track('a')")["status"] == "queued"
    shop.proxy.fails = None
    page.wait_for_timeout(1500)
    assert (shop.proxy.methods["POST"], page.evaluate("turns")) == (1, 1)
    if is_date:
        wait_until(lambda: names() == ["a"], what="what waited")
        assert datetime.now(UTC) > at.replace(microsecond=0)


def test_ten_minutes_offline_lose_nothing_and_tell_when_it_happened(context: BrowserContext, shop: Shop) -> None:
    """The page's own clock begins ten minutes ago, and is moved on; the proxy ends every connection meanwhile."""
    page = context.new_page()
    page.clock.install(time=datetime.now(UTC) - timedelta(minutes=10))
    page.goto(f"{shop.url}/")
    until(page, "window.ready")
    shop.proxy.fails = 0
    for minute in range(10):
        assert page.evaluate(f"message.track('m{minute}')")["status"] == "queued"
        page.clock.fast_forward(60_000)
    assert shop.proxy.methods["POST"] > 10
    assert not Interaction.objects.exists()
    shop.proxy.fails = None
    page.evaluate("dispatchEvent(new Event('online'))")
    until(page, "window.outcomes.filter(([what]) => what === 'sent').length === 10")
    assert names() == [f"m{minute}" for minute in range(10)]
    first, last = (Event.objects.get(name=name).occurred_at for name in ("m0", "m9"))
    assert 530 < (last - first).total_seconds() < 700


def test_long_texts_of_wide_letters_are_counted_as_they_are_sent(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.fails = 0
    for number in range(20):  # 20 times 6 KB
        page.evaluate(f"void message.track('t{number}', {{ text: '語'.repeat(2000) }})")
    assert page.evaluate("message.track('more', { text: '語'.repeat(20000) })") == {
        "status": "refused", "code": "too_large"
    }  # fmt: skip
    shop.proxy.fails = None
    page.goto(f"{shop.url}/elsewhere")
    opened(context, shop)
    wait_until(lambda: Interaction.objects.count() == 20, what="what waited")
    # What a page sends as it leaves does not wait for what it has just sent.
    assert sorted(names()) == sorted(f"t{number}" for number in range(20))


_FILL = """for (let size = 2 ** 22; size >= 1; size /= 2) {
  try { for (let n = 0; ; n++) localStorage[`full-${size}-${n}`] = "x".repeat(size); } catch {}
}"""


def test_what_local_storage_has_no_room_for_waits_beside_it(context: BrowserContext, shop: Shop) -> None:
    """Firefox says so for a moment, too, while several tabs write: no click is lost by it."""
    page = opened(context, shop)
    page.evaluate(_FILL)
    assert page.evaluate("message.track('at once')")["status"] == "sent"
    shop.proxy.fails = 0
    assert page.evaluate("message.track('later')")["status"] == "queued"
    page.goto(f"{shop.url}/elsewhere")
    shop.proxy.fails = None
    opened(context, shop)
    wait_until(lambda: names() == ["at once", "later"], what="what waited")


def test_tabs_send_what_waits_once(context: BrowserContext, shop: Shop) -> None:
    shop.proxy.fails = 0
    tabs = [opened(context, shop) for _ in range(8)]
    for number, tab in enumerate(tabs):
        tab.evaluate(f"void message.track('t{number}')")
    shop.proxy.fails = None
    for tab in tabs:
        tab.evaluate("void engage.flush()")
    wait_until(lambda: Interaction.objects.count() >= 8, what="the clicks of all tabs")
    until(tabs[0], NOTHING_WAITS)
    assert sorted(names()) == [f"t{number}" for number in range(8)]
    assert Customer.objects.count() == 1


def test_who_waits_for_what_another_tab_sends_is_told(context: BrowserContext, shop: Shop) -> None:
    page, other = opened(context, shop), opened(context, shop)
    other.evaluate(
        "(name) => new Promise((held) => navigator.locks.request("
        "name, () => new Promise((release) => { window.release = release; held(); })))",
        f"engage:{shop.app.id}:send",
    )
    page.evaluate("message.track('a').then(({ status }) => { window.told = status; }), undefined")
    other.evaluate("Object.keys(localStorage).forEach((n) => n.includes(':q:') && localStorage.removeItem(n))")
    until(page, NOTHING_WAITS)
    other.evaluate("release()")
    until(page, "window.told === 'sent'")


def test_what_waits_is_never_sent_as_somebody_else(context: BrowserContext, shop: Shop) -> None:
    page, other = opened(context, shop), opened(context, shop)
    shop.proxy.fails = 0
    assert page.evaluate("message.track('mine')")["status"] == "queued"
    before = page.evaluate(
        "JSON.parse(localStorage.getItem(Object.keys(localStorage).find((n) => n.endsWith(':me')))).userId"
    )
    page.evaluate("engage.reset()")
    shop.proxy.fails = None
    page.evaluate("message.track('theirs')")
    other.evaluate("message.track('theirs')")  # who they are holds for all tabs
    wait_until(lambda: Interaction.objects.count() == 3, what="the clicks")
    assert Event.objects.get(name="mine").customer.user_id == before
    (theirs,) = set(Event.objects.filter(name="theirs").values_list("customer__user_id", flat=True))
    assert theirs != before


def test_who_somebody_is_waits_for_what_was_done_on_the_page_before(
    acme: Workspace, context: BrowserContext, shop: Shop
) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    page = opened(context, shop)
    shop.proxy.fails = 0
    assert page.evaluate("message.track('before')")["status"] == "queued"
    page.goto(f"{shop.url}/")
    until(page, "window.ready")
    shop.proxy.fails = None
    page.evaluate("void engage.identify({ external_id: 'ada' })")
    wait_until(lambda: kinds() == ["track_event", "identify"], what="both in their order")
    assert Event.objects.get().customer == ada


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
    wait_until(lambda: sorted(kinds()) == ["identify", "track_event", "track_event"], what="all three")
    assert set(Event.objects.values_list("name", "customer_id")) == {("before", ada.id), ("after", ada.id)}
    assert Customer.objects.get() == ada


def test_where_nothing_may_be_stored_clicks_wait_in_memory(context: BrowserContext, shop: Shop) -> None:
    context.add_init_script(
        "for (const name of ['localStorage', 'indexedDB']) {"
        "  Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError'); } }); }"
    )
    page = opened(context, shop)
    shop.proxy.fails = 0
    for name in ("a", "b"):
        assert page.evaluate(f"message.track('{name}')")["status"] == "queued"
    shop.proxy.fails = None
    page.evaluate("void message.track('c')")
    wait_until(lambda: Interaction.objects.count() == 3, what="all three")
    assert names() == ["a", "b", "c"]
    assert Customer.objects.count() == 1


def test_who_opts_out_sends_nothing(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate("engage.optOut()")
    assert page.evaluate("message.track('seen')")["status"] == "refused"
    page.click("#click")
    assert shop.proxy.methods["POST"] == 0


def test_what_waits_is_not_sent_after_opting_out(context: BrowserContext, shop: Shop) -> None:
    """Nor what waits for a token, nor what is on the disk alone."""
    page = opened(context, shop)
    another = f"new Engage({{ app: '{shop.app.id}', host: '{shop.proxy.url}', token: () => window.ask() }})"
    page.evaluate("window.ask = () => new Promise((give) => Object.assign(window, { give, asked: true })), undefined")
    page.evaluate(f"window.other = {another}; other.on('refused', ({{ code }}) => {{ window.why = code; }}), undefined")
    page.evaluate("void other.message('sale').track('a')")
    until(page, "window.asked")
    page.evaluate("other.optOut(), give()")
    assert page.evaluate("window.why") == "opted_out"
    page.evaluate("engage.optOut(false)")
    shop.proxy.fails = 0
    assert page.evaluate("message.track('b')")["status"] == "queued"
    page.evaluate(f"Object.keys(localStorage).forEach((name) => delete localStorage[name]); {another}.optOut()")
    shop.proxy.fails = None
    asked = shop.proxy.methods["POST"]
    page.evaluate("engage.flush()")
    until(page, NOTHING_WAITS)
    assert shop.proxy.methods["POST"] == asked
    assert not Interaction.objects.exists()


def test_a_token_that_never_comes_holds_nobody_up_for_ever(context: BrowserContext, shop: Shop) -> None:
    page = context.new_page()
    page.clock.install()
    page.goto(f"{shop.url}/")
    until(page, "window.ready")
    options = f"{{ app: '{shop.app.id}', host: '{shop.proxy.url}', token: () => new Promise(() => {{}}) }}"
    page.evaluate(f"void new Engage({options}).message('sale').track('a')")
    page.evaluate("void message.track('b')")
    page.clock.fast_forward(10_001)
    wait_until(lambda: names() == ["a", "b"], what="both")


def test_what_leaves_with_the_page_is_not_sent_again_meanwhile(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate("void message.track('a'), void message.track('b'), dispatchEvent(new Event('pagehide'))")
    until(page, NOTHING_WAITS)
    assert (names(), shop.proxy.methods["POST"]) == (["a", "b"], 1)
    assert page.evaluate("window.outcomes.filter(([what]) => what === 'sent').length") == 2


def test_a_page_that_is_left_asks_no_sooner_than_it_was_told_to(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.fails, shop.proxy.retry_after = 429, "60"
    assert page.evaluate("message.track('a')")["status"] == "queued"
    page.goto(f"{shop.url}/elsewhere")
    assert shop.proxy.methods["POST"] == 1


def test_a_link_without_an_address_leads_nowhere(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    refused = {"status": "refused", "code": "link_not_allowed"}
    assert page.evaluate("Promise.all([message.open(null), message.open('data:,x')])") == [refused, refused]
    assert page.url == f"{shop.url}/"

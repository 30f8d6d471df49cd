"""What journeys deliver, in real browsers: shown soon, to the right person, and never again once it is over."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, expect

from customers.models import Customer
from engage.models import App, Workspace
from journeys.models import InAppDelivery
from tests.bridge.in_app.deliveries import CONTENT, CTA, deliver, events_of, offer
from tests.browsers.in_app import furnish, opened, state_of
from tests.browsers.pages import NOTHING_WAITS, Shop, until
from tests.support.factories import CustomerFactory
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

HOSTILE = "<img src=x onerror=\"document.title='bad'\"></p><script>document.title='bad'</script>\"'>"


@pytest.fixture
def app(acme: Workspace, shop: Shop) -> App:
    furnish(shop)
    return shop.app


@pytest.fixture
def hers(acme: Workspace, app: App) -> Customer:
    offer(acme)
    return CustomerFactory.create(workspace=acme, external_id="ada", attributes={"name": HOSTILE})


@pytest.mark.telling
def test_it_is_shown_acted_on_and_never_comes_back(context: BrowserContext, shop: Shop, hers: Customer) -> None:
    page = opened(context, shop)
    mine = deliver(hers, values={"coupon": HOSTILE})
    banner = page.locator("#slot section")
    banner.wait_for()
    assert banner.locator("h2").inner_text() == f"Hello {HOSTILE}"
    wait_until(lambda: state_of(mine) == "shown", what="shown")
    banner.get_by_role("button", name="Go").click()
    banner.wait_for(state="detached")
    wait_until(lambda: state_of(mine) == "acted", what="acted")
    until(page, NOTHING_WAITS)
    assert events_of(hers) == ["in_app.shown", "clicked", "in_app.acted"]
    page.reload()
    until(page, "typeof window.stopped === 'function'")
    other = deliver(hers)
    page.locator("#slot section").wait_for()
    assert page.locator("#slot section").count() == 1
    page.locator("#slot section [aria-label=Close]").click()
    wait_until(lambda: state_of(other) == "closed", what="closed")
    assert (page.title(), page.evaluate("window.violations"), shop.proxy.methods["OPTIONS"]) == ("In-app", [], 0)


def test_one_modal_at_a_time_takes_the_focus_and_gives_it_back(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    offer(acme, key="modal", content={**CONTENT, "kind": "modal"})
    offer(acme, key="own", content={"kind": "custom", "data": {"said": "{{ values.said }}"}})
    page = opened(context, shop)
    page.focus("#before")
    first, second = (deliver(hers, message_id="modal", priority=priority) for priority in (2, 1))
    custom = deliver(hers, message_id="own", values={"said": HOSTILE})
    page.locator("dialog").wait_for()
    assert page.locator("dialog").count() == 1
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement != null")
    page.keyboard.press("Escape")
    wait_until(lambda: state_of(first) == "closed", what="closed")
    wait_until(lambda: state_of(second) == "shown", what="the second")
    page.keyboard.press("Escape")
    wait_until(lambda: state_of(second) == "closed", what="closed as well")
    until(page, "document.activeElement.id === 'before'")
    assert page.locator("#own").inner_text() == HOSTILE
    InAppDelivery.objects.filter(id=custom.id).update(state="withdrawn", ended_at=timezone.now())
    page.locator("#own").wait_for(state="detached")
    assert (page.title(), page.evaluate("window.violations")) == ("In-app", [])


def test_whoever_comes_next_sees_nothing_of_who_was_there(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    CustomerFactory.create(workspace=acme, external_id="grace")
    deliver(hers)
    page, beside = opened(context, shop), opened(context, shop)
    page.bring_to_front()
    page.locator("#slot section").wait_for()
    page.evaluate("engage.reset()")
    page.locator("#slot section").wait_for(state="detached")
    page.evaluate("void engage.identify({ external_id: 'grace' })")
    page.wait_for_timeout(2500)
    assert page.locator("#slot section").count() == 0
    beside.bring_to_front()
    beside.locator("#slot section").wait_for(state="detached")
    assert page.evaluate("window.lists.at(-1)") == 0


def test_what_was_closed_while_offline_is_not_shown_again(context: BrowserContext, shop: Shop, hers: Customer) -> None:
    mine = deliver(hers)
    page = opened(context, shop)
    page.locator("#slot section").wait_for()
    shop.proxy.fails = 503
    page.locator("#slot section [aria-label=Close]").click()
    page.locator("#slot section").wait_for(state="detached")
    page.reload()
    until(page, "typeof window.stopped === 'function'")
    page.wait_for_timeout(1500)
    assert page.locator("#slot section").count() == 0
    shop.proxy.fails = None
    wait_until(lambda: state_of(mine) == "closed", what="closed")
    assert page.locator("#slot section").count() == 0


def test_who_opts_out_is_shown_nothing_until_they_opt_in(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    offer(acme, key="modal", content={**CONTENT, "kind": "modal"})
    deliver(hers)
    deliver(hers, message_id="modal")
    page = opened(context, shop)
    page.locator("#slot dialog").wait_for()
    page.locator("#slot section").wait_for()
    page.evaluate("engage.optOut()")
    page.locator("#slot :is(section, dialog)").first.wait_for(state="detached", timeout=5000)
    page.wait_for_timeout(1500)
    assert page.evaluate("lists.at(-1)") == 0
    page.evaluate("engage.optOut(false)")
    page.locator("#slot dialog").wait_for()
    page.locator("#slot section").wait_for()


def ask(workspace: Workspace, **fields: Any) -> None:
    """A card with a form, whose fields are these rules by name; every field becomes an attribute."""
    content = {"kind": "card", "form": "asked"}
    offer(workspace, key="ask", content=content, forms=[{"id": "asked", "fields": fields}])


def test_a_form_that_is_refused_is_shown_again(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    ask(acme, code={"type": "string", "pattern": "(?i)[a-z]+"})  # which no browser holds it to
    mine = deliver(hers, message_id="ask")
    page = opened(context, shop)
    for times in (1, 2):
        page.locator("#slot input").fill("12")
        page.locator("#slot input").press("Enter")
        until(page, f"outcomes.filter(([, told]) => told.status === 422).length === {times}")
        expect(page.locator("#slot input")).to_have_value("")
    page.reload()
    page.locator("#slot input").fill("Ab")
    page.locator("#slot input").press("Enter")
    wait_until(lambda: state_of(mine) == "acted", what="acted")
    assert page.locator("#slot section").count() == 0


def test_a_page_that_acts_by_itself_and_is_refused_does_so_no_faster_than_it_asks(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    action = {**CTA, "properties": {"n": {"type": "number", "required": True}}}
    offer(acme, key="unmet", actions=[action], content=CONTENT)
    deliver(hers, message_id="unmet")
    page = opened(context, shop, "?presses")
    page.wait_for_timeout(4000)
    assert 2 <= page.evaluate("outcomes.filter(([what]) => what === 'refused').length") <= 8


def test_questions_are_drawn_in_their_order_as_they_say(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    good = [{"value": 5, "label": "Very good"}, {"value": 1, "label": "Bad"}]
    ask(
        acme,
        how_was_your_stay={"type": "number", "label": "How was it?", "options": good},
        more={"type": "string", "label": "Why?", "placeholder": "Say more", "multiline": True},
        any={"type": "boolean"},
    )
    mine = deliver(hers, message_id="ask")
    page = opened(context, shop)
    expect(page.locator("#slot label")).to_contain_text(["How was it?", "Why?", "any"])
    page.get_by_label("How was it?").select_option("Very good")
    page.get_by_placeholder("Say more").fill("The\nsea")
    page.get_by_role("button", name="Send").click()
    wait_until(lambda: state_of(mine) == "acted", what="acted")
    hers.refresh_from_db()
    assert {"how_was_your_stay": 5, "more": "The\nsea"}.items() <= hers.attributes.items()


def test_a_choice_that_nobody_makes_is_none(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    plans = {"type": "string", "values": ["free", "pro"]}
    ask(acme, plan=plans, next={**plans, "required": True}, all={**plans, "many": True})
    mine = deliver(hers, message_id="ask")
    page = opened(context, shop)
    page.get_by_role("button", name="Send").click()
    assert page.locator("#slot select:invalid").get_attribute("name") == "next"
    page.locator("#slot select[name=next]").select_option("pro")
    page.wait_for_timeout(500)  # or it would be the same click
    page.get_by_role("button", name="Send").click()
    wait_until(lambda: state_of(mine) == "acted", what="acted")
    hers.refresh_from_db()
    assert hers.attributes == {"name": HOSTILE, "next": "pro"}


def test_a_form_is_drawn_with_its_bounds_and_a_box_left_alone_is_a_no(
    context: BrowserContext, shop: Shop, acme: Workspace, hers: Customer
) -> None:
    text, box = {"type": "string"}, {"type": "boolean"}
    ask(
        acme, n={"type": "number", "max": 10}, zip={**text, "max": 5, "pattern": "[0-9]+"},
        any={**text, "pattern": "[[:alpha:]]+"}, terms={**box, "required": True}, news=box,
    )  # fmt: skip
    mine = deliver(hers, message_id="ask")
    page = opened(context, shop)
    fields = {name: page.locator(f"#slot input[name={name}]") for name in ("n", "zip", "any", "terms", "news")}
    assert {name: field.evaluate("field => field.type") for name, field in fields.items()} == {
        "n": "number", "zip": "text", "any": "text", "terms": "checkbox", "news": "checkbox",
    }  # fmt: skip
    for name, wrong, right in (("n", "11", "2.5"), ("zip", "a", "1"), ("any", "", "a")):
        for said in (wrong, right):
            fields[name].fill(said)
            assert fields[name].evaluate("field => field.checkValidity()") == (said in {right, ""})
    assert fields["zip"].get_attribute("maxlength") == "5"
    page.get_by_role("button", name="Send").click()
    wait_until(lambda: state_of(mine) == "acted", what="acted")
    hers.refresh_from_db()
    assert hers.attributes == {"name": HOSTILE, "n": 2.5, "zip": "1", "any": "a", "terms": False}


# The page's lists go by `token`, and those in `expired` are refused.
_EXPIRING = """
Object.assign(window, { token: "a.b.old", expired: [], sent: [] });
const asked = window.fetch;
window.fetch = (url, given) => {
  if (!String(url).includes("/sdk/messages")) return asked(url, given);
  const { identityToken } = JSON.parse(given.body), isOver = expired.includes(identityToken);
  sent.push(identityToken);
  const refusal = () => Promise.resolve(Response.json({ code: "identity_token_expired" }, { status: 401 }));
  return isOver ? refusal() : asked(url, given);
};
"""


def test_a_token_that_has_expired_takes_nothing_away_and_is_asked_for_once_more(
    context: BrowserContext, shop: Shop, hers: Customer
) -> None:
    kind, script = shop.pages.files["/page.js"]
    script = script.replace("retry:", "token: () => window.token, retry:") + _EXPIRING
    shop.pages.files["/page.js"] = (kind, script)
    deliver(hers)
    page = opened(context, shop)
    until(page, f"lists.length && {NOTHING_WAITS}")
    page.evaluate("sent.length = 0")
    until(page, "sent.length > 3")
    page.evaluate("token = 'a.b.new', expired.push('a.b.old'), sent.length = 0")
    until(page, "sent.length > 5")
    assert page.evaluate("[lists, sent.filter((one) => one === 'a.b.old').length]") == [[1], 2], "once by each list"
    page.evaluate("expired.push('a.b.new')")
    page.locator("#slot section").wait_for(state="detached")
    until(page, "lists.length === 2")
    page.evaluate("sent.length = 0")
    page.wait_for_timeout(2500)
    assert 0 < page.evaluate("sent.length") <= 2 * 2 * 3, "twice for each list and second"


def test_a_clock_that_is_ahead_hides_nothing(context: BrowserContext, shop: Shop, hers: Customer) -> None:
    deliver(hers, expires_at=timezone.now() + timedelta(minutes=5))
    context.add_init_script("const now = Date.now; Date.now = () => now() + 6e5;")
    page = opened(context, shop)
    page.locator("#slot section").wait_for()

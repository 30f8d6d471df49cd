"""What a frame may do in a page that has it: what is declared, and nothing else, however hostile it is."""

import json

import pytest
from playwright.sync_api import BrowserContext, Page

from bridge.models import Interaction
from customers.models import Customer
from tests.browsers.pages import Shop, names, opened, until
from tests.browsers.proxy import Pages, serving
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

_HOSTILE = '<!doctype html><button id="act">Act</button><script src="/hostile.js"></script>'
_HOSTILE_SCRIPT = """const answers = [];
let port;
addEventListener("message", ({ data, ports }) => { if (data === "engage:port") {
  [port] = ports;
  port.onmessage = ({ data }) => { answers.push(data[1]); parent.postMessage({ answers }, "*"); };
  CALLS.forEach((call, n) => port.postMessage(call instanceof Array ? [n + 1, ...call] : call));
} else if (data === "again") { focus(); port.postMessage([98, "open", "/stolen", { newTab: false }]); } });
parent.postMessage("engage:frame", "*");
document.getElementById("act").onclick = () => port.postMessage([99, "open", "/stolen", { newTab: false }]);
"""
_CALLS: list[object] = [
    ["open", "/stolen", {"newTab": False}], ["_clicked", {"engageAction": "link"}, "/stolen", None],
    ["update", {"vip": True}], ["update", {"plan": "pro", "vip": True}], ["track", "forged"],
    ["_clicked", {"engageAction": "update_profile", "engageProperties": '{"vip": 1}'}], ["_clicked"], ["_sent", {}],
    ["capture", {"vip": "1"}], ["capture", {"vip": "1"}, {"type": "both", "eventName": "asked"}],
    ["capture", {"x": "1"}, {"type": "update_profile", "profileAttributes": {"vip": "x"}}],
    ["capture", {"vip": "1"}, {"type": "track_event", "eventName": "forged"}],
    ["track", "asked", [1]], ["track", "asked", {}, None, {"id": 1}], ["track", ["asked"]], ["close", {}],
    ["constructor"], ["attach", None], ["frame", None], ["no action"], [], "text", 7, None, {"a": 1},
]  # fmt: skip


def hostile(calls: list[object]) -> dict[str, tuple[str, str]]:
    script = _HOSTILE_SCRIPT.replace("CALLS", json.dumps(calls))
    return {"/hostile": ("text/html", _HOSTILE), "/hostile.js": ("text/javascript", script)}


def framed_anew(page: Page, declared: str = "{}") -> None:
    """A fresh sandboxed frame of the page's; `heard` is what it says it was answered."""
    page.evaluate(
        "window.heard = []; addEventListener('message', ({ data }) => { if (data.answers) heard = data.answers; });"
        "const made = Object.assign(document.createElement('iframe'),"
        "  { id: 'hostile', sandbox: 'allow-scripts allow-forms', src: '/hostile' });"
        f"document.body.append(made); message.frame(made, {declared}), undefined"
    )


@pytest.mark.telling
def test_a_frame_may_do_what_is_declared_and_nothing_else(context: BrowserContext, shop: Shop) -> None:
    fine: list[object] = [["track", "asked"], ["update", {"plan": "pro"}], ["close"], ["capture", {"plan": "x"}]]
    shop.pages.files |= hostile([*_CALLS, *fine])
    page = opened(context, shop)
    framed_anew(page, "{ events: ['asked'], attributes: ['plan'] }")
    wait_until(lambda: Interaction.objects.count() == 4, what="what is declared")
    assert names() == ["asked"]
    assert Customer.objects.get().attributes == {"plan": "x"}
    assert page.url == f"{shop.url}/"
    assert len(context.pages) == 1
    heard = page.evaluate("heard")
    assert {answer["code"] for answer in heard if answer["status"] == "refused"} == {
        "not_declared",
        "link_without_click",
    }


def test_a_frames_links_open_new_tabs_after_an_act_in_it(context: BrowserContext, shop: Shop) -> None:
    shop.pages.files |= hostile([])
    page = opened(context, shop)
    framed_anew(page)
    with context.expect_page() as opening:
        page.frame_locator("#hostile").locator("#act").click()
    opening.value.wait_for_url("**/stolen")
    assert page.url == f"{shop.url}/"
    until(page, "heard.length === 1")
    page.evaluate("hostile.focus(), addEventListener('mousedown', (event) => event.preventDefault())")
    for number, act in enumerate(("click", "key"), 2):  # on the page is none in the frame
        page.evaluate("document.activeElement.blur()")
        if act == "click":
            page.click("#click")
        else:
            page.keyboard.press("Shift")
        page.evaluate("heard = [], hostile.contentWindow.postMessage('again', '*')")
        until(page, f"heard.length === {number}")
        assert page.evaluate("heard.at(-1).code") == "link_without_click"
    assert len(context.pages) == 2


@pytest.mark.parametrize(
    "quiet",
    [
        "<a id='lead' href='EVIL'>L</a>",
        "<meta http-equiv='refresh' content='0;url=EVIL'>",
        "<script>onload = () => setTimeout(() => { location = 'EVIL'; }, 200)</script>",
    ],
)
@pytest.mark.parametrize("known", ["before", "after"])
def test_where_a_message_that_has_not_asked_leads_to_gets_no_channel(
    context: BrowserContext, shop: Shop, quiet: str, known: str
) -> None:
    evil = Pages()
    evil.files = hostile([["close"], ["track", "asked"]])
    with serving(evil):
        html = f"<!doctype html>{quiet}".replace("EVIL", f"{evil.url}/hostile")
        shop.pages.files["/quiet"] = ("text/html", html)
        shop.pages.policy = shop.pages.policy.replace("frame-src", f"frame-src {evil.url}").replace(
            "script-src", "script-src 'unsafe-inline'"
        )
        page = opened(context, shop)
        page.evaluate(
            "window.heard = []; addEventListener('message', ({ data }) => { if (data.answers) heard = data.answers; })"
        )
        frame = "message.frame(made, { events: ['asked'] })"
        put = "document.body.append(made), made.onload = () => { made.onload = null; %s }" % (
            frame if known == "after" else ""
        )
        page.evaluate(
            "const made = Object.assign(document.createElement('iframe'),"
            "  { id: 'hostile', sandbox: 'allow-scripts', src: '/quiet' });"
            f"{'' if known == 'after' else frame}; {put}, undefined"
        )
        if "lead" in quiet:
            page.frame_locator("#hostile").locator("#lead").click()
        page.frame_locator("#hostile").locator("#act").wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("heard") == []
        page.close()
    assert not Interaction.objects.exists()


def test_a_site_that_a_frame_is_led_to_gets_no_channel(context: BrowserContext, shop: Shop) -> None:
    evil = Pages()
    evil.files = hostile([["close"], ["track", "asked"]])
    with serving(evil):
        led = f'<a id="lead" href="{evil.url}/hostile">L</a><script type="module" src="/frame.js"></script>'
        shop.pages.files["/hostile"] = ("text/html", f"<!doctype html>{led}")
        shop.pages.policy = shop.pages.policy.replace("frame-src", f"frame-src {evil.url}")
        page = opened(context, shop)
        framed_anew(page, "{ events: ['asked'] }")
        frame = page.frame_locator("#hostile")
        frame.locator("#lead").click()
        frame.locator("#act").wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("heard") == []
        page.evaluate("hostile.src = '/framed', undefined")  # what the page itself sets is its own document once more
        frame.locator("#ask").click()
        wait_until(lambda: names() == ["asked"], what="the form in the page's own document")
        page.evaluate("hostile.removeAttribute('sandbox'), undefined")  # where it has an origin, that counts as well
        page.evaluate("hostile.src = '/led', heard = [], undefined")
        page.wait_for_timeout(300)
        page.evaluate(f"message.frame(hostile), hostile.contentWindow.location = '{evil.url}/hostile', undefined")
        frame.locator("#act").wait_for()
        page.wait_for_timeout(300)
        assert page.evaluate("heard") == []


def test_a_frame_cannot_push_out_what_waits(context: BrowserContext, shop: Shop) -> None:
    shop.pages.files |= hostile([["close"]] * 150)
    page = opened(context, shop)
    shop.proxy.fails = 0
    assert page.evaluate("message.track('mine')")["status"] == "queued"
    framed_anew(page)
    until(page, "heard.length === 150")
    assert page.evaluate("heard.filter(({ code }) => code === 'too_many_calls').length") == 50
    shop.proxy.fails = None
    wait_until(lambda: Interaction.objects.count() == 101, what="what waited")
    assert names() == ["mine"]

"""A page of another origin with messages, and what stands between it and the service."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import BrowserContext, Page

from bridge.browser.files import content_of
from bridge.models import Interaction
from customers.models import Event
from engage.models import App
from tests.browsers.proxy import Pages, Proxy, serving
from tests.support.waiting import wait_until

NOTHING_WAITS = "!Object.keys(localStorage).some((name) => name.includes(':q:'))"
_PAGE = """<!doctype html><title>Shop</title><script type="module" src="/page.js"></script>
<div id="message">
  <button id="click" data-engage-action="track_event" data-engage-event="clicked"
    data-engage-properties='{"n": 1}'>C</button>
  <button id="plan" data-engage-action="update_profile" data-engage-properties='{"plan": "pro"}'>P</button>
  <button id="close" data-engage-action="close">X</button>
  <a id="away" data-engage-action="link" href="/away">A</a>
  <a id="bad" data-engage-action="link" href="javascript:document.title='bad'">B</a>
  <button id="broken" data-engage-action="track_event" data-engage-properties="{">?</button>
  <form id="form" data-engage-capture="both" data-engage-event="answered">
    <input name="city" value="Ulm">
    <input type="checkbox" name="likes" value="a" checked><input type="checkbox" name="likes" value="b">
    <input type="checkbox" name="terms" value="yes" checked>
    <select name="days" multiple><option selected>mon</option><option>tue</option></select>
    <button id="send">Send</button>
  </form>
</div>
<iframe id="framed" sandbox="allow-scripts allow-forms" src="/framed"></iframe>"""
_FRAMED = """<!doctype html><script type="module" src="/frame.js"></script>
<button id="inside" data-engage-action="track_event" data-engage-event="framed">F</button>
<form data-engage-capture="track_event" data-engage-event="asked">
  <input type="checkbox" name="likes" value="a" checked><input type="checkbox" name="likes" value="b">
  <select name="days" multiple><option selected>mon</option><option>tue</option></select>
  <input name="city" value="Ulm"><button id="ask">Ask</button>
</form>"""
_SCRIPT = """import { Engage } from "/engage.js";
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
const engage = new Engage({ app: "%(app)s", host: "%(host)s", retry: { first: 50, most: 400 } });
window.outcomes = [];
for (const what of ["sent", "queued", "refused", "close"]) {
  engage.on(what, (told) => window.outcomes.push([what, told]));
}
const message = engage.message("sale");
const element = document.getElementById("message");
if (element) {
  message.attach(element);
  message.frame(document.getElementById("framed"), { events: ["framed", "asked"] });
}
Object.assign(window, { Engage, engage, message, ready: true });
"""
# It leaves by a click, again and again: ?n= tells how often it still has to. It pauses while 150 calls wait.
_LEAVING = """<!doctype html><title>Leaving</title><script type="module" src="/leaving.js"></script>
<div id="message"><a id="away" data-engage-action="link">A</a></div><iframe id="framed"></iframe>"""
_LEAVE = """import "/page.js";
const left = Number(new URLSearchParams(location.search).get("n"));
const away = document.getElementById("away");
const leave = () => {
  if (Object.keys(localStorage).length > 150) setTimeout(leave, 20);
  else if (left) { away.href = `/leaving?n=${left - 1}`; away.click(); } else document.title = "Left";
};
leave();
"""
# It clicks once, as soon as a person could, says so, and once more when that is on the disk, as what follows it there.
_CLICKING = '<!doctype html><title>Clicking</title><script type="module" src="/clicking.js"></script>'
_CLICK = """import "/page.js";
const name = new URLSearchParams(location.search).get("name");
const written = () => fetch(`/written?${name}`);
const follow = (disk) => { disk.transaction("kept", "readwrite").objectStore("kept").count().onsuccess = written; };
if (name) setTimeout(() => {
  message.track(name);
  fetch(`/clicked?${name}`);
  indexedDB.open("engage").onsuccess = ({ target }) => follow(target.result);
}, 300);
"""


@dataclass(frozen=True, kw_only=True)
class Shop:
    """The pages, their app, and the proxy through which they reach the service."""

    app: App
    pages: Pages
    proxy: Proxy

    @property
    def url(self) -> str:
        return self.pages.url


@contextmanager
def opened_shop(*, app: App, service: str) -> Iterator[Shop]:
    proxy, pages = Proxy(service), Pages()
    with serving(proxy), serving(pages):
        pages.files = {
            "/": ("text/html", _PAGE),
            "/framed": ("text/html", _FRAMED),
            "/leaving": ("text/html", _LEAVING),
            "/clicking": ("text/html", _CLICKING),
            "/page.js": ("text/javascript", _SCRIPT % {"app": app.id, "host": proxy.url}),
            "/leaving.js": ("text/javascript", _LEAVE),
            "/clicking.js": ("text/javascript", _CLICK),
            "/engage.js": ("text/javascript", content_of("engage.js").decode()),
            "/frame.js": ("text/javascript", content_of("frame.js").decode()),
        }
        pages.policy = (
            f"default-src 'none'; script-src 'self' {pages.url}; connect-src 'self' {proxy.url}; "
            f"frame-src {pages.url}; require-trusted-types-for 'script'"
        )
        yield Shop(app=app, pages=pages, proxy=proxy)


def until(page: Page, holds: str, *, seconds: float = 60) -> None:
    """Waits until the expression holds in the page, whose policy forbids Playwright's own way."""
    wait_until(lambda: bool(page.evaluate(holds)), what=holds, seconds=seconds)


def opened(context: BrowserContext, shop: Shop) -> Page:
    page = context.new_page()
    page.goto(f"{shop.url}/")
    until(page, "window.ready")
    return page


def kinds() -> list[str]:
    """Those of the interactions, in the order in which they were recorded."""
    return list(Interaction.objects.order_by("created_at").values_list("kind", flat=True))


def names() -> list[str]:
    """Those of the events, in the order in which they were recorded."""
    return list(Event.objects.order_by("serial").values_list("name", flat=True))

"""Real browsers on real pages, which talk to the service as it runs: `make browsers`.

The rest of the suite leaves them out, and says so: beside it, a browser gets too little of the processors.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

from bridge.browser.files import FOLDER
from bridge.models import Interaction
from engage.models import App, Workspace
from tests.browsers.proxy import Pages, Proxy, serving
from tests.support.factories import AppFactory
from tests.support.processes import web

PROGRAMS = {"chromium": "chromium", "firefox": "firefox-esr"}
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
    <input type="checkbox" name="likes" value="a" checked><input type="checkbox" name="likes" value="b" checked>
    <select name="days" multiple><option selected>mon</option><option>tue</option></select>
    <button id="send">Send</button>
  </form>
</div>
<iframe id="framed" sandbox="allow-scripts allow-forms" src="/framed"></iframe>"""
_FRAMED = """<!doctype html><script type="module" src="/frame.js"></script>
<button id="inside" data-engage-action="track_event" data-engage-event="framed">F</button>"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("BROWSERS") != "required":
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="left to `make browsers`"))


def program(name: str) -> str:
    found = shutil.which(PROGRAMS[name])
    assert found, f"{PROGRAMS[name]} is not installed."
    return found


def launched(playwright: Playwright, name: str) -> Browser:
    if name == "firefox":  # Debian's own, by WebDriver BiDi
        return playwright.firefox.launch(channel="moz-firefox", executable_path=program(name))
    return playwright.chromium.launch(executable_path=program(name), args=["--no-sandbox"])


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A page of another origin with a message, and what stands between it and the service."""

    app: App
    pages: Pages
    proxy: Proxy

    @property
    def url(self) -> str:
        return self.pages.url

    def interactions(self) -> int:
        return Interaction.objects.count()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright has a loop of its own in this thread
        with sync_playwright() as running:
            yield running


@pytest.fixture(scope="session", params=list(PROGRAMS))
def browser(playwright: Playwright, request: pytest.FixtureRequest) -> Iterator[Browser]:
    running = launched(playwright, request.param)
    yield running
    running.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    fresh = browser.new_context()
    fresh.set_default_timeout(20_000)
    yield fresh
    fresh.close()


@pytest.fixture
def shop(acme: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("BRIDGE_RATE_LIMIT", "100000/m")
    app = AppFactory.create(workspace=acme)
    with web(log=tmp_path / "web.log") as address:
        proxy, pages = Proxy(address), Pages()
        with serving(proxy), serving(pages):
            script = f"""import {{ Engage }} from "/engage.js";
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
const engage = new Engage({{ app: "{app.id}", host: "{proxy.url}", retry: {{ first: 50, most: 400 }} }});
window.outcomes = [];
for (const what of ["sent", "queued", "refused", "close"]) {{
  engage.on(what, (told) => window.outcomes.push([what, told]));
}}
const message = engage.message("sale").attach(document.getElementById("message"));
message.frame(document.getElementById("framed"));
Object.assign(window, {{ engage, message, ready: true }});"""
            pages.files = {
                "/": ("text/html", _PAGE),
                "/framed": ("text/html", _FRAMED),
                "/page.js": ("text/javascript", script),
                "/engage.js": ("text/javascript", (FOLDER / "engage.js").read_text()),
                "/frame.js": ("text/javascript", (FOLDER / "frame.js").read_text()),
            }
            pages.policy = (
                f"default-src 'none'; script-src 'self' {pages.url}; connect-src {proxy.url}; frame-src {pages.url}; "
                "require-trusted-types-for 'script'"
            )
            yield Shop(app=app, pages=pages, proxy=proxy)

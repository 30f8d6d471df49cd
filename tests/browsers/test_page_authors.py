"""What pages do with the SDK: mount twice, name fields as they like, lose their tokens."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from bridge.browser.building import TOOLS
from bridge.browser.files import PACKAGE, content_of
from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import App, IdentityKey
from tests.bridge.identity.tokens import SECRET, token
from tests.browsers.pages import NOTHING_WAITS, Shop, kinds, names, opened, until
from tests.support.node import run
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

# One message per element -------------------------------------------------------------------------------------------


def settled(page: Page) -> list[str]:
    """The events, once all that was done has arrived."""
    page.evaluate("engage.flush()")
    until(page, NOTHING_WAITS)
    return sorted(names())


def test_an_element_has_one_message_and_gives_it_back(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate(
        "window.button = (id) => { const slot = document.createElement('div');"
        "  const made = document.createElement('button');"
        "  Object.assign(made.dataset, { engageAction: 'track_event', engageEvent: id });"
        "  slot.append(made); document.body.append(slot); return slot; }, undefined"
    )
    page.evaluate("slot = button('thrice'); for (const n of [1, 2, 3]) engage.message('m' + n).attach(slot);"
                  "slot.firstChild.click()")  # fmt: skip
    page.evaluate("slot = button('back'); back = message.attach(slot); engage.message('other').attach(slot); back();"
                  "slot.firstChild.click()")  # fmt: skip
    page.evaluate("slot = button('gone'); message.attach(slot)(); slot.firstChild.click()")
    page.evaluate("slot = button('inner'); outer = document.createElement('div'); document.body.append(outer);"
                  "outer.append(slot); message.attach(outer); engage.message('inside').attach(slot);"
                  "slot.firstChild.click()")  # fmt: skip
    page.evaluate("slot = button('guarded'); message.attach(slot); slot.firstChild.click();"
                  "engage.message('other').attach(slot); slot.firstChild.click()")  # fmt: skip
    page.evaluate("told = []; off = engage.on('close', () => told.push(1)); message.close(); off(); message.close();"
                  "message.attach(null)()")  # fmt: skip
    assert settled(page) == ["back", "guarded", "inner", "thrice"]
    assert page.evaluate("told") == [1]
    by_message = {one.event.name: one.message_id for one in Interaction.objects.exclude(event=None) if one.event}
    assert by_message == {"back": "other", "guarded": "sale", "inner": "inside", "thrice": "m3"}


_TWICE = """<!doctype html><div id="twice">
<button data-engage-action="track_event" data-engage-event="c">C</button>
<form data-engage-capture="track_event" data-engage-event="f"><input type="submit"></form></div>"""


def test_a_page_that_has_the_tag_twice_reports_a_click_once(context: BrowserContext, shop: Shop) -> None:
    """As where a tag manager adds what the page has already."""
    attach = f"""new Engage({{ app: "{shop.app.id}", host: "{shop.proxy.url}" }}).message("sale").attach(twice);"""
    tags = '<script src="/global.js"></script><script src="/attach.js"></script>'
    shop.pages.files |= {
        "/global.js": ("text/javascript", content_of("engage.global.js").decode()),
        "/attach.js": ("text/javascript", attach),
        "/twice": ("text/html", _TWICE + tags + tags),
    }
    page = context.new_page()
    page.goto(f"{shop.url}/twice")
    page.click("button")
    page.click("input")
    until(page, NOTHING_WAITS)
    assert names() == ["c", "f"]


_APP = """
import { StrictMode, createElement as el, useEffect, useReducer, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Engage } from "@engage/sdk";
import { useMessage } from "@engage/sdk/react";

const engage = new Engage({ app: "%(app)s", host: "%(host)s" });
const button = (event) => el("button", { id: event, "data-engage-action": "track_event", "data-engage-event": event });
function Hook() {
  const [renders, again] = useReducer((n) => n + 1, 0);
  const [closed, close] = useState("");
  const [ref, message] = useMessage(engage, "hooked", { onClose: () => close("closed") });
  const [frame] = useMessage(engage, "framed", { events: ["framed", "asked"] });
  window.again = again;
  window.close_it = () => message.close();
  return el("div", null, el("p", { id: "state" }, `${renders}${closed}`), el("div", { ref }, button("hook")),
    el("iframe", { ref: frame, id: "framed", sandbox: "allow-scripts allow-forms", src: "/framed" }));
}
function ByHand() {
  const ref = useRef(null);
  const [, again] = useReducer((n) => n + 1, 0);
  window.onceMore = again;
  useEffect(() => { engage.message("by-hand").attach(ref.current); });
  return el("div", { ref }, button("hand"));
}
createRoot(document.getElementById("root")).render(el(StrictMode, null, el(Hook), el(ByHand)));
window.engage = engage;
"""


@pytest.fixture
def installed(service: str, tmp_path: Path, sdk_tools: None) -> Path:
    """A project in which npm has installed the package that the service serves."""
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    run("npm", "install", "--no-audit", "--no-fund", f"{service}/sdk/v1/{PACKAGE}", cwd=tmp_path)
    for name in ("react", "react-dom", "scheduler", "@types"):
        (tmp_path / "node_modules" / name).symlink_to(TOOLS / "node_modules" / name)
    return tmp_path


@pytest.mark.telling
@pytest.mark.parametrize("mode", ["development", "production"])
def test_a_component_that_mounts_twice_and_renders_often_reports_a_click_once(
    context: BrowserContext, shop: Shop, installed: Path, mode: str
) -> None:
    (installed / "app.js").write_text(_APP % {"app": shop.app.id, "host": shop.proxy.url})
    minified = ["--minify"] if mode == "production" else []
    bundled = run(
        "esbuild", "app.js", "--bundle", f'--define:process.env.NODE_ENV="{mode}"', *minified,
        "--preserve-symlinks", cwd=installed,
    )  # fmt: skip
    shop.pages.files["/app.js"] = ("text/javascript", bundled.decode())
    shop.pages.files["/react"] = ("text/html", '<!doctype html><div id="root"></div><script src="/app.js"></script>')
    page = context.new_page()
    page.goto(f"{shop.url}/react")
    page.locator("#hand").wait_for(state="attached")
    for _ in range(3):
        page.evaluate("again(), onceMore()")
    until(page, "document.getElementById('state').textContent === '3'")
    for event in ("hook", "hand"):
        page.locator(f"#{event}").evaluate("(button) => button.click()")
    page.frame_locator("#framed").locator("#inside").click()
    wait_until(lambda: len(names()) >= 3, what="the clicks")
    assert settled(page) == ["framed", "hand", "hook"]
    page.evaluate("void close_it()")
    until(page, "document.getElementById('state').textContent === '3closed'")


# Without a browser, and closed -------------------------------------------------------------------------------------

_ON_A_SERVER = """
globalThis.localStorage ??= {};
const before = JSON.stringify(globalThis.localStorage);
globalThis.fetch = () => { throw new Error("asked"); };
const { Engage, valuesOf } = await import("@engage/sdk");
await import("@engage/sdk/frame");
const engage = new Engage({ app: "a", host: "https://engage.example", token: () => { throw new Error("asked"); } });
const message = engage.message("m"), off = engage.on("sent", () => {});
const given = await Promise.all([
  engage.identify({ external_id: "ada" }), message.track("t"), message.update({}), message.capture({}),
  message.close(), message.open("https://shop.example/"),
]);
message.attach(null)(); message.frame(null)(); off(); engage.reset(); engage.optOut();
await engage.flush();
engage.close();
if (JSON.stringify(globalThis.localStorage) !== before) throw new Error("kept something");
console.log(JSON.stringify([...new Set(given.map(({ status, code }) => `${status} ${code}`))]));
"""


def test_on_a_server_it_constructs_keeps_nothing_and_refuses(installed: Path) -> None:
    (installed / "server.js").write_text(_ON_A_SERVER)
    assert json.loads(run("node", "server.js", cwd=installed)) == ["refused no_browser"]


_TYPED = """
import { Engage, type Outcome } from "@engage/sdk";
import { message as framed } from "@engage/sdk/frame";
import { useMessage } from "@engage/sdk/react";
import type {} from "@engage/sdk/global";

const engage: Engage = new globalThis.Engage({ app: "a", host: "b", token: async () => null });
const off: () => void = engage.on("refused", ({ code, status }) => { code.trim(); status?.toFixed(); });
engage.on("sent", ({ data }) => { data?.eventId?.trim(); data?.added?.join(); });
engage.on("close", ({ messageId }) => messageId.trim());
// @ts-expect-error: there is no such thing
engage.on("seen", () => {});
const outcome: Outcome = await framed.capture({ n: 1 });
if (outcome.status === "refused") outcome.code.trim();
else if (outcome.status !== "queued") outcome.data?.attributes?.join();
const [ref, message] = useMessage<HTMLDivElement>(engage, "m", { onClose: off });
ref(null);
message.frame(null, { events: ["a"] })();
"""


@pytest.mark.parametrize("resolution", [["node16", "node16"], ["esnext", "bundler"]])
def test_everything_has_types(installed: Path, resolution: list[str]) -> None:
    module, way = resolution
    (installed / "typed.ts").write_text(_TYPED)
    run(
        "tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom",
            "--module", module, "--moduleResolution", way, "typed.ts", cwd=installed,
    )  # fmt: skip


def test_one_that_is_closed_listens_and_sends_no_more_and_what_waits_stays(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    shop.proxy.fails = 0
    assert page.evaluate("message.track('waits')")["status"] == "queued"
    page.evaluate("engage.close()")
    page.wait_for_timeout(600)  # Firefox itself asks once more where a connection that it had kept was closed
    asked = shop.proxy.methods["POST"]
    shop.proxy.fails = None
    assert page.evaluate("message.track('late')") == {"status": "refused", "code": "closed"}
    page.click("#click")
    page.evaluate("dispatchEvent(new Event('online')), dispatchEvent(new Event('pagehide')), engage.flush()")
    page.wait_for_timeout(600)
    assert shop.proxy.methods["POST"] == asked
    page.evaluate(f"void new Engage({{ app: '{shop.app.id}', host: '{shop.proxy.url}' }})")
    wait_until(lambda: names() == ["waits"], what="what waited")


# Forms -------------------------------------------------------------------------------------------------------------

_SHADOWING = (
    "dataset elements closest contains form tagName getAttribute addEventListener removeEventListener href id "
    "nodeType parentNode matches submit requestSubmit action method name instanceof __proto__ constructor toString"
)


@pytest.mark.telling
def test_a_form_may_call_its_fields_what_it_likes(context: BrowserContext, shop: Shop) -> None:
    fields = "".join(f'<input name="{name}" value="v">' for name in _SHADOWING.split())
    form = (
        f'<form id="message" data-engage-capture="track_event" data-engage-event="%s">{fields}'
        '<button id="send">S</button>'
        '<button type="button" id="tell" data-engage-action="track_event" data-engage-event="told">T</button></form>'
    )
    head = '<!doctype html><script type="module" src="/page.js"></script>'
    shop.pages.files["/attached"] = ("text/html", f'{head}<iframe id="framed"></iframe>{form % "attached"}')
    shop.pages.files["/framed"] = (
        "text/html",
        f'<!doctype html><script type="module" src="/frame.js"></script>{form % "asked"}',
    )
    page = context.new_page()
    page.goto(f"{shop.url}/attached")
    until(page, "window.ready")
    for button in ("send", "tell"):  # Playwright's own click stumbles over such a form
        page.evaluate(f"document.querySelector('#{button}').click()")
    assert page.url == f"{shop.url}/attached"
    wait_until(lambda: len(names()) == 2, what="what was sent and clicked")
    page = opened(context, shop)
    page.frame_locator("#framed").locator("#send").evaluate("(button) => button.click()")
    wait_until(lambda: len(names()) == 3, what="what was sent in the frame")
    assert {event.name for event in Event.objects.all()} == {"attached", "told", "asked"}
    for event in Event.objects.exclude(name="told"):
        assert event.properties == dict.fromkeys(_SHADOWING.split(), "v")


# Who somebody is ---------------------------------------------------------------------------------------------------


def with_tokens(page: Page, shop: Shop, script: str) -> None:
    """Another Engage in place of the page's, to which the script gives tokens; `asked` counts how often."""
    page.evaluate(
        f"window.asked = 0; window.give = {script}; engage.close();"
        f"window.engage = new Engage({{ app: '{shop.app.id}', host: '{shop.proxy.url}',"
        " token: () => give(++asked), retry: { first: 50, most: 400 } });"
        "window.message = engage.message('sale'); window.outcomes = [];"
        "engage.on('refused', (told) => outcomes.push(told)), undefined"
    )


@pytest.fixture
def proving(shop: Shop) -> App:
    """The shop's app, which asks for proof."""
    IdentityKey.objects.create(workspace_id=shop.app.workspace_id, app=shop.app, kid="k1", alg="HS256", secret=SECRET)
    App.objects.filter(pk=shop.app.pk).update(identity=App.Identity.ENFORCE)
    return shop.app


@pytest.mark.parametrize(
    "bad",
    ["<!doctype html><title>502</title> Bad Gateway", "a.b.c", token(sub="bob"), token(key="another secret" * 4), ""],
)
def test_a_bad_token_loses_nothing_and_is_asked_for_again(
    context: BrowserContext, shop: Shop, proving: App, bad: str
) -> None:
    page = opened(context, shop)
    given = f"(asked) => asked < 3 ? {json.dumps(bad)} : ' {token(sub='ada')}\\n'"
    with_tokens(page, shop, given)
    page.evaluate(
        "void engage.identify({ external_id: 'ada' }), void message.track('a'), void message.update({ n: 1 })"
    )
    wait_until(lambda: sorted(kinds()) == ["identify", "track_event", "update_profile"], what="all three", seconds=30)
    assert Customer.objects.get().external_id == "ada"
    assert page.evaluate("outcomes") == []
    assert page.evaluate("asked") == 3


def test_what_a_token_does_not_allow_to_write_holds_nobody_up(
    context: BrowserContext, shop: Shop, proving: App
) -> None:
    page = opened(context, shop)
    with_tokens(page, shop, f"() => '{token(sub='ada', attributes=['plan'])}'")
    page.evaluate(
        "void engage.identify({ external_id: 'ada' }), void message.update({ vip: 1 }), void message.track('a')"
    )
    until(page, "outcomes.length === 1")
    wait_until(lambda: sorted(kinds()) == ["identify", "track_event"], what="the others")
    assert page.evaluate("outcomes.map(({ code, status }) => [code, status])") == [["identity_token_mismatch", 401]]


def test_a_token_that_comes_after_the_person_has_changed_is_thrown_away(
    context: BrowserContext, shop: Shop, proving: App
) -> None:
    page = opened(context, shop)
    tokens = {who: token(sub=who) for who in ("ada", "bob")}
    with_tokens(
        page, shop,
        f"(asked) => asked === 1 ? new Promise((late) => {{ window.late = () => late('{tokens['ada']}'); }})"
        f" : '{tokens['bob']}'",
    )  # fmt: skip
    page.evaluate("void engage.identify({ external_id: 'ada' })")
    until(page, "asked === 1")
    page.evaluate("engage.reset(), void engage.identify({ external_id: 'bob' }), late(), void message.track('his')")
    wait_until(lambda: names() == ["his"], what="his click")
    assert Event.objects.get().customer.external_id == "bob"
    assert page.evaluate("outcomes.map(({ call, code }) => [call, code])") == [["identify", "identity_token_missing"]]


@pytest.mark.parametrize("slip", ["an unknown app", "an origin"])
def test_a_slip_in_deployment_loses_nothing(context: BrowserContext, shop: Shop, slip: str) -> None:
    wrong = {"enabled": False} if slip == "an unknown app" else {"allowed_origins": ["https://shop.example"]}
    App.objects.filter(pk=shop.app.pk).update(**wrong)
    page = opened(context, shop)
    assert page.evaluate("message.track('a')")["status"] == "queued"
    page.evaluate("void message.track('b')")
    App.objects.filter(pk=shop.app.pk).update(enabled=True, allowed_origins=[])
    wait_until(lambda: names() == ["a", "b"], what="what waited", seconds=30)
    assert page.evaluate("outcomes.filter(([what]) => what === 'refused')") == []


def test_a_refusal_is_told_as_one(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    outcome = page.evaluate("message.track('')")
    assert outcome.keys() == {"status", "code", "message"}
    assert outcome["status"] == "refused"
    assert page.evaluate("outcomes.find(([what]) => what === 'refused')[1].status") == 400
    assert page.evaluate("message.track('n', { n: 1n })") == {"status": "refused", "code": "not_json"}


def test_what_the_sdk_itself_refuses_is_told_to_all_who_listen(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    page.evaluate("document.querySelector('#form [name=city]').value = 'x'.repeat(50000)")
    page.click("#send")
    page.evaluate("void message.track('n', { n: 1n }), engage.optOut(), undefined")
    page.click("#click")
    told = page.evaluate("outcomes.filter(([what]) => what === 'refused').map(([, told]) => [told.code, told.call])")
    assert told == [["too_large", "capture"], ["not_json", "action"], ["opted_out", "action"]]
    assert page.evaluate("outcomes.every(([, told]) => told.key)")


def test_an_identifier_that_is_refused_as_malformed_takes_nobody_with_it(context: BrowserContext, shop: Shop) -> None:
    page = opened(context, shop)
    assert page.evaluate("engage.identify({ external_id: 'ada' })")["status"] == "sent"
    assert page.evaluate("engage.identify({ email: 'ada@shop' })")["code"] == "invalid_request"
    assert page.evaluate("message.track('a')")["status"] == "sent"
    assert page.evaluate("engage.identify({ email: 'ada@shop.example' })")["status"] == "sent"
    shop.proxy.fails = 503
    assert page.evaluate("engage.identify({ phone: '1'.repeat(99) })")["status"] == "queued"
    page.goto(f"{shop.url}/elsewhere")
    shop.proxy.fails = None
    page = opened(context, shop)
    until(page, NOTHING_WAITS)
    assert page.evaluate("engage.me") == {"external_id": "ada", "email": "ada@shop.example"}
    assert page.evaluate("message.track('b')")["status"] == "sent"
    assert list(Event.objects.order_by("serial").values_list("customer__external_id", "name")) == [
        ("ada", "a"), ("ada", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(("added", "status"), [(["email"], "sent"), ([], "kept"), (None, "sent")])
def test_what_is_learned_later_is_sent_and_told_whether_it_was_taken(
    context: BrowserContext, shop: Shop, added: list[str] | None, status: str
) -> None:
    page = opened(context, shop)
    data = {"identified": True} if added is None else {"identified": True, "added": added}
    page.evaluate(  # what Playwright tells of Firefox's requests leaves out the bodies of those that outlive a page
        "answer => { window.said = []; window.fetch = async (_, { body }) => "
        "{ said.push(JSON.parse(body)); return new Response(answer, { status: 200 }); } }",
        json.dumps({"success": True, "data": data}),
    )
    assert page.evaluate("engage.identify({ external_id: 'ada' })")["status"] == "sent"
    outcome = page.evaluate("engage.identify({ email: 'ada@example.com' })")
    assert outcome == {"status": status, "data": outcome["data"]}
    assert page.evaluate("engage.identify({ external_id: 'ada', email: 'ada@example.com' })") == {"status": "sent"}
    assert page.evaluate("engage.identify({ external_id: 'bob' })")["status"] == "sent"
    first, second, another = page.evaluate("said")
    assert first["userId"] == second["userId"] != another["userId"]
    assert (second["external_id"], second["email"]) == ("ada", "ada@example.com")
    assert (another["external_id"], "email" in another) == ("bob", False)

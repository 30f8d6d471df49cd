"""A page that shows what journeys deliver, and clicks by itself if it is to; and one that shows what it is given."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.sync_api import BrowserContext, Page

from bridge.browser.files import content_of
from customers.models import Event
from engage.database.object_ids import new_object_id
from engage.models import App
from journeys.models import InAppDelivery
from tests.bridge.in_app.deliveries import CTA
from tests.browsers.pages import Shop, until

_PAGE = """<!doctype html><html lang="en"><title>In-app</title><script type="module" src="/in-app.js"></script>
<main><button id="before">Before</button><div id="slot"></div></main></html>"""
# With ?presses it clicks the first button of all that it shows, while it is looked at; their texts are numbers.
_SCRIPT = """import "/page.js";
import { show } from "/show.js";
import { messages } from "/messages.js";
const query = new URLSearchParams(location.search);
window.lists = [];
engage.identify({ external_id: query.get("as") ?? "ada" });
window.stop = show(engage, { in: "#slot", every: 1, kinds: { custom: (item, slot) => {
  const own = Object.assign(document.createElement("p"), { id: "own", textContent: item.content.data.said });
  slot.append(own);
  return () => own.remove();
} } });
window.stopped = messages(engage, (list) => window.lists.push(list.length), { every: 1 });
const root = document.querySelector("#slot > div").shadowRoot;
if (query.has("presses")) setInterval(() => {
  for (const section of document.hidden ? [] : root.querySelectorAll("section")) {
    section.querySelector("[part=button]").click();
    fetch(`/clicked?n=${section.querySelector("p").textContent}`);
  }
}, 20);
"""


def furnish(shop: Shop) -> None:
    """The page at /in-app, and an app that believes whom it names."""
    App.objects.filter(id=shop.app.id).update(in_app=App.InApp.OPEN)
    shop.pages.files |= {
        "/in-app": ("text/html", _PAGE),
        "/in-app.js": ("text/javascript", _SCRIPT),
        **{f"/{name}": ("text/javascript", content_of(name).decode()) for name in ("show.js", "messages.js")},
    }


_DRAWN = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Drawn</title>
<meta name="color-scheme" content="light dark"><script type="module" src="/drawn.js"></script>
<main><h1>Shop</h1><div id="slot"></div></main></html>"""
_DRAW = """import "/page.js";
import { show } from "/show.js";
const items = await (await fetch("/items.json")).json(), asked = window.fetch;
window.fetch = (url, given) => String(url).includes("/sdk/messages")
  ? Promise.resolve(new Response(JSON.stringify({ data: { messages: items } }))) : asked(url, given);
%s
show(engage, { in: "#slot" });
const root = document.querySelector("#slot > div").shadowRoot;
Object.assign(window, { root, all: (selector) => [...root.querySelectorAll(selector)] });
"""


def drawn(context: BrowserContext, shop: Shop, items: Sequence[Mapping[str, Any]], *, before: str = "") -> Page:
    """A page that draws these items as if the service had told it of them; it hears of nothing else."""
    shop.proxy.fails = 503
    shop.pages.files |= {
        "/drawn": ("text/html", _DRAWN),
        "/drawn.js": ("text/javascript", _DRAW % before),
        "/items.json": ("application/json", json.dumps(items)),
        "/show.js": ("text/javascript", content_of("show.js").decode()),
    }
    page = context.new_page()
    page.goto(f"{shop.url}/drawn")
    until(page, f"window.root?.querySelectorAll('section, dialog').length >= {min(len(items), 4)}")
    return page


def due(content: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """An item as the service tells it."""
    return {
        "deliveryId": new_object_id(), "messageId": "offer", "kind": content["kind"], "content": content,
        "actions": [CTA], "forms": [], "expiresAt": "2999-01-01T00:00:00Z",
    } | fields  # fmt: skip


def opened(context: BrowserContext, shop: Shop, query: str = "") -> Page:
    page = context.new_page()
    page.goto(f"{shop.url}/in-app{query}")
    until(page, "typeof window.stopped === 'function'")
    return page


def state_of(delivery: InAppDelivery) -> str:
    delivery.refresh_from_db()
    return delivery.state


def counted(name: str) -> int:
    return Event.objects.filter(name=name).count()

"""Whatever a message's texts, values and attributes hold stays text, as show.js draws it in real browsers.

The page has no policy that would stop a script, and gets more than the service would ever give it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from bridge.messages.content import parse_content
from bridge.messages.definition import parse_definition
from journeys.rendering import Rendering
from tests.bridge.in_app.deliveries import CTA
from tests.browsers.hostile import PAYLOADS
from tests.browsers.in_app import drawn, due
from tests.browsers.pages import Shop, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

_VALUE = "{{ values.v }}"
_FORM = {"id": "nps", "fields": {"score": {"type": "string", "required": True}}}
_CONTENT = {
    "title": _VALUE, "text": "{{ customer.name }}", "image": _VALUE, "form": "nps", "data": {"v": _VALUE},
    "buttons": [
        {"action": "cta", "text": _VALUE, "href": _VALUE},
        {"action": "link", "text": "x", "href": f"https://shop.invalid/?a={_VALUE}"},
        {"action": "close", "text": _VALUE},
    ],
}  # fmt: skip
_MARKUP = {"html": f"<p title='{_VALUE}'>{_VALUE}</p><p title={_VALUE}>"}
_KINDS = ("banner", "card", "modal")
# In a frame, a script may run, but only its own document's: the page hears of a value that has become one.
_HEARD = '<script>window.hit = () => parent.postMessage("hit", "*")</script>'
_REACHES = "<script>try { parent.hit() } catch {} try { top.location = '/reached' } catch {}</script>"
_COUNT = """window.hits = 0;
window.hit = window.alert = () => { window.hits += 1; };
addEventListener("message", ({ data }) => { if (data === "hit") window.hit(); });"""
_PRESS_ALL = """() => {
  const drawn = [];
  for (let dialog; (dialog = root.querySelector("dialog")); dialog.querySelector("[part=close]").click()) {
    drawn.push(dialog.querySelector("h2").textContent);
  }
  const addresses = all("[href], [src]").map((one) => one.protocol ?? new URL(one.src).protocol);
  for (const button of all("button:not([part=close])")) button.click();
  return { dialogs: drawn, addresses: [...new Set(addresses)] };
}"""


def _rendered(content: Mapping[str, Any], payload: str) -> dict[str, Any]:
    """As the service renders it for somebody whose values are all this."""
    parsed = parse_content(content, definition=parse_definition(actions=[CTA], forms=[_FORM]))
    assert parsed is not None
    scope = {"customer": {"name": payload}, "values": {"v": payload}}
    return {"kind": content["kind"], **parsed.rendered(Rendering(lambda: scope))}


def _items() -> Iterator[dict[str, Any]]:
    whole = ""
    for number, payload in enumerate(PAYLOADS):
        kind = _KINDS[number % 3]
        yield due(_rendered({"kind": kind, **_CONTENT}, payload), forms=[_FORM])
        whole += _rendered({"kind": "custom", "data": _MARKUP}, payload)["data"]["html"]
        # What the service refuses to store or leaves out.
        raw = dict.fromkeys(("title", "text", "image", "form"), payload)
        button = dict.fromkeys(("action", "text", "href"), payload)
        actions = [{**CTA, "id": payload, "type": payload}]
        field = {"type": payload, "values": [payload], "required": payload}
        forms = [{"id": payload, "fields": {payload: field, f"{payload}-": {"type": payload}}}]
        content = {"kind": kind, **raw, "buttons": [button, button]}
        yield due(content, messageId=payload, actions=actions, forms=forms)
    yield due({"kind": "custom", "data": {"html": _HEARD + whole}})
    yield due({"kind": "custom", "title": PAYLOADS[1], "data": {"html": "".join(PAYLOADS) + _REACHES}})


def test_no_text_value_or_attribute_of_a_message_runs(context: BrowserContext, shop: Shop) -> None:
    assert len(set(PAYLOADS)) == 200
    items = [*_items()]
    shop.pages.policy = ""
    page = drawn(context, shop, items, before=_COUNT)
    shown = page.evaluate("all('section h2').map((title) => title.textContent)")
    assert shown == [one["content"]["title"] for one in items if one["kind"] != "modal" and "title" in one["content"]]
    pressed = page.evaluate(_PRESS_ALL)
    assert pressed["dialogs"] == [one["content"]["title"] for one in items if one["kind"] == "modal"]
    assert set(pressed["addresses"]) <= {"http:", "https:", "mailto:", "tel:", "blob:"}
    page.wait_for_timeout(2000)
    assert (page.evaluate("window.hits"), page.title(), page.url) == (0, "Drawn", f"{shop.url}/drawn")
    # They would run: as markup, they do.
    page.evaluate(
        "(payloads) => { for (const one of payloads) document.getElementById('slot').innerHTML += one; }", [*PAYLOADS]
    )
    until(page, "window.hits > 50")

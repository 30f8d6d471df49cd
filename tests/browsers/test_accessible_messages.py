"""What show.js draws, as axe-core sees it: nothing serious is wrong, on wide and narrow pages, light and dark, written
from left to right and from right to left. `SCREENSHOTS=/tmp/seen` keeps pictures of it.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browsers.accessibility import looks, serious_findings
from tests.browsers.in_app import drawn, due
from tests.browsers.pages import Shop

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
_FORM: dict[str, Any] = {
    "id": "nps",
    "fields": {
        "Score": {"type": "number", "required": True},
        "Plan": {"type": "string", "values": ["free", "pro"]},
        "Terms": {"type": "boolean"},
    },
}
_SAID = {"title": "Spring sale", "text": "Everything for the garden is a fifth off.\nUntil Sunday.", "buttons": [
    {"action": "cta", "text": "To the sale", "href": "https://shop.example/sale"},
    {"action": "close", "text": "Not now"},
]}  # fmt: skip
_IN_ARABIC = {"title": "تخفيضات الربيع", "text": "خصم عشرين بالمئة على كل ما تحتاجه الحديقة.", "buttons": [
    {"action": "cta", "text": "إلى العرض"}, {"action": "close", "text": "ليس الآن"},
]}  # fmt: skip
_FRAME = "<!doctype html><html lang=en><title>x</title><main><h1>Own</h1><p>Markup of its own.</p></main></html>"


def keep_picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("modal", [False, True])
def test_what_is_drawn_has_no_serious_findings(
    context: BrowserContext, shop: Shop, direction: str, modal: bool
) -> None:
    said = _IN_ARABIC if direction == "rtl" else _SAID
    banner, card, dialog = ({"kind": kind, **said} for kind in ("banner", "card", "modal"))
    asking = due({**card, "form": "nps"}, forms=[_FORM])
    items = [due(dialog)] if modal else [due(banner), asking, due({"kind": "custom", "data": {"html": _FRAME}})]
    shop.pages.policy = shop.pages.policy.replace("frame-src", "frame-src blob:")
    page = drawn(context, shop, items, before=f"document.documentElement.dir = '{direction}';")
    for look in looks(page):
        where = f"{direction}-{'modal' if modal else 'page'}-{look}"
        keep_picture(page, where)
        assert serious_findings(page) == [], where
    assert page.evaluate("window.violations") == []

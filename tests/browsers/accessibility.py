"""What of a page axe-core finds, and in what sizes and colours pages are looked at."""

from collections.abc import Iterator
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_SERIOUS = {"serious", "critical"}
_LOOKS: list[tuple[int, Literal["light", "dark"]]] = [(1440, "light"), (390, "dark"), (390, "light"), (1440, "dark")]


def serious_findings(page: Page, within: str | None = None) -> list[tuple[str, list[str]]]:
    """What axe-core finds of serious or critical impact: the rule, and the elements with what is wrong there."""
    found = Axe().run(page, context=within).response["violations"]
    return [(one["id"], [_told(node) for node in one["nodes"]]) for one in found if one["impact"] in _SERIOUS]


def looks(page: Page) -> Iterator[str]:
    """Wide and narrow, light and dark: each while the page is so; nothing may stick out of it."""
    for width, scheme in _LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        yield f"{width}-{scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, scheme)


def _told(node: dict[str, Any]) -> str:
    checks = [*node["any"], *node["all"], *node["none"]]
    return f"{node['html'][:200]} ({checks[0]['message'] if checks else ''})"

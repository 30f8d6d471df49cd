"""The page of the API's document: its texts have contrast, light and dark, closed and with a call open."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Playwright
from pytest_django.live_server_helper import LiveServer

from tests.browsers.staff import Staff, superuser_in_chromium

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def without_contrast(staff: Staff) -> list[str]:
    return [text for rule, texts in staff.serious_findings() if rule == "color-contrast" for text in texts]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_texts_have_contrast(playwright: Playwright, live_server: LiveServer, scheme: Any) -> None:
    with superuser_in_chromium(playwright, live_server.url, color_scheme=scheme) as staff:
        page = staff.goes_to("/api/v1/docs")
        page.wait_for_selector(".opblock-summary")
        assert without_contrast(staff) == []
        page.locator(".opblock-summary").nth(2).click()
        page.wait_for_selector(".responses-wrapper .microlight")
        assert without_contrast(staff) == []
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"documentation-{scheme}.png")

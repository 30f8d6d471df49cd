"""The demo's page, as `make run` serves it."""

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser

from config.local import embedded
from customers.models import Customer, Event
from tests.browsers.accessibility import looks, serious_findings
from tests.support.processes import web
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def test_clicks_in_the_demo_are_shown_as_recorded(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.environ.get("DATABASE_URL"):
        monkeypatch.setenv("DATABASE_URL", embedded.database_url())  # that of the tests, although the notes are apart
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    call_command("prepare")
    with web(log=tmp_path / "log") as address:
        page = browser.new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{address}/demo")
        page.get_by_text("I am in").wait_for()
        assert problems == []
        for look in looks(page):
            assert serious_findings(page) == [], look
        problems.clear()  # axe-core speaks to the frame, which Firefox has something to say about
        page.get_by_text("I am in").click()
        page.get_by_text("Choose a plan").click()
        page.get_by_role("button", name="Pro", exact=True).click()
        page.get_by_text("Not now").click()
        page.get_by_role("button", name="Send").click()
        page.frame_locator("iframe").get_by_role("button", name="Click").click()
        for shown in ("sale_wanted", "plan", "answered", "frame_clicked"):
            page.locator("#recorded").get_by_text(shown, exact=True).wait_for()
        assert page.locator("dialog").is_hidden()
        assert problems == []
        page.close()
    wait_until(lambda: Event.objects.count() == 3, what="the events")
    assert Customer.objects.get(user_id__startswith="anon-").attributes["plan"] == "pro"

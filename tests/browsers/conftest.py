"""Real browsers on real pages, which talk to the service as it runs.

`make browsers` runs all of it, in chromium and firefox-esr, and fails without them. Every other run has the tests with
the mark `telling`, in chromium, and says what it left out.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from engage.models import Workspace
from tests.browsers.pages import Shop, opened_shop
from tests.browsers.programs import PROGRAMS, launched
from tests.browsers.staff import Staff, superuser_at
from tests.support.factories import AppFactory
from tests.support.processes import web

PATIENCE_MS = 120_000  # of a browser on a machine that is busy with other tests
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("BROWSERS") == "required":
        return
    missing = "" if shutil.which(PROGRAMS["chromium"]) else "there is no chromium here, and so no test of the SDK"
    for item in items:
        is_short = item.get_closest_marker("telling") and "[firefox" not in item.name
        if item.path.parent == Path(__file__).parent and (missing or not is_short):
            item.add_marker(pytest.mark.skip(reason=missing or "left to `make browsers`"))


# For these tests alone, and not for the whole run: Playwright has a loop in this thread, which other tests would find.


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        with sync_playwright() as running:
            yield running


@pytest.fixture(scope="package", params=list(PROGRAMS))
def browser(playwright: Playwright, request: pytest.FixtureRequest) -> Iterator[Browser]:
    running = launched(playwright, request.param)
    yield running
    running.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    fresh = browser.new_context()
    fresh.set_default_timeout(PATIENCE_MS)
    yield fresh
    fresh.close()


@pytest.fixture(scope="package")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The web process, for all of these tests: its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRIDGE_RATE_LIMIT", "100000/m")
        with web(log=tmp_path_factory.mktemp("web") / "log") as address:
            yield address


@pytest.fixture
def shop(service: str, acme: Workspace) -> Iterator[Shop]:
    with opened_shop(app=AppFactory.create(workspace=acme), service=service) as shop:
        yield shop


@pytest.fixture
def staff(browser: Browser, live_server: LiveServer) -> Iterator[Staff]:
    with superuser_at(browser, live_server.url, viewport={"width": 1440, "height": 900}) as member:
        yield member

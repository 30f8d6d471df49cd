"""A browser that is killed loses nothing that was written down: it starts anew with what its disk holds."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from customers.models import Event
from tests.browsers.conftest import PROGRAMS, program
from tests.browsers.pages import Shop
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]
MOMENTS = 20
STEP_SECONDS = 0.015
# It is killed on purpose, and is not to ask about that.
_PREFERENCES = """user_pref("toolkit.startup.max_resumed_crashes", -1);
user_pref("browser.sessionstore.resume_from_crash", false);
user_pref("browser.aboutwelcome.enabled", false);
"""


@contextmanager
def running(name: str, url: str, profile: Path) -> Iterator[None]:
    """The browser without a driver, on a page; killed with all its processes at the end."""
    options = {
        "chromium": ["--headless", "--no-sandbox", "--no-first-run", f"--user-data-dir={profile}"],
        "firefox": ["--headless", "--no-remote", "--profile", str(profile)],
    }  # fmt: skip
    process = subprocess.Popen(
        [program(name), *options[name], url],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def preferred(profile: Path) -> None:
    (profile / "user.js").write_text(_PREFERENCES)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_browser_killed_at_twenty_moments_loses_and_doubles_nothing(name: str, shop: Shop, tmp_path: Path) -> None:
    preferred(tmp_path)
    for number in range(MOMENTS):
        shop.proxy.fails = 0 if number % 2 else None  # every other time there is no network
        with running(name, f"{shop.url}/clicking?name=t{number}", tmp_path):
            wait_until(lambda clicked=f"/clicked?t{number}": clicked in shop.pages.asked, what="the click")  # type: ignore[misc]
            time.sleep(number * STEP_SECONDS)
    shop.proxy.fails = None
    with running(name, f"{shop.url}/clicking", tmp_path):
        wait_until(lambda: Event.objects.values("name").distinct().count() == MOMENTS, what="all clicks")
    assert Event.objects.count() == MOMENTS

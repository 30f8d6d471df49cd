"""Browsers without a driver, which are killed while they do something."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browsers.programs import program

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

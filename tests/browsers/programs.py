"""The browsers that tests drive: Debian's."""

import shutil

from playwright.sync_api import Browser, Playwright

PROGRAMS = {"chromium": "chromium", "firefox": "firefox-esr"}


def program(name: str) -> str:
    found = shutil.which(PROGRAMS[name])
    assert found, f"{PROGRAMS[name]} is not installed."
    return found


def launched(playwright: Playwright, name: str) -> Browser:
    if name == "firefox":  # Debian's own, by WebDriver BiDi
        return playwright.firefox.launch(channel="moz-firefox", executable_path=program(name))
    return playwright.chromium.launch(executable_path=program(name), args=["--no-sandbox"])

"""A member of staff at a browser, who notices what is wrong with a page."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright

from engage.admin.parts.columns import page_url
from tests.browsers.accessibility import serious_findings
from tests.browsers.programs import launched

_TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`${event.violatedDirective} forbids ${event.blockedURI || event.sample}`));
addEventListener("unhandledrejection", (event) => console.error(`unhandled: ${event.reason}`));"""

_ABORTED = "status=2152398850"


@dataclass(kw_only=True)
class Staff:
    """`complaints` are JavaScript's errors, and what the Content Security Policy forbids."""

    page: Page
    at: str
    complaints: list[str] = field(default_factory=list)

    def logs_in(self, user: User) -> None:
        """With a session of its own."""
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        self.page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": self.at}])

    def opens(self, record: Any, to: str = "change") -> Page:
        return self.goes_to(page_url(record).replace("/change/", f"/{to}/"))

    def goes_to(self, url: str) -> Page:
        self.page.goto(self.at + url)
        return self.page

    def serious_findings(self, within: str | None = None) -> list[tuple[str, list[str]]]:
        return serious_findings(self.page, within)

    def finds_nothing_serious(self, within: str | None = None) -> None:
        """By axe-core; nor did the page complain of anything."""
        assert self.serious_findings(within) == []
        assert self.complaints == []


@contextmanager
def superuser_at(browser: Browser, address: str, **context: Any) -> Iterator[Staff]:
    """A superuser who has opened nothing yet, in a context with these options."""
    opened = browser.new_context(**context)
    opened.set_default_timeout(60_000)
    opened.add_init_script(_TELL_VIOLATIONS)
    member = Staff(page=opened.new_page(), at=address)
    member.page.on("pageerror", lambda error: member.complaints.append(str(error)))
    member.page.on("console", lambda said: member.complaints.extend([said.text] if _is_complaint(said) else []))
    member.logs_in(User.objects.create_superuser("root"))
    yield member
    opened.close()


def _is_complaint(said: ConsoleMessage) -> bool:
    """Firefox also reports fonts that it was still loading as the page was left."""
    return said.type == "error" and not ("downloadable font" in said.text and _ABORTED in said.text)


@contextmanager
def superuser_in_chromium(playwright: Playwright, address: str, **context: Any) -> Iterator[Staff]:
    """The same, in a browser that is started for them."""
    browser = launched(playwright, "chromium")
    with superuser_at(browser, address, **context) as member:
        yield member
    browser.close()

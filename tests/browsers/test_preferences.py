"""The pages behind the links of messages, without scripts: with a mouse, with a keyboard, on a phone, in the dark."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from customers.models import Consent, Customer, Topic
from customers.preferences.links import Link
from engage.models import Workspace
from tests.browsers.accessibility import looks, serious_findings
from tests.support.processes import web

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def _looked_at(page: Page, name: str) -> None:
    for look in looks(page):
        assert serious_findings(page) == [], (name, look)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"preferences-{name}-{look}.png", full_page=True)


def _states() -> dict[str, str]:
    return {f"{one.topic}:{one.channel}": one.state for one in Consent.objects.all()}


@pytest.mark.telling
@pytest.mark.ada(email="ada@example.com", attributes={"locale": "de"})
def test_people_leave_and_choose_without_a_script(
    browser: Browser, ada: Customer, acme: Workspace, tmp_path: Path
) -> None:
    news = "Was es Neues gibt, und wann die Werkstatt offen ist: höchstens einmal im Monat."
    Topic.objects.create(
        workspace=acme, key="news", name="Neues", description=news, channels=["email", "sms"], default="opted_in"
    )
    Topic.objects.create(workspace=acme, key="offers", name="Angebote", channels=["email", "push"], default="opted_out")
    link = Link(workspace_id=acme.id, customer_id=ada.id, topic="news", channel="email", at=datetime.now(UTC))
    with web(log=tmp_path / "log") as address:
        # axe-core is a script itself, so its pages may run some: the service's own policy forbids those of the page.
        context = browser.new_context(bypass_csp=True)
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        page.goto(f"{address}/contact/unsubscribe/{link.token}")
        _looked_at(page, "leave")
        page.get_by_role("button", name="Abbestellen").click()
        expect(page.get_by_role("status")).to_contain_text("Sie bekommen keine dieser Nachrichten mehr.")
        assert _states() == {"news:email": "unsubscribed"}
        _looked_at(page, "left")
        page.get_by_role("button", name="Rückgängig machen").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("gespeichert")
        assert _states() == {"news:email": "subscribed"}
        offers = page.get_by_role("group", name="Angebote")
        offers.get_by_label("Per E-Mail").press("Space")
        page.get_by_label("Höchstens eine Nachricht pro Woche").press("Space")
        page.get_by_role("button", name="Speichern").press("Enter")
        expect(offers.get_by_label("Per E-Mail")).to_be_checked()
        assert _states() == {"news:email": "subscribed", "offers:email": "subscribed"}
        page.get_by_role("button", name="30 Tage pausieren").click()
        expect(page.get_by_role("group", name="Neues")).to_contain_text("pausiert bis")
        _looked_at(page, "paused")
        page.get_by_role("button", name="Alles abbestellen").click()
        expect(page.get_by_role("checkbox", checked=True)).to_have_count(1)  # weekly, which is no topic
        assert set(_states().values()) == {"unsubscribed"}
        page.goto(f"{address}/contact/confirm/{link.token}")
        _looked_at(page, "confirm")
        page.get_by_role("button", name="Ja, das möchte ich").click()
        expect(page.get_by_role("group", name="Neues").get_by_label("Per E-Mail")).to_be_checked()
        page.goto(f"{address}/contact/unsubscribe/{link.token[:-1]}")
        assert "nicht vollständig" in page.content() or "not whole" in page.content()
        _looked_at(page, "broken")
        assert [one for one in problems if "404" not in one] == []
        context.close()
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{address}/contact/preferences/{link.token}")
        page.get_by_label("Per SMS").check()
        page.get_by_role("button", name="Speichern").click()
        expect(page.get_by_label("Per SMS")).to_be_checked()
        assert page.get_by_role("button", name="Speichern").evaluate("(it) => it.offsetHeight") >= 44  # the style holds
        context.close()

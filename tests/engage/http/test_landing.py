"""`GET /`: a page for whoever opens it in a browser, JSON for all others."""

import re

from django.test import Client
from pytest_django import Settings

BROWSERS = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PLACES = {"documentation": "/api/v1/docs", "schema": "/api/v1/schema", "admin": "/admin/"}


def test_others_get_json() -> None:
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        answer = Client().get("/", headers=accept)
        assert (answer.json()["data"], answer["Vary"]) == (PLACES, "Accept")


def test_who_asks_for_a_page_alone_gets_it() -> None:
    for accept in ("text/html", "text/html,application/xhtml+xml", "application/xhtml+xml", "text/html;q=0.3"):
        assert Client().get("/", headers={"Accept": accept})["Content-Type"] == "text/html; charset=utf-8", accept
    for accept in ("image/png", "application/json;q=0", "text/html;q=0"):
        assert Client().get("/", headers={"Accept": accept}).json()["code"] == "not_acceptable", accept


def test_a_browser_gets_a_page_that_leads_on(settings: Settings) -> None:
    for production, more in ((False, {"/demo"}), (True, set[str]())):
        settings.PRODUCTION = production
        answer = Client().get("/", headers={"Accept": BROWSERS})
        assert (answer["Content-Type"], answer["Vary"]) == ("text/html; charset=utf-8", "Accept")
        links = set(re.findall(r'<a href="([^"]+)"', answer.content.decode()))
        assert links == {*PLACES.values(), *more}

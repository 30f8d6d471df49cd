"""What answers without a credential: each such address has a row that says why strangers cannot make it costly.

Calls of the bridge need the id of an app, which is public: their limits are held in tests/interface/.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver

from config.serving import worker
from tests.admin import openid_urls

Row = Callable[[Client, str], None]


def costs_nothing(client: Client, address: str) -> None:
    """It asks the database for nothing: a savepoint at most, which no statement follows."""
    with CaptureQueriesContext(connection) as asked:
        client.get(address)
        client.post(address)
    statements = [one["sql"] for one in asked if "SAVEPOINT" not in one["sql"]]
    assert not statements, (address, statements)


def is_made_once(client: Client, address: str) -> None:
    """It may be kept, and who has kept it costs nothing."""
    first = client.get(address)
    assert first.status_code == 200, address
    kept = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert kept.status_code == 304, address
    assert "max-age" in first["Cache-Control"], address
    costs_nothing(client, address)


def has_a_place_of_its_own(client: Client, address: str) -> None:
    """The web server's loop answers it, or a thread that serves no calls."""
    assert address in {worker._AT_ONCE, *worker._PROBES}


def in_development_alone(client: Client, address: str) -> None:
    with override_settings(PRODUCTION=True):
        assert client.get(address).status_code == 404, address


@override_settings(ADMIN_LOGIN_LIMIT="2/h")
def is_counted(client: Client, address: str) -> None:
    """Per client address, and refused beyond the limit before it does anything."""
    form = {"username": "nobody", "password": "wrong"}
    call = client.post if address == "/admin/login/" else client.get
    stranger = f"198.51.100.{len(address)}"  # each address is tried from another place: some count together
    said = [call(address, form, REMOTE_ADDR=stranger).content.decode() for _ in range(3)]
    assert ["More than 2 " in one for one in said] == [False, False, True], (address, said[-1])


ROWS: dict[str, Row] = {
    "": costs_nothing,
    "admin": costs_nothing,
    "admin/break-glass/<str:token>": costs_nothing,  # a wrong token is known by its signature
    "admin/login/": is_counted,
    "admin/set-password/<str:token>": costs_nothing,  # likewise
    "admin/logout/": costs_nothing,
    "admin/openid/": is_counted,
    "admin/openid/callback/": is_counted,
    "api/v1/docs": costs_nothing,
    "api/v1/docs/": costs_nothing,
    "api/v1/schema": is_made_once,
    "contact/confirm/<str:token>": costs_nothing,  # likewise
    "contact/preferences/<str:token>": costs_nothing,  # likewise
    "contact/unsubscribe/<str:token>": costs_nothing,  # likewise
    "demo": in_development_alone,
    "demo/framed": in_development_alone,
    "demo/recorded": in_development_alone,
    "demo/token": in_development_alone,
    "livez": has_a_place_of_its_own,
    "metrics": has_a_place_of_its_own,
    "readyz": has_a_place_of_its_own,
    "sdk/v1/<str:name>": is_made_once,
}
IN_PATHS = {"sdk/v1/<str:name>": "/sdk/v1/engage.js"}  # where another value than 1 is there


def routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def address_of(route: str) -> str:
    return IN_PATHS.get(route, "/" + re.sub(r"<[^>]*>", "1", route))


def asks_for_a_credential(client: Client, route: str) -> bool:
    """Whether neither reading nor writing does more there than to ask who it is, or to refuse the method."""
    address = "/" + re.sub(r"<[^>]*>", "1", route)
    answers = [client.get(address), client.post(address, "{}", content_type="application/json")]
    return all(
        answer.status_code in (401, 405) or answer.headers.get("Location", "").startswith("/admin/login/")
        for answer in answers
    )


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.urls("tests.admin.openid_urls")
def test_each_address_that_answers_strangers_has_a_row(client: Client) -> None:
    found = {route for route in routes(openid_urls.urlpatterns) if not asks_for_a_credential(client, route)}
    assert found == ROWS.keys(), found ^ ROWS.keys()


@pytest.mark.parametrize("route", [route for route in ROWS if route not in IN_PATHS and "admin/" not in route])
@pytest.mark.django_db
def test_who_asks_for_a_page_is_refused_for_that_at_no_address_but_the_schema(client: Client, route: str) -> None:
    for accept in ("text/html", "text/html,application/xhtml+xml"):
        answer = client.get(address_of(route), headers={"Accept": accept})
        assert (answer.status_code == 406) == (route == "api/v1/schema")


@pytest.mark.parametrize("route", [route for route in ROWS if not route.startswith(("admin/", "contact/"))])
@pytest.mark.django_db
def test_what_is_only_read_says_so_in_json(route: str) -> None:
    answer = Client(enforce_csrf_checks=True).post(address_of(route))
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert "GET" in answer["Allow"]


@pytest.mark.django_db
@pytest.mark.urls("tests.admin.openid_urls")
@pytest.mark.parametrize("route", ROWS)
def test_the_row_holds(client: Client, route: str) -> None:
    ROWS[route](client, address_of(route))

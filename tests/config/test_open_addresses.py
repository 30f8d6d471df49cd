"""What answers without a credential: each such address has a row that says why strangers cannot make it costly."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver

from tests.admin import openid_urls

ONCE, COUNTED, CHEAP, PLACE = "made once and kept", "counted", "costs nothing", "a place of its own"
ROWS = {
    "": CHEAP,
    "admin": CHEAP,
    "admin/break-glass/<str:token>": CHEAP,
    "admin/login/": COUNTED,
    "admin/logout/": CHEAP,
    "admin/openid/": COUNTED,
    "admin/openid/callback/": COUNTED,
    "api/v1/docs": CHEAP,
    "api/v1/docs/": CHEAP,
    "api/v1/schema": ONCE,
    "demo": CHEAP,  # in development alone, as those below it
    "demo/framed": CHEAP,
    "demo/recorded": CHEAP,
    "livez": PLACE,
    "metrics": PLACE,
    "readyz": PLACE,
    "sdk/v1/<str:name>": ONCE,
}


def routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def asks_for_a_credential(client: Client, route: str) -> bool:
    """Whether neither reading nor writing does more there than to ask who it is, or to refuse the method."""
    address = "/" + re.sub(r"<[^>]*>", "1", route)
    answers = [client.get(address), client.post(address, "{}", content_type="application/json")]
    return all(
        answer.status_code in (401, 405) or answer.headers.get("Location", "").startswith("/admin/login/")
        for answer in answers
    )


@pytest.mark.django_db
@pytest.mark.urls("tests.admin.openid_urls")
def test_each_address_that_answers_strangers_has_a_row(client: Client) -> None:
    found = {route for route in routes(openid_urls.urlpatterns) if not asks_for_a_credential(client, route)}
    assert found == ROWS.keys(), found ^ ROWS.keys()


@pytest.mark.django_db
@pytest.mark.urls("tests.admin.openid_urls")
def test_what_is_counted_or_kept_is(client: Client) -> None:
    with override_settings(ADMIN_LOGIN_LIMIT="2/h"):
        assert [client.get("/admin/openid/callback/").status_code for _ in range(3)] == [403, 403, 429]
    first = client.get("/api/v1/schema")
    assert client.get("/api/v1/schema", headers={"If-None-Match": first["ETag"]}).status_code == 304

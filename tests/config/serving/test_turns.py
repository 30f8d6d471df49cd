"""Requests that wait for a thread take turns by who the callers have proved to be, not by what they say."""

from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

import pytest
from django.test import Client

from engage.http.client_address import KNOWN_CALLER
from engage.models import Workspace
from tests.support.clients import SdkClient, ServerClient
from tests.support.web_server import Web, web_server

# Knows one key, however it is spelled, and counts its calls.
APPLICATION = """
import time
calls = []
def application(environ, start):
    if environ.get("HTTP_AUTHORIZATION", "").split() == ["Bearer", "good"]:
        environ["engage.caller"] = "good"
    calls.append(1)
    time.sleep(0.02)
    start("200 OK", [])
    return [str(len(calls)).encode()]
"""
STRANGERS = 40


def request(*headers: str, query: str = "") -> bytes:
    return "\r\n".join([f"GET /x{query} HTTP/1.1", "Host: engage", *headers, "", ""]).encode()


def alone(folder: Path, *, proxies: str = "0") -> AbstractContextManager[Web]:
    return web_server(folder, application=APPLICATION, WEB_WORKERS="1", WEB_THREADS="1", TRUSTED_PROXIES=proxies)


KNOWN = request("Authorization: Bearer good")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("proxies", "strangers", "other"),
    [
        ("0", [request(query=f"?app=made-up-{n}") for n in range(STRANGERS)], KNOWN),
        ("0", [request(query=f"?userId=u&app=made-up-{n}") for n in range(STRANGERS)], KNOWN),
        ("0", [request(f"Authorization: Bearer made-up-{n}") for n in range(STRANGERS)], KNOWN),
        ("0", [request(f"X-Forwarded-For: 198.51.100.{n}") for n in range(STRANGERS)], KNOWN),
        ("1", [request(f"X-Forwarded-For: 198.51.100.{n}, 203.0.113.1") for n in range(STRANGERS)],
         request("X-Forwarded-For: 203.0.113.2")),
    ],
    ids=["apps", "apps-later", "keys", "addresses", "behind-a-proxy"],
)  # fmt: skip
def test_made_up_names_have_the_turns_of_one_address(
    tmp_path: Path, proxies: str, strangers: list[bytes], other: bytes
) -> None:
    with alone(tmp_path, proxies=proxies) as web, ExitStack() as stack:
        first = int(web.said(KNOWN).body)
        for one in strangers:
            stack.enter_context(closing(web.connect())).sendall(one)
        assert int(web.said(other).body) - first < STRANGERS / 2


@pytest.mark.slow
def test_spellings_of_one_key_have_one_turn(tmp_path: Path) -> None:
    spelled = [request(f"Authorization: Bearer{' ' * n}good") for n in range(1, STRANGERS)]
    with alone(tmp_path) as web, ExitStack() as stack:
        first = max(int(web.said(one).body) for one in spelled)
        for one in spelled:
            stack.enter_context(closing(web.connect())).sendall(one)
        assert int(web.said(request()).body) - first < STRANGERS / 2


@pytest.mark.django_db
def test_a_call_tells_who_it_has_proved_to_come_from(acme: Workspace, server: ServerClient, sdk: SdkClient) -> None:
    def told(path: str, **headers: str) -> object:
        return Client().get(path, headers=headers).wsgi_request.META.get(KNOWN_CALLER)

    assert told("/api/v1/me", Authorization=server.headers["Authorization"]) == server.key.id
    assert told("/api/v1/me", Authorization=server.headers["Authorization"] + "x") is None
    assert told(f"/api/v1/sdk/messages?app={sdk.app.id}&userId=u") == sdk.app.id
    assert told(f"/api/v1/sdk/messages?app={'a' * 24}&userId=u") is None
    assert told("/", Authorization=server.headers["Authorization"]) is None

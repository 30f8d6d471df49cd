"""Requests as the web server gives them: bodies in chunks, without a length, and cookies."""

import json
import subprocess
import sys
import time
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client, RequestFactory

from config.wsgi import application
from customers.models import Customer
from engage.models import Workspace
from engage.notations.sizes import MAX_BODY_BYTES
from journeys.models import EnrollmentJob
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.processes import environment

pytestmark = pytest.mark.django_db(transaction=True)


def in_chunks(server: ServerClient, path: str, body: bytes) -> tuple[int, Any]:
    environ = RequestFactory().post(path, headers=server.headers, content_type="application/json").environ
    status, answer = answered(environ | CHUNKED | {"wsgi.input": BytesIO(body)})
    return status, json.loads(answer)


def answered(environ: dict[str, Any]) -> tuple[int, bytes]:
    statuses: list[str] = []
    answer = b"".join(application(environ, lambda status, _headers: statuses.append(status)))
    return int(statuses[0].split()[0]), answer


CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}


def test_what_came_of_a_body_that_broke_off_is_not_carried_out(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    body = b'{"external_id": "ada"}'
    environ = RequestFactory().post(path, headers=server.headers, content_type="application/json").environ
    status, answer = answered(environ | {"CONTENT_LENGTH": str(len(body) + 1), "wsgi.input": BytesIO(body)})
    assert (status, json.loads(answer)["code"]) == (400, "invalid_request")
    assert EnrollmentJob.objects.count() == 0


def test_nor_is_a_form_of_the_admin() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    client.get("/admin/auth/group/add/")
    form = f"csrfmiddlewaretoken={client.cookies['csrftoken'].value}&name=cut"
    environ = RequestFactory().post(
        "/admin/auth/group/add/", form, content_type="application/x-www-form-urlencoded",
        headers={"Cookie": client.cookies.output(header="", sep=";")},
    ).environ  # fmt: skip
    status, _ = answered(environ | {"CONTENT_LENGTH": str(len(form) + 5), "wsgi.input": BytesIO(form.encode())})
    assert (status, Group.objects.count()) == (403, 0)
    assert answered(environ | {"CONTENT_LENGTH": str(len(form)), "wsgi.input": BytesIO(form.encode())})[0] == 302


class NeverEnding(BytesIO):
    """A body whose next chunk does not come."""

    def read(self, _size: int | None = -1) -> bytes:
        raise AssertionError("Somebody waits for it.")


def test_a_trigger_in_chunks_is_queued(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    status, answer = in_chunks(server, path, b'{"external_id": "ada"}')
    assert (status, answer["data"]["customerId"]) == (202, ada.id)
    assert EnrollmentJob.objects.count() == 1


def test_chunks_have_the_limit_of_every_body(server: ServerClient, acme: Workspace) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    status, answer = in_chunks(server, path, b'{"a": "' + b"x" * MAX_BODY_BYTES)
    assert (status, answer["error"]) == (413, "Body too large")


def test_nobody_waits_for_the_chunks_of_a_stranger() -> None:
    """Or a few of them, who send slowly, would hold all threads."""
    path = f"/api/v1/journeys/{'a' * 24}/{'b' * 24}/trigger"
    for url, said in ((path, 401), ("/livez", 405), ("/api/v1/sdk/bridge/action", 401)):
        environ = RequestFactory().post(url, content_type="application/json").environ
        assert answered(environ | CHUNKED | {"wsgi.input": NeverEnding()})[0] == said


@pytest.mark.parametrize("path", ["/api/v1/sdk/bridge/action", "/admin/login/"])
def test_cookies_that_are_slow_to_read_are_not_read(path: str) -> None:
    environ = RequestFactory().get(path, headers={"Cookie": 'a="' + "\\" * 60_000 + '"'}).environ
    began = time.monotonic()
    answered(environ)
    assert time.monotonic() - began < 2  # seconds; ten and more with some versions of Python


def test_staff_stay_logged_in() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    environ = RequestFactory().get("/admin/", headers={"Cookie": client.cookies.output(header="", sep=";")}).environ
    assert answered(environ)[0] == 200


_SHOW_THE_LIMIT = """
import config.wsgi
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(cursor.fetchone()[0])
"""


@pytest.mark.slow
@pytest.mark.without_pooler
def test_statements_are_limited_whichever_server_calls_the_application() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SHOW_THE_LIMIT], env={**environment(), "WEB_STATEMENT_SECONDS": "7"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "7s\n"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("br;q=0, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("deflate, gzip ; Q=0.000", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/sdk/v1/engage.js"])
def test_who_refuses_a_coding_does_not_get_it(path: str, accepted: str, coding: str | None) -> None:
    environ = RequestFactory().get(path, headers={"Accept-Encoding": accepted}).environ
    headers: dict[str, str] = {}
    b"".join(application(environ, lambda _status, named: headers.update(named)))
    assert headers.get("Content-Encoding") == coding

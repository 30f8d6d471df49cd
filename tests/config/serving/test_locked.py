"""The service while somebody holds locks: calls are refused after a while, and nothing else waits for them."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection

import psycopg
import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

from customers.models import Customer
from engage.database.statement_limit import longer_statements, statement_limit
from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.processes import environment
from tests.support.web_server import Web

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits, pytest.mark.without_pooler]


@contextmanager
def held(statement: str) -> Iterator[None]:
    """The locks that this takes, held by somebody else who does not let go."""
    with psycopg.connect(environment()["DATABASE_URL"]) as other:
        other.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        other.execute(statement)
        yield
        other.rollback()


def triggered(web: Web, server: ServerClient, path: str) -> tuple[int, dict[str, str], float]:
    """The answer's status, its body with Retry-After, and the seconds that it took."""
    began = time.monotonic()
    with closing(HTTPConnection("127.0.0.1", web.port, timeout=30)) as client:
        headers = {**server.headers, "Content-Type": "application/json"}
        client.request("POST", path, json.dumps({"external_id": "ada"}), headers)
        answer = client.getresponse()
        return (
            answer.status,
            {"retry": answer.headers.get("Retry-After", ""), **json.load(answer)},
            time.monotonic() - began,
        )


@pytest.mark.slow
def test_a_locked_table_refuses_calls_and_holds_up_no_probe(
    web: Web, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    path = f"/api/v1/journeys/{acme.id}/{JourneyFactory.create(workspace=acme).id}/trigger"
    with held("LOCK TABLE journeys_enrollmentjob IN ACCESS EXCLUSIVE MODE"), ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(triggered, web, server, path) for _ in range(4)]
        for probe in ("/livez", "/readyz", "/metrics"):
            assert web.get(probe, timeout=10) == 200
        for status, body, took in (call.result() for call in calls):
            assert (status, body["code"], body["retry"]) == (503, "service_unavailable", "1")
            assert took < 20  # two seconds in a queue of two, on a machine with nothing else to do
    assert EnrollmentJob.objects.count() == 0
    assert triggered(web, server, path)[0] == 202


@pytest.mark.parametrize(("wanted", "limit"), [("15", "15s"), ("0", "0")])
def test_statements_of_calls_are_limited(
    wanted: str, limit: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr(statement_limit, "seconds", float(wanted) or None)
    connection.close()
    try:
        with connection.cursor() as cursor:
            assert shown(cursor) == limit
            with longer_statements():
                assert shown(cursor) == ("10min" if limit != "0" else "0")
            assert shown(cursor) == limit
    finally:
        connection.close()


def shown(cursor: CursorWrapper) -> str:
    cursor.execute("SHOW statement_timeout")
    return str(cursor.fetchone()[0])

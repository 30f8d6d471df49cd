"""What is answered, and logged, where something fails that is no view of the interface."""

from typing import NoReturn

import pytest
from django.db import InterfaceError, connection
from django.http import HttpRequest
from django.test import Client
from django.urls import include, path
from structlog.testing import capture_logs

from config import urls
from journeys.models import Journey
from tests.support.calls import refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient


def broken(_: HttpRequest) -> NoReturn:
    raise RuntimeError("a-name-nobody-may-read")


def cut_off(_: HttpRequest) -> NoReturn:
    raise InterfaceError("connection already closed")


urlpatterns = [path("broken", broken), path("cut-off", cut_off), path("", include(urls))]
handler500 = urls.handler500


def test_a_right_that_is_missing_is_no_fault_of_the_call(server: ServerClient, journey: Journey) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE without_rights")
        cursor.execute("SET LOCAL ROLE without_rights")
    answer = trigger(server, journey, {"external_id": "ada"})
    message = refused(answer, status=503, error="Service unavailable")
    assert message == "The database is not set up for this version of the service. Nothing was done; try again later."


@each(
    "where, status, code, kind",
    [("/broken", 500, "internal_error", RuntimeError), ("/cut-off", 503, "service_unavailable", InterfaceError)],
)
@pytest.mark.urls(__name__)
def test_it_is_answered_in_json_and_logged_with_its_place(
    where: str, status: int, code: str, kind: type[Exception]
) -> None:
    client = Client()
    client.raise_request_exception = False
    with capture_logs() as lines:
        answer = Answer.of(client.get(where, headers={"X-Request-Id": "call-1"}))
    assert (answer.status_code, answer.json()["code"], answer.json()["requestId"]) == (status, code, "call-1")
    assert b"nobody-may-read" not in answer.content
    [line] = [line for line in lines if line["event"] == "request_failed"]
    assert (line["log_level"], line["error"]) == ("error", code)
    assert isinstance(line["exc_info"], kind)

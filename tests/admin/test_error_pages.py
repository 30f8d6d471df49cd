"""Where there is no page, or none for them, staff get a page that leads back; everybody else gets JSON."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client, RequestFactory
from django.urls import get_callable
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from engage.admin.parts.records import ReadOnlyAdmin
from tests.admin.staff import staff_with
from tests.support.cases import each


def with_a_way_back(answer: Any, status: int) -> str:
    """The page with this status."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "text/html; charset=utf-8")
    page = str(answer.content.decode())
    assert 'href="/admin/"' in page
    return page


NOWHERE = ["/admin/nowhere/", "/admin/journeys/nothing/", "/admin/journeys/enrollment/x/webhooks/1/send-again"]


@each("path", NOWHERE)
def test_a_wrong_address_in_the_admin_is_a_page_with_a_way_back(staff: Client, path: str) -> None:
    assert "There is nothing at this address." in with_a_way_back(staff.get(path), 404)


def test_a_forbidden_page_says_so_and_has_a_way_back(db: None) -> None:
    answer = staff_with().get("/admin/journeys/journey/")
    assert "Your account may not do this." in with_a_way_back(answer, 403)


@each(
    "path",
    [
        "/admin/journeys/enrollmentjob/?trigger__id__exact=%00",
        "/admin/journeys/enrollment/?workspace__id__exact=%00",
        "/admin/journeys/enrollment/?journey__id__exact=a%00b",
        "/admin/journeys/enrollment/?state__exact=%00",
        "/admin/autocomplete/?term=%00&app_label=journeys&model_name=enrollment&field_name=workspace",
    ],
)
def test_a_value_that_no_column_holds_is_a_page_with_a_way_back(staff: Client, path: str) -> None:
    assert "such as a NUL character." in with_a_way_back(staff.get(path), 400)


@each("path", ["/admin/journeys/enrollmentjob/?customer__email=x", "/admin/engage/workspace/?_to_field=digest"])
def test_asking_for_what_a_page_does_not_offer_gets_a_page_with_a_way_back(staff: Client, path: str) -> None:
    assert "something that this page does not offer" in with_a_way_back(staff.get(path), 400)


def test_a_host_that_is_not_allowed_gets_no_page_of_the_admin(staff: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["engage.example"]
    answer = staff.get("/admin/", headers={"Host": "other.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")


@each("path", ["/admin/journeys/enrollment/a_00b/change/", "/admin/auth/user/99999999999999999999/change/"])
def test_a_record_s_address_with_such_a_value_is_that_of_none(staff: Client, path: str) -> None:
    assert staff.get(path)["Location"] == "/admin/"  # as the admin answers for what there is not


@pytest.fixture
def patient(staff: Client) -> Client:
    """Staff whose test looks at the answer where the service failed."""
    staff.raise_request_exception = False
    return staff


def test_a_page_that_fails_names_its_request_as_the_log_does(patient: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a-name-nobody-may-read")

    monkeypatch.setattr(ReadOnlyAdmin, "get_search_results", fail)
    with capture_logs(processors=[merge_contextvars]) as lines:
        answer = patient.get("/admin/journeys/enrollment/?q=x", headers={"X-Request-Id": "call-1"})
    page = with_a_way_back(answer, 500)
    assert "Something went wrong on our side." in page
    assert "<code>call-1</code>" in page
    [line] = [line for line in lines if line["event"] == "request_failed"]
    assert (line["log_level"], line["error"], line["request_id"]) == ("error", "internal_error", "call-1")
    assert isinstance(line["exc_info"], RuntimeError)
    assert "nobody-may-read" not in page


@each("path", ["/admin/", "/admin/journeys/enrollment/", "/admin/login/?next=/admin/"])
def test_staff_are_told_that_the_database_is_away(patient: Client, path: str) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(fail):
        answer = patient.get(path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert "The database does not answer at the moment." in answer.content.decode()


@each("path", ["/admin/login/", "/admin/engage/workspace/add/", "/admin/logout/"])
def test_who_sends_a_page_that_is_out_of_date_is_told_to_load_it_again(db: None, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    answer = client.post(path, {"csrfmiddlewaretoken": "old"}, headers={"X-Request-Id": "call-1"})
    page = with_a_way_back(answer, 403)
    assert "This page is out of date" in page
    assert f'<a href="{path}">Load it again</a>' in page
    assert "<code>call-1</code>" in page


@each(
    "came_from, again",
    [
        ("http://testserver/admin/a/?b=1&c=2", "http://testserver/admin/a/?b=1&amp;c=2"),
        ("http://evil.example/admin/", "/admin/logout/"),
        ("javascript:alert(1)", "/admin/logout/"),
    ],
)
def test_it_leads_to_the_page_that_was_sent_and_to_no_other_site(db: None, came_from: str, again: str) -> None:
    answer = Client(enforce_csrf_checks=True).post("/admin/logout/", headers={"Referer": came_from})
    assert f'<a href="{again}">Load it again</a>' in answer.content.decode()


def test_outside_the_admin_a_form_without_a_token_gets_json(rf: RequestFactory) -> None:
    answer = get_callable(settings.CSRF_FAILURE_VIEW)(rf.post("/admins/"), reason="CSRF cookie not set.")
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/json")
    assert json.loads(answer.content)["code"] == "forbidden"


def test_outside_the_admin_staff_get_json_too(staff: Client) -> None:
    for path in ("/nowhere", "/api/v1/nowhere", "/adminx/"):
        answer = staff.get(path)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")


def test_strangers_get_no_page_of_the_admin(db: None) -> None:
    for path in NOWHERE:
        assert Client().get(path)["Location"].startswith("/admin/login/")


def test_who_logs_in_without_having_been_sent_there_comes_to_the_overview(db: None) -> None:
    User.objects.create_user("ada", password="lovelace-1815", is_staff=True)
    answer = Client().post("/admin/login/", {"username": "ada", "password": "lovelace-1815"})
    assert answer["Location"] == "/admin/"


def test_a_form_from_an_origin_that_is_not_trusted_names_the_reason_and_the_setting(db: None) -> None:
    with capture_logs() as logs:
        answer = Client(enforce_csrf_checks=True).post("/admin/login/", headers={"Origin": "https://a.example"})
    page = with_a_way_back(answer, 403)
    assert "Origin checking failed" in page
    assert "CSRF_TRUSTED_ORIGINS" in page
    (entry,) = (entry for entry in logs if entry["event"] == "form_refused")
    assert (entry["origin"], "a.example" in entry["reason"]) == ("https://a.example", True)

"""Numbers and times at the ends of what fits, in every list's and page's address, are never a failure."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from engage.admin.pages.audit import _cell
from engage.admin.parts.columns import page_url
from engage.admin.parts.filters import TimesFilter
from engage.models import Workspace
from journeys.models import Journey, WebhookDelivery
from tests.admin.failures import failed_webhooks
from tests.admin.records import MODELS, list_of
from tests.support.cases import each
from tests.support.factories import JourneyFactory

NUMBERS = ("9" * 5000, "-1", "1e999", str(2**63), "²", "\0")
TIMES = ("0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-01-01T00:00Z")
DAYS = ("0001-01-01", "9999-12-31")
AT_ONCE = (("9" * 5000, TIMES[0]), ("-1", TIMES[1]), (str(2**63), TIMES[2]))


def asked_of_lists(request: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of each list, with all that it reads at once: a page takes 50 ms."""
    models: list[Any] = [*MODELS, WebhookDelivery]
    for model in models:
        changes: Any = admin.site.get_model_admin(model).get_changelist_instance(request)
        for number, time in AT_ONCE:
            values = {"q": number}
            for one in changes.filter_specs:
                value = time if isinstance(one, TimesFilter) else number
                values |= {name: value for name in one.expected_parameters() if name}
            yield list_of(model), values


def asked_of_pages(journey: Journey) -> Iterator[tuple[str, dict[str, str]]]:
    """Addresses of pages and of the lists' pages, with one value of what they read."""
    own, sending = page_url(journey), f"{list_of(WebhookDelivery)}send-again/"
    read = (
        (list_of(Journey), ("p",), NUMBERS),
        (own.replace("change/", "history/"), ("p",), NUMBERS),
        (page_url(journey.revisions.get()), ("from",), NUMBERS),
        (own.replace("change/", "map/"), ("revision",), NUMBERS),
        (own.replace("change/", "map/"), ("begin", "end"), DAYS),
        (sending, ("status",), NUMBERS),
        (sending, ("since", "before"), TIMES),
    )
    yield from ((page, {name: value}) for page, names, values in read for name in names for value in values)


@pytest.mark.slow
def test_no_value_at_the_end_of_what_fits_is_a_failure(staff: Client) -> None:
    request: Any = RequestFactory().get("/")
    request.user = User.objects.get(username="root")
    staff.raise_request_exception = False
    failed = [
        (page, {name: value[:30] for name, value in asked.items()})
        for page, asked in (*asked_of_lists(request), *asked_of_pages(JourneyFactory.create()))
        if staff.get(page, asked).status_code >= 500
    ]
    assert not failed


def test_no_text_that_is_searched_for_is_a_failure(staff: Client, acme: Workspace) -> None:
    (delivery,) = failed_webhooks(acme)
    for number in NUMBERS:
        answer = staff.get(list_of(WebhookDelivery), {"q": f"msg_{delivery.enrollment_id}_{number}"})
        assert answer.status_code < 500, number[:30]


@each("chosen", ["9" * 5000, str(2**63), "-1", "²", "1e999", ""])
def test_what_cannot_be_read_as_chosen_sends_nothing_again(staff: Client, acme: Workspace, chosen: str) -> None:
    (failed,) = failed_webhooks(acme)
    answer = staff.post(f"{list_of(WebhookDelivery)}send-again/", {"chosen": [failed.pk, chosen]})
    assert answer.status_code == 400
    failed.refresh_from_db()
    assert failed.state == "failed"


def test_a_cell_is_no_formula_behind_a_semicolon_either() -> None:
    assert _cell("a;=1+1; -2") == "a;'=1+1; '-2"
    assert _cell(";=1") == ";'=1"
    assert ";=" not in _cell({"name": [None, "a;=1"]})
    assert json.loads(_cell({"name": [None, "a;=1"]})) == {"name": [None, "a;=1"]}


@each("value", ["abc", *NUMBERS])
def test_what_can_be_no_key_is_refused_where_another_record_is_chosen(staff: Client, value: str) -> None:
    staff.raise_request_exception = False
    for model in MODELS:
        own: Any = admin.site.get_model_admin(model)
        if own.autocomplete_fields and not own.never_added:
            answer = staff.post(list_of(model) + "add/", dict.fromkeys(own.autocomplete_fields, value))
            assert answer.status_code in {200, 400}, model

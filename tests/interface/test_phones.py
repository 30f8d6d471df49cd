"""Phone numbers without a country: of the workspace's, in every call that names one."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.utils import timezone

from config.docs.documentation import openapi_document
from customers.identifier_rules import stored_phone
from customers.models import Alias, Customer, Event
from engage.models import App, Workspace
from journeys.seeding.export import exported
from journeys.seeding.seed import read_seed, seed_workspace
from tests.bridge.identity.tokens import proving, token
from tests.bridge.in_app.deliveries import deliver, offer
from tests.support.bridge_calls import click, identify, submit
from tests.support.calls import customers_path, data
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.conformance import at
from tests.support.factories import AppFactory, CustomerFactory

NATIONAL, INTERNATIONAL = "0170 1234567", "+491701234567"


@each(
    "written, country, stored",
    [
        (NATIONAL, "", NATIONAL), (NATIONAL, "DE", INTERNATIONAL), ("(0170) 123-4567", "DE", INTERNATIONAL),
        ("Mobil: 0170/1234567 (privat)", "DE", INTERNATIONAL), ("0049 170 1234567", "DE", INTERNATIONAL),
        ("Mobil: +49 170 1234567", "US", INTERNATIONAL), ("Mobil: +49 170 1234567", "", "Mobil: +49 170 1234567"),
        ("1 415 555 0101", "US", "+14155550101"), ("4752345678", "US", "+14752345678"),
        ("1701234567", "DE", INTERNATIONAL),
        ("4917012345678", "DE", "4917012345678"), ("0170 1234567 ext 5", "DE", "0170 1234567 ext 5"),
        ("0170 1234567, 0171 1234567", "DE", "0170 1234567, 0171 1234567"), ("110", "DE", "110"),
        ("1-800-FLOWERS", "US", "1-800-FLOWERS"), ("+49 00 170 1234567", "DE", "+49 00 170 1234567"),
    ],
)  # fmt: skip
def test_a_number_is_read_as_one_of_the_country_if_it_is_one(written: str, country: str, stored: str) -> None:
    assert stored_phone(written, country) == stored


def _fields(schema: Any, seen: tuple[str, ...] = ()) -> Iterator[str]:
    match schema:
        case {"$ref": str() as place} if place not in seen:
            yield from _fields(at(place), (*seen, place))
        case dict():
            yield from schema.get("properties", {})
            for part in schema.values():
                yield from _fields(part, seen)
        case list():
            for part in schema:
                yield from _fields(part, seen)


def _named(operation: Any) -> set[Any]:
    """The fields of its body and of its query string."""
    return {*_fields(operation.get("requestBody", {}))} | {one.get("name") for one in operation.get("parameters", [])}


NAMED = {
    operation["operationId"]
    for methods in openapi_document()["paths"].values()
    for operation in methods.values()
    if "phone" in _named(operation)
}
Call = Callable[[ServerClient, SdkClient, Workspace, Mapping[str, str]], Answer]
CALLS: Mapping[str, Call] = {
    "putCustomer": lambda server, _, acme, ada: server.put(customers_path(acme), ada),
    "putCustomers": lambda server, _, acme, ada: server.post(customers_path(acme, "batch"), {"customers": [ada, ada]}),
    "findCustomer": lambda server, _, acme, ada: server.get(f"{customers_path(acme)}?phone={ada['phone']}"),
    "reportEvents": lambda server, _, acme, ada: server.post(
        customers_path(acme, "events"), {"events": [{**ada, "eventName": "seen"}]}
    ),
    "mergeCustomers": lambda server, _, acme, ada: server.post(
        customers_path(acme, "merge"), {"customer": ada, "into": ada}
    ),
    "mergeCustomers ": lambda server, _, acme, ada: server.post(
        customers_path(acme, "merge"), {"anonymous": {"userId": "u-7"}, "into": ada}
    ),
    "recordAction": lambda _server, sdk, _, ada: click(sdk, userId=None, **ada),
    "captureForm": lambda _server, sdk, _, ada: submit(sdk, userId=None, **ada),
    "recordShownMessage": lambda _server, sdk, _, ada: sdk.post("/api/v1/sdk/bridge/shown", {"messageId": "m", **ada}),
    "recordBatch": lambda _server, sdk, _, ada: sdk.post(
        "/api/v1/sdk/bridge/batch",
        {"calls": [{"call": "action", "messageId": "m", "actionType": "close", **ada}]},
    ),
    "identify": lambda _server, sdk, _, ada: identify(sdk, **ada),
    "fetchDueMessages": lambda _server, sdk, _, ada: sdk.post("/api/v1/sdk/messages", dict(ada)),
    "getDueMessages": lambda _server, sdk, _, ada: sdk.get(f"/api/v1/sdk/messages?phone={ada['phone']}"),
}  # fmt: skip


def test_every_call_that_names_a_phone_is_tried_here() -> None:
    assert NAMED | {"recordBatch"} == {*map(str.strip, CALLS)}


@pytest.mark.django_db
@each("called", [*CALLS])
@each("known", ["international", "national", "alias"])
def test_they_all_reach_who_has_the_number_in_either_spelling(
    acme: Workspace, server: ServerClient, called: str, known: str
) -> None:
    Workspace.objects.filter(pk=acme.pk).update(default_country="DE")
    own = {"international": INTERNATIONAL, "national": NATIONAL, "alias": "+4930901820"}[known]
    ada = CustomerFactory.create(workspace=acme, external_id="ada", phone=own)
    if known == "alias":
        Alias.objects.create(workspace=acme, customer=ada, phone=NATIONAL)
    offer(acme)
    deliver(ada)
    sdk = SdkClient(AppFactory.create(workspace=acme, in_app=App.InApp.OPEN))
    answer = CALLS[called](server, sdk, acme, {"phone": NATIONAL})
    assert answer.status_code in {200, 202}, answer.json()
    assert Customer.objects.get().pk == ada.pk
    found = answer.json()["data"]
    if "messages" in called.lower() and called != "recordShownMessage":
        assert len(found["messages"]) == 1
    for one in found.get("results", [found]):
        assert one.get("customerId", ada.pk) == ada.pk
        assert one.get("status") != "failed"
    written = called in {"putCustomer", "putCustomers"} and known == "national"
    assert Customer.objects.get().phone == (INTERNATIONAL if written else own)


@pytest.mark.django_db
def test_a_token_and_a_page_may_spell_it_differently(acme: Workspace) -> None:
    Workspace.objects.filter(pk=acme.pk).update(default_country="DE")
    sdk = proving(acme)
    for known, sent, signed in [
        (INTERNATIONAL, NATIONAL, INTERNATIONAL), (INTERNATIONAL, "0170-1234567", NATIONAL),
        (NATIONAL, NATIONAL, INTERNATIONAL),
    ]:  # fmt: skip
        Customer.objects.all().delete()
        ada = CustomerFactory.create(workspace=acme, external_id="ada", phone=known)
        data(click(sdk, userId=None, phone=sent, identityToken=token(phone=signed)), status=200)
        assert Customer.objects.get().pk == ada.pk
    other = click(sdk, userId=None, phone="0170 7654321", identityToken=token(phone=NATIONAL))
    none = click(sdk, userId=None, phone=NATIONAL, identityToken=token())
    assert [answer.json()["code"] for answer in (other, none)] == ["identity_token_mismatch"] * 2


@pytest.mark.django_db
def test_without_a_country_a_number_is_what_it_was(acme: Workspace, server: ServerClient) -> None:
    results = data(server.post(customers_path(acme, "batch"), {"customers": [{"phone": NATIONAL}]}), status=200)[
        "results"
    ]
    assert results[0]["warnings"] == [
        "phone could not be read as an international number. It is stored as it was sent."
    ]
    data(server.post(customers_path(acme, "events"), {"phone": NATIONAL, "eventName": "seen"}))
    assert Event.objects.get().customer == Customer.objects.get(phone=NATIONAL)


@pytest.mark.django_db
def test_the_country_stands_in_seed_files(acme: Workspace) -> None:
    for told in ("DE", None):
        document = {"workspace": {"key": "acme", "defaultCountry": told}, "customers": [{"phone": NATIONAL}]}
        seed_workspace(seed=read_seed(document), crowd_size=0, renew_keys=False, now=timezone.now())
        assert exported(Workspace.objects.get(key="acme"))["workspace"].get("defaultCountry") == told
    assert {*Customer.objects.values_list("phone", flat=True)} == {NATIONAL, INTERNATIONAL}

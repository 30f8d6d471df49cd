"""However an identifier is typed, it is the same; and the doctor counts what is stored in another spelling."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command

from config.monitoring.doctor import findings
from customers.identifier_rules import ascii_domain, one_spelling
from customers.models import Customer, SegmentMembership
from engage.models import Workspace
from journeys.models import EnrollmentJob, Journey
from tests.support.bridge_calls import click
from tests.support.calls import customers_path, data, refused, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory

APART, TOGETHER = "Rene\u0301", "Ren\u00e9"
UNICODE, ASCII = "Ada@M\u00dcNCHEN.example", "ada@xn--mnchen-3ya.example"


@pytest.fixture
def rene(acme: Workspace) -> Customer:
    return CustomerFactory.create(
        workspace=acme, external_id=TOGETHER, email=ASCII, user_id=f"u-{TOGETHER}", phone=f"desk {TOGETHER}"
    )


@each(
    "domain, spelled",
    [
        ("Example.COM", "example.com"),
        ("XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"),
        ("mu\u0308nchen.example", "xn--mnchen-3ya.example"),
        ("m\u00fcnchen\u3002example", "xn--mnchen-3ya.example"),
        ("\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com", "example.com"),
        ("example\u212a.com", "examplek.com"),  # to DNS, the Kelvin sign is a k
        ("stra\u00dfe.example", "xn--strae-oqa.example"),  # not strasse.example, which is somebody else's
        ("\u039f\u0394\u039f\u03a3.example", "xn--pxavbq.example"),
        ("m\u00fcn\u200bchen.example", "m\u00fcn\u200bchen.example"),
        ("\u00fc" * 64 + ".example", "\u00fc" * 64 + ".example"),
        ("\ufdfa" * 240, "\ufdfa" * 240),
    ],
)
def test_a_domain_is_spelled_as_dns_has_it_and_one_that_cannot_be_is_left(domain: str, spelled: str) -> None:
    assert ascii_domain(domain) == spelled


def test_what_is_too_long_for_an_identifier_costs_nothing() -> None:
    assert one_spelling(f"{APART * 50_000}") == APART * 50_000


@each("name, sent", [("external_id", APART), ("email", UNICODE), ("userId", f"u-{APART}"), ("phone", f"desk {APART}")])
def test_calls_about_customers_and_the_bridge_know_them_by_either_spelling(
    acme: Workspace, server: ServerClient, sdk: SdkClient, rene: Customer, name: str, sent: str
) -> None:
    found = data(server.put(customers_path(acme), {name: sent, "attributes": {"plan": "pro"}}), status=200)
    assert found["customerId"] == rene.id
    read = f"{customers_path(acme)}?{urlencode({name: sent})}"
    assert data(server.get(read), status=200)["customerId"] == rene.id
    event = {name: sent, "eventName": "bought"}
    assert data(server.post(customers_path(acme, "events"), event))["customerId"] == rene.id
    data(click(sdk, **{"userId": None, name: sent}), status=200)
    assert Customer.objects.count() == 1


@each("field", [{"external_id": APART}, {"email": UNICODE}])
def test_a_trigger_names_them_by_either_spelling(
    server: ServerClient, rene: Customer, journey: Journey, field: dict[str, str]
) -> None:
    but_not = {"exclude_external_ids": [APART]}
    assert data(trigger(server, journey, field))["customerId"] == rene.id
    assert data(trigger(server, journey, {**field, **but_not}), status=200)["status"] == "excluded"
    many = {"external_ids": [APART, TOGETHER, "nobody"]}
    assert data(trigger(server, journey, many))["customerIds"] == [rene.id]
    assert data(trigger(server, journey, {**many, **but_not}))["customerIds"] == []
    assert EnrollmentJob.objects.count() == 2


@each("field", [{"external_id": APART}, {"email": UNICODE}, {"external_ids": [APART]}])
def test_so_does_a_dry_run(server: ServerClient, rene: Customer, journey: Journey, field: dict[str, Any]) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger?dryRun=true"
    tried = data(server.post(path, field), status=200)
    assert (tried["found"], tried["results"]) == (1, {"enrolled": 1})
    tried = data(server.post(path, {**field, "exclude_external_ids": [APART]}), status=200)
    assert (tried["found"], tried["results"]) == (0, {})


def test_segments_and_seed_files_know_them_by_either_spelling(
    acme: Workspace, server: ServerClient, rene: Customer, tmp_path: Path
) -> None:
    segment = SegmentFactory.create(workspace=acme, key="vip")
    members = customers_path(acme, "segments", segment.id, "members")
    assert data(server.post(members, {"add": [APART, TOGETHER]}), status=200)["added"] == 1
    assert data(server.post(members, {"remove": [APART]}), status=200)["removed"] == 1
    refused(server.post(members, {"add": [APART], "remove": [TOGETHER]}), status=400, error="Invalid request")
    for customers in ([], [{"external_id": APART, "email": UNICODE}]):
        SegmentMembership.objects.all().delete()
        file = tmp_path / "seed.json"
        described: dict[str, Any] = {"customers": customers, "segments": [{"key": "vip", "members": [APART]}]}
        file.write_text(json.dumps({"workspace": {"key": acme.key}, **described}))
        call_command("seed_workspace", str(file))
        assert SegmentMembership.objects.get().customer == rene
    assert Customer.objects.count() == 1


@each(
    "email",
    ["kelvin\u212a@example.com", "ad\u00e1@example.com", "ada@m\u00fcn\u200bchen.example", "ada@\u2028.example"],
)
def test_an_address_is_checked_before_it_is_respelled(
    acme: Workspace, server: ServerClient, sdk: SdkClient, email: str
) -> None:
    refused(server.put(customers_path(acme), {"email": email}), status=400, error="Invalid request")
    refused(click(sdk, userId=None, email=email), status=400, error="Invalid request")
    assert not Customer.objects.exists()


def test_a_customer_who_is_made_is_stored_in_one_spelling(acme: Workspace, server: ServerClient) -> None:
    sent = {"external_id": APART, "email": UNICODE, "userId": APART, "phone": APART}
    data(server.put(customers_path(acme), sent), status=201)
    stored = Customer.objects.values_list("external_id", "email", "user_id", "phone").get()
    assert stored == (TOGETHER, ASCII, TOGETHER, TOGETHER)


# What was stored before -----------------------------------------------------------------------------------------------


def doctor() -> tuple[str, str]:
    (found,) = [one for one in findings() if one.check == "spellings"]
    return found.state, found.says


@pytest.mark.django_db(transaction=True)
def test_the_doctor_counts_who_has_an_identifier_in_another_spelling(acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id=TOGETHER, email=ASCII, phone=TOGETHER, user_id=TOGETHER)
    assert doctor() == ("ok", "Every identifier has its one spelling.")
    for column in ("external_id", "phone", "user_id"):
        CustomerFactory.create(workspace=acme, **{"external_id": None, column: f"{column} {APART}"})
    CustomerFactory.create(workspace=acme, external_id=None, email=UNICODE.lower())
    state, says = doctor()
    assert (state, says.startswith("4 customers have an identifier in another spelling")) == ("warning", True)

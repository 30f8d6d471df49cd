"""What anybody can say of a person through the bridge: it is a claim, and yields to what a server knows."""

from typing import Any

import pytest

from customers.models import Customer, SegmentMembership
from engage.models import Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST, call, refused_without_a_trace
from tests.support.calls import customers_path, data, refused
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory

KIB = 1024
VICTIM = "ada@example.com"
PLANTED = {"userId": "stranger", "phone": "+4915112345678", "email": VICTIM}


@pytest.fixture
def planted(sdk: SdkClient, acme: Workspace) -> Customer:
    """A stranger has clicked, and said that the victim's e-mail belongs to their own phone and user id."""
    assert call(sdk, ACTION, {**LEAST[ACTION], **PLANTED}).succeeded
    return Customer.objects.get(workspace=acme)


def known_by(customer: Customer) -> dict[str, str]:
    stored = Customer.objects.get(id=customer.id)
    names = ("external_id", "email", "phone", "user_id")
    return {name: value for name in names if (value := getattr(stored, name)) is not None}


def put(server: ServerClient, body: dict[str, Any], *, status: int = 200) -> dict[str, Any]:
    return data(server.put(customers_path(server.key.workspace), body), status=status)


def batch(server: ServerClient, body: dict[str, Any]) -> dict[str, Any]:
    (done,) = data(server.post(customers_path(server.key.workspace, "batch"), {"customers": [body]}), status=200)[
        "results"
    ]
    return data(server.get(customers_path(server.key.workspace, done["customerId"])), status=200)


WAYS = pytest.mark.parametrize("write", [put, batch], ids=["put", "batch"])


@WAYS
def test_a_servers_call_drops_the_claims_that_it_does_not_confirm(
    server: ServerClient, sdk: SdkClient, planted: Customer, write: Any
) -> None:
    """Whoever knows the address alone may have said the rest in advance, the user id as well."""
    answered = write(server, {"external_id": "x-1", "email": VICTIM})
    assert answered["customerId"] == planted.id
    assert known_by(planted) == {"external_id": "x-1", "email": VICTIM}
    assert (answered["phone"], answered["userId"]) == (None, None)
    assert Customer.objects.get(id=planted.id).claimed_identifiers == []
    assert call(sdk, CAPTURE, {"userId": "stranger", "formData": {"vip": True}}).succeeded
    assert "vip" not in Customer.objects.get(id=planted.id).attributes


@WAYS
def test_a_user_id_stays_where_an_address_alone_is_confirmed_and_leads_no_server(
    server: ServerClient, planted: Customer, write: Any
) -> None:
    write(server, {"email": VICTIM})
    assert known_by(planted) == {"email": VICTIM, "user_id": "stranger"}
    assert server.put(customers_path(server.key.workspace), {"userId": "stranger"}).status_code == 201
    assert known_by(planted) == {"email": VICTIM}


@WAYS
def test_claims_that_the_server_names_itself_stay(server: ServerClient, planted: Customer, write: Any) -> None:
    write(server, {"email": VICTIM, "userId": "stranger"})
    assert known_by(planted) == {"email": VICTIM, "user_id": "stranger"}


def test_what_a_server_has_named_once_is_no_claim(server: ServerClient, planted: Customer) -> None:
    put(server, {"email": VICTIM, "userId": "stranger"})
    put(server, {"email": VICTIM})
    assert known_by(planted) == {"email": VICTIM, "user_id": "stranger"}


@WAYS
def test_a_foreign_external_id_is_taken_from_who_only_claims_it(
    server: ServerClient, sdk: SdkClient, acme: Workspace, write: Any
) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id=None, email=VICTIM)
    assert call(
        sdk, ACTION, {**LEAST[ACTION], "userId": None, "external_id": "x-1", "email": "eve@evil.example"}
    ).succeeded
    eve = Customer.objects.get(workspace=acme, external_id="x-1")
    answered = write(server, {"external_id": "x-1", "email": VICTIM})
    assert answered["customerId"] == ada.id
    assert known_by(ada) == {"external_id": "x-1", "email": VICTIM}
    assert known_by(eve) == {"email": "eve@evil.example"}


def test_a_claimed_external_id_keeps_no_server_from_an_email(
    server: ServerClient, sdk: SdkClient, acme: Workspace
) -> None:
    """It was 409 for good."""
    assert call(sdk, ACTION, {**LEAST[ACTION], "userId": None, "external_id": "junk", "email": VICTIM}).succeeded
    put(server, {"external_id": "x-1", "email": VICTIM})
    assert known_by(Customer.objects.get(workspace=acme)) == {"external_id": "x-1", "email": VICTIM}


def test_of_two_claims_the_more_trusted_identifier_decides(
    server: ServerClient, sdk: SdkClient, acme: Workspace
) -> None:
    for claim in ({"external_id": "x-1"}, {"email": VICTIM}):
        assert call(sdk, ACTION, {**LEAST[ACTION], "userId": None, **claim}).succeeded
    first, second = Customer.objects.filter(workspace=acme).order_by("external_id")
    put(server, {"external_id": "x-1", "email": VICTIM})
    assert known_by(first) == {"external_id": "x-1", "email": VICTIM}
    assert known_by(second) == {}


def test_a_customer_id_takes_claims_away_too(server: ServerClient, acme: Workspace, planted: Customer) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="x-1")
    put(server, {"customerId": ada.id, "email": VICTIM})
    assert known_by(ada) == {"external_id": "x-1", "email": VICTIM}
    assert known_by(planted) == {"phone": PLANTED["phone"], "user_id": PLANTED["userId"]}


def test_what_two_servers_customers_are_known_by_is_still_a_conflict(server: ServerClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="x-1")
    CustomerFactory.create(workspace=acme, external_id="x-2", email=VICTIM)
    answer = server.put(customers_path(acme), {"external_id": "x-1", "email": VICTIM})
    refused(answer, status=409, error="Identifier conflict")


def test_a_call_that_is_refused_takes_nothing_away(server: ServerClient, acme: Workspace, planted: Customer) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="x-1")
    answer = server.put(customers_path(acme), {"customerId": ada.id, "email": VICTIM, "attributes": {"$": 1}})
    refused(answer, status=400, error="Invalid request")
    assert known_by(planted) == {"email": VICTIM, "phone": PLANTED["phone"], "user_id": "stranger"}


def test_another_tenants_claims_stay_theirs(rival_server: ServerClient, planted: Customer) -> None:
    put(rival_server, {"external_id": "x-1", "email": VICTIM}, status=201)
    assert known_by(planted) == {"email": VICTIM, "phone": PLANTED["phone"], "user_id": "stranger"}


def test_a_call_that_only_names_somebody_leaves_their_claims(
    server: ServerClient, acme: Workspace, sdk: SdkClient
) -> None:
    """An SDK may be the first to say who somebody is; a server that then triggers for them has said nothing else."""
    assert call(sdk, ACTION, {**LEAST[ACTION], "userId": None, "external_id": "x-1", "email": VICTIM}).succeeded
    segment = SegmentFactory.create(workspace=acme)
    assert server.post(customers_path(acme, "segments", segment.id, "members"), {"add": ["x-1"]}).succeeded
    assert SegmentMembership.objects.count() == 1
    assert known_by(Customer.objects.get(workspace=acme)) == {"external_id": "x-1", "email": VICTIM}


# What strangers write ------------------------------------------------------------------------------------------------


def fill(sdk: SdkClient, number: int, size: int) -> Any:
    return call(sdk, CAPTURE, {"external_id": "x-1", "formData": {f"junk-{number}": "x" * size}})


def test_nobodys_clicks_keep_a_server_from_writing(server: ServerClient, sdk: SdkClient, acme: Workspace) -> None:
    """Eight calls filled a profile, and every later PUT was refused."""
    CustomerFactory.create(workspace=acme, external_id="x-1")
    assert {fill(sdk, number, 60 * KIB).status_code for number in range(8)} == {400}
    assert fill(sdk, 8, 15 * KIB).succeeded
    whole = {f"own-{number}": "x" * 60 * KIB for number in range(4)}
    for name, value in whole.items():
        put(server, {"external_id": "x-1", "attributes": {name: value}})
    assert set(Customer.objects.get(workspace=acme).attributes) == {"junk-8", *whole}


def test_a_stranger_is_told_no_sizes(sdk: SdkClient) -> None:
    answer = call(sdk, CAPTURE, {"external_id": "x-1", "formData": {"junk": "x" * 17 * KIB}})
    message = refused_without_a_trace(answer, status=400)
    assert message == "In-app messages cannot write as much as this about one customer."


def test_what_a_server_writes_over_is_the_servers(server: ServerClient, sdk: SdkClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="x-1")
    assert fill(sdk, 0, 15 * KIB).succeeded
    assert fill(sdk, 1, 15 * KIB).status_code == 400
    put(server, {"external_id": "x-1", "attributes": {"junk-0": "x" * 15 * KIB}})
    assert fill(sdk, 1, 15 * KIB).succeeded

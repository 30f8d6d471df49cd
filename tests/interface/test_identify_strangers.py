"""`POST /api/v1/sdk/identify` reaches nobody whom a server knows by their userId, and nobody who was erased."""

import pytest

from bridge.models import Interaction
from customers.erasure import erase_customer
from customers.models import Alias, Customer, Event
from engage.models import Workspace
from tests.interface.identified import SAME_FOR_ALL, done
from tests.support.bridge_calls import ANON, SEEN, click, identify
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory

# Whom a server knows by their userId ---------------------------------------------------------------------------------


@pytest.fixture
def u77(acme: Workspace, server: ServerClient) -> Customer:
    data(server.put(customers_path(acme), {"userId": "u-77", "attributes": {"iban": "DE1"}}), status=201)
    return Customer.objects.get(user_id="u-77")


STRANGERS: list[dict[str, str]] = [
    {"email": "evil@evil.example"},
    {"external_id": "evil"},
    {"external_id": "evil", "phone": "+491701234567"},
    {"external_id": "ada"},
    {"external_id": "ada", "email": "grace@example.com"},
]


@each("known", STRANGERS)
def test_a_stranger_takes_over_nobody_whom_a_server_knows(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer, u77: Customer, known: dict[str, str]
) -> None:
    CustomerFactory.create(workspace=acme, external_id="grace", email="grace@example.com")
    before = list(Customer.objects.order_by("id").values())
    for _ in range(2):
        answer = identify(sdk, user_id="u-77", **known)
        assert refused(answer, status=409, error="Identifier conflict") == SAME_FOR_ALL
    assert list(Customer.objects.order_by("id").values()) == before
    assert not Alias.objects.exists()
    assert not Interaction.objects.exists()


@each("known", [{"email": "evil@evil.example"}, {"external_id": "evil"}, {"phone": "+491701234567"}])
@each("says", ["click", "identify"])
@each("signs_up", [False, True])
def test_a_stranger_takes_over_nobody_in_advance(
    acme: Workspace, sdk: SdkClient, server: ServerClient, known: dict[str, str], says: str, signs_up: bool
) -> None:
    """What servers know of whoever has signed up as the stranger stays theirs alone."""
    (click if says == "click" else identify)(sdk, **{"userId" if says == "click" else "user_id": "u-77"}, **known)
    if signs_up:
        data(server.put(customers_path(acme), {**known, "attributes": {"evil": True}}), status=200)
    answer = server.put(customers_path(acme), {"userId": "u-77", "attributes": {"iban": "DE1"}})
    u77 = Customer.objects.get(user_id="u-77")
    assert answer.json()["data"]["customerId"] == u77.id
    assert (u77.attributes, u77.email, u77.phone) == ({"iban": "DE1"}, None, None)
    if not signs_up:
        server.put(customers_path(acme), {**known, "attributes": {"evil": True}})
    assert not Customer.objects.filter(attributes__has_keys=["evil", "iban"]).exists()
    assert identify(sdk, user_id="u-77", external_id="evil-2").status_code == 409


def test_somebody_seen_by_a_page_before_a_server_wrote_them_is_not_anonymous(
    acme: Workspace, sdk: SdkClient, server: ServerClient
) -> None:
    click(sdk, userId="u-77")
    data(server.put(customers_path(acme), {"userId": "u-77", "attributes": {"iban": "DE1"}}), status=200)
    refused(identify(sdk, user_id="u-77", external_id="evil"), status=409, error="Identifier conflict")


# Erased people ------------------------------------------------------------------------------------------------------


def test_an_erased_anonymous_id_is_not_made_anew(acme: Workspace, sdk: SdkClient) -> None:
    click(sdk, userId=ANON)
    erase_customer(workspace_id=acme.id, customer_id=Customer.objects.get().id)
    refused(identify(sdk, external_id="ada"), status=410, error="Customer erased")
    assert not Customer.objects.exists()

    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    done(identify(sdk, external_id="ada"))
    refused(click(sdk, userId=ANON), status=410, error="Customer erased")
    assert Customer.objects.get() == ada


def test_erasing_the_known_one_erases_their_anonymous_ids(acme: Workspace, sdk: SdkClient, ada: Customer) -> None:
    click(sdk, userId=ANON, **SEEN)
    done(identify(sdk, external_id="ada"))
    done(identify(sdk, user_id="anon-2", external_id="ada"))
    erase_customer(workspace_id=acme.id, customer_id=ada.id)
    for model in (Event, Interaction, Alias):
        assert not model._default_manager.exists()
    for user_id in (ANON, "anon-2"):
        refused(click(sdk, userId=user_id), status=410, error="Customer erased")

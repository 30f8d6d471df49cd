"""`POST /api/v1/sdk/identify`: the person behind an anonymous userId has logged in."""

from typing import Any

from bridge.models import Interaction
from customers.attribute_rules import MAX_CLAIMED_BYTES
from customers.models import Alias, Customer, Event
from engage.models import AuditEntry, Workspace
from tests.bridge.identity.tokens import proving, token
from tests.interface.identified import done, identifiers_of
from tests.support.bridge_calls import ANON, SEEN, click, identify, submit
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory

# Nobody is known ----------------------------------------------------------------------------------------------------


def test_the_anonymous_customer_gets_the_identifiers_as_claims(acme: Workspace, sdk: SdkClient) -> None:
    click(sdk, userId=ANON, **SEEN)
    done(identify(sdk, external_id="ada", email="Ada@Example.com", phone="+49 170 1234567"))
    customer = Customer.objects.get()
    assert identifiers_of(customer) == {
        "user_id": ANON, "external_id": "ada", "email": "ada@example.com", "phone": "+491701234567",
    }  # fmt: skip
    assert customer.claimed_identifiers == ["user_id", "external_id", "email", "phone"]
    assert Event.objects.get().customer == customer
    kinds = Interaction.objects.filter(customer=customer).values_list("kind", "message_id")
    assert set(kinds) == {("track_event", "welcome"), ("identify", "")}


def test_a_new_customer_has_all_identifiers(acme: Workspace, sdk: SdkClient) -> None:
    done(identify(sdk, external_id="ada"))
    assert identifiers_of(Customer.objects.get())["external_id"] == "ada"
    assert Interaction.objects.get().created_customer


# Somebody is known --------------------------------------------------------------------------------------------------


def test_the_anonymous_customer_becomes_the_known_one(acme: Workspace, sdk: SdkClient, server: ServerClient) -> None:
    server.put(customers_path(acme), {"external_id": "ada", "attributes": {"plan": "pro"}})
    submit(sdk, userId=ANON, formData={"plan": "free", "colour": "red"})
    click(sdk, userId=ANON, **SEEN)
    done(identify(sdk, external_id="ada"))
    ada = Customer.objects.get()
    assert identifiers_of(ada) == {"user_id": None, "external_id": "ada", "email": None, "phone": None}
    assert (ada.attributes, ada.claimed_attributes) == ({"plan": "pro", "colour": "red"}, ["colour"])
    assert Event.objects.get().customer == ada
    assert Interaction.objects.filter(customer=ada).count() == Interaction.objects.count() == 3


@each("seen_before", [True, False])
def test_the_anonymous_id_leads_to_the_known_one_from_then_on(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer, seen_before: bool
) -> None:
    if seen_before:
        click(sdk, userId=ANON)
    done(identify(sdk, external_id="ada"))
    for call in (click(sdk, userId=ANON, **SEEN), submit(sdk, userId=ANON, formData={"a": 1}), click(sdk, userId=ANON)):
        assert call.status_code == 200
    event = {"userId": ANON, "eventName": "bought"}
    assert data(server.post(customers_path(acme, "events"), event))["customerId"] == ada.id
    assert data(server.get(customers_path(acme) + f"?userId={ANON}"), status=200)["customerId"] == ada.id
    assert Customer.objects.get() == ada
    assert Event.objects.filter(customer=ada).count() == 2
    assert identifiers_of(ada) == {"user_id": None, "external_id": "ada", "email": None, "phone": None}


def test_it_still_does_after_a_put_that_does_not_name_it(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer
) -> None:
    done(identify(sdk, external_id="ada"))
    server.put(customers_path(acme), {"external_id": "ada", "email": "ada@example.com"})
    click(sdk, userId=ANON, **SEEN)
    assert Event.objects.get().customer == ada


@each(
    "said, found, left",
    [
        ({"external_id": "ada"}, True, {"user_id": ANON, "external_id": "ada"}),
        ({"external_id": "ada", "userId": "u-9"}, True, {"user_id": "u-9", "external_id": "ada"}),
        ({"email": "ada@example.com"}, True, {"user_id": ANON, "email": "ada@example.com"}),
        ({"userId": ANON}, True, {"user_id": ANON, "external_id": "ada"}),
        ({"userId": "anon-2"}, False, {"user_id": ANON, "external_id": "ada", "email": "ada@example.com"}),
        ({"customerId": ...}, True, {"user_id": ANON, "external_id": "ada", "email": "ada@example.com"}),
        ({"customerId": ..., "phone": "+491701234567"}, True, {"user_id": ANON, "phone": "+491701234567"}),
    ],
)
@each("batch", [False, True])
def test_what_a_put_leaves_of_what_only_pages_have_said(
    acme: Workspace, sdk: SdkClient, server: ServerClient, said: dict[str, Any], found: bool, left: dict[str, str],
    batch: bool,
) -> None:  # fmt: skip
    """An address that only a page has named does not stay beside what a server says. The page is still known."""
    click(sdk, userId=ANON)
    done(identify(sdk, external_id="ada", email="ada@example.com"))
    done(identify(sdk, user_id="anon-2", external_id="ada"))
    customer = Customer.objects.get()
    body = {**said, "attributes": {"plan": "pro"}, **({"customerId": customer.id} if "customerId" in said else {})}
    if batch:
        (answer,) = data(server.post(customers_path(acme, "batch"), {"customers": [body]}), status=200)["results"]
    else:
        answer = data(server.put(customers_path(acme), body), status=200 if found else 201)
    assert (answer["customerId"] == customer.id) is found
    assert {name: value for name, value in identifiers_of(customer).items() if value} == left
    assert Customer.objects.get(attributes__plan="pro").id == answer["customerId"]
    for user_id in (ANON, "anon-2"):
        click(sdk, userId=user_id, **SEEN)
    assert Event.objects.filter(customer=customer).count() == (2 if found else 1)


@each("also", [{}, {"external_id": "bob"}])
def test_what_a_server_says_of_the_user_id_comes_first(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer, also: dict[str, str]
) -> None:
    """A stranger may have made somebody's real user id another one's alias."""
    done(identify(sdk, user_id="u-bob", external_id="ada"))
    bob = data(server.put(customers_path(acme), {"userId": "u-bob", **also}), status=201)
    click(sdk, userId="u-bob", **SEEN)
    assert Event.objects.get().customer_id == bob["customerId"]
    again = data(server.put(customers_path(acme), {"userId": "u-bob", "attributes": {"iban": 1}}), status=200)
    assert again["customerId"] == bob["customerId"]


def test_a_servers_merge_comes_first_as_well(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer
) -> None:
    for user_id, known in (("u-1", "eve"), ("u-2", "grace")):
        if known == "grace":
            CustomerFactory.create(workspace=acme, external_id="grace")
        done(identify(sdk, user_id=user_id, external_id=known))
        body = {"anonymous": {"userId": user_id}, "into": {"external_id": "ada"}}
        assert data(server.post(customers_path(acme, "merge"), body), status=200)["merged"]
        click(sdk, userId=user_id, **SEEN)
    assert Event.objects.filter(customer=ada).count() == 2
    put = data(server.put(customers_path(acme), {"userId": "u-1", "attributes": {"plan": "pro"}}), status=200)
    assert put["customerId"] == ada.id  # an alias that a server has made


def test_several_devices_lead_to_one_customer(acme: Workspace, sdk: SdkClient) -> None:
    for device in ("phone", "laptop", "tablet"):
        click(sdk, userId=device, **SEEN)
        done(identify(sdk, user_id=device, external_id="ada"))
    assert Event.objects.filter(customer=Customer.objects.get()).count() == 3


def test_a_call_that_is_repeated_changes_nothing(sdk: SdkClient, ada: Customer) -> None:
    click(sdk, userId=ANON)
    for key in ("k-1", "k-1", "k-2"):
        done(identify(sdk, external_id="ada", idempotencyKey=key))
    assert Customer.objects.get() == ada
    assert Interaction.objects.filter(kind="identify").count() == 2


def test_claims_do_not_stand_in_the_way_of_somebody_who_is_known(
    sdk: SdkClient, ada: Customer, server: ServerClient
) -> None:
    stranger = {"userId": "stranger", "email": "ada@example.com"}
    click(sdk, **stranger)
    click(sdk, userId=ANON, **SEEN)
    done(identify(sdk, external_id="ada", email="ada@example.com"))
    assert Event.objects.get().customer == ada
    assert Customer.objects.filter(user_id="stranger", email="ada@example.com").exists()


def test_attributes_without_room_are_left_out(sdk: SdkClient, ada: Customer) -> None:
    half = "x" * (MAX_CLAIMED_BYTES // 2)
    Customer.objects.filter(id=ada.id).update(attributes={"own": half}, claimed_attributes=["own"])
    submit(sdk, userId=ANON, formData={"large": half, "small": 1})
    done(identify(sdk, external_id="ada"))
    ada.refresh_from_db()
    assert (ada.attributes, ada.claimed_attributes) == ({"own": half, "small": 1}, ["own", "small"])


# Never merged -------------------------------------------------------------------------------------------------------


@each(
    "holder, known",
    [
        ({"user_id": ANON, "external_id": "bob"}, {"external_id": "ada"}),
        ({"user_id": ANON, "email": "bob@example.com"}, {"external_id": "ada"}),
        ({"user_id": ANON, "external_id": "bob"}, {"external_id": "nobody"}),
        ({"user_id": ANON}, {"external_id": "ada", "email": "grace@example.com"}),
    ],
)
def test_two_customers_with_other_identifiers_are_a_conflict(
    acme: Workspace, sdk: SdkClient, ada: Customer, holder: dict[str, str], known: dict[str, str]
) -> None:
    CustomerFactory.create(workspace=acme, external_id="grace", email="grace@example.com")
    CustomerFactory.create(workspace=acme, **{"external_id": None, **holder})
    before = list(Customer.objects.order_by("id").values())
    message = refused(identify(sdk, **known), status=409, error="Identifier conflict")
    assert not any(customer["id"] in message for customer in before)
    assert list(Customer.objects.order_by("id").values()) == before
    assert not Interaction.objects.exists()
    assert not Alias.objects.exists()


def test_an_anonymous_id_that_is_somebodys_stays_theirs(acme: Workspace, sdk: SdkClient, ada: Customer) -> None:
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    done(identify(sdk, external_id="ada"))
    refused(identify(sdk, external_id="bob"), status=409, error="Identifier conflict")
    click(sdk, userId=ANON, **SEEN)
    assert Event.objects.get().customer == ada
    assert not Interaction.objects.filter(customer=bob).exists()


def test_another_workspace_is_not_seen(sdk: SdkClient, rival: Workspace, rival_sdk: SdkClient) -> None:
    theirs = CustomerFactory.create(workspace=rival, external_id="ada")
    click(rival_sdk, userId=ANON, **SEEN)
    done(identify(sdk, external_id="ada"))
    done(identify(rival_sdk, external_id="ada"))
    click(sdk, userId=ANON)
    assert Event.objects.get().customer == theirs
    assert Customer.objects.exclude(workspace=rival).get().external_id == "ada"


def test_two_on_one_computer_stay_two(acme: Workspace, sdk: SdkClient) -> None:
    done(identify(sdk, external_id="ada"))
    refused(identify(sdk, external_id="bob"), status=409, error="Identifier conflict")
    refused(identify(sdk, email="bob@example.com"), status=409, error="Identifier conflict")
    assert identifiers_of(Customer.objects.get()) == {
        "user_id": ANON, "external_id": "ada", "email": None, "phone": None,
    }  # fmt: skip


def test_a_merge_is_noted(acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer) -> None:
    click(sdk, userId=ANON)
    anonymous = Customer.objects.get(user_id=ANON)
    done(identify(sdk, external_id="ada"))
    body = {"anonymous": {"userId": "anon-2"}, "into": {"external_id": "ada"}}
    data(server.post(customers_path(acme, "merge"), body), status=200)
    of_page, of_server = AuditEntry.objects.filter(action="merged").order_by("at")
    assert (of_page.object_id, of_page.changes) == (ada.id, {"customerId": [anonymous.id, ada.id]})
    assert (of_page.actor_kind, of_page.actor_id) == ("stranger", sdk.headers["X-App-Id"])
    assert (of_server.object_id, of_server.actor_kind, of_server.actor_id) == (ada.id, "key", server.key.id)


# Another identifier of somebody who has been identified ---------------------------------------------------------------


@each(
    "confirmed, covered, added",
    [(False, False, ["email"]), (True, False, []), (True, True, ["email"]), (False, True, ["email"])],
)
def test_another_identifier_is_taken_for_whom_nobody_knows_or_with_a_proof(
    acme: Workspace, server: ServerClient, confirmed: bool, covered: bool, added: list[str]
) -> None:
    sdk = proving(acme, "report")
    assert done(identify(sdk, external_id="ada")) == ["external_id"]
    if confirmed:
        data(server.put(customers_path(acme), {"external_id": "ada"}), status=200)
    sent = {"identityToken": token(email="ada@example.com")} if covered else {}
    assert done(identify(sdk, external_id="ada", email="ada@example.com", **sent)) == added
    assert done(identify(sdk, external_id="ada", email="ada@example.com", **sent)) == []
    ada = Customer.objects.get()
    assert ada.email == ("ada@example.com" if added else None)
    assert ("email" in ada.claimed_identifiers) is (not covered and bool(added))


@each("known", [False, True])
def test_what_was_added_does_not_tell_whether_the_one_identifier_was_known(
    acme: Workspace, sdk: SdkClient, known: bool
) -> None:
    if known:
        CustomerFactory.create(workspace=acme, external_id="ada", email="ada@example.com")
    for user_id, body in (("a", {"external_id": "ada"}), ("b", {"email": "ada@example.com"})):
        assert done(identify(sdk, user_id=user_id, **body)) == list(body)

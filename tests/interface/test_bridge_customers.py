"""Customer resolution, the same in both bridge calls."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import App, Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, both_calls, call, refused_without_a_trace
from tests.support.calls import refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.simultaneous import all_at_once

EVERYTHING = {"userId": "u-1", "external_id": "x-1", "email": "ada@example.com", "phone": "+4915112345678"}
COLUMNS = {"userId": "user_id", "external_id": "external_id", "email": "email", "phone": "phone"}


def identify(sdk: SdkClient, path: str, identifiers: dict[str, Any]) -> Answer:
    """The least call with these identifiers and no others."""
    return call(sdk, path, {"userId": None, **identifiers})


def known_by(workspace: Workspace, **fields: Any) -> Customer:
    return CustomerFactory.create(workspace=workspace, **{"external_id": None, **fields})


def stored_identifiers() -> list[tuple[str | None, ...]]:
    """user id, external id, email and phone of every customer, the oldest first."""
    return list(Customer.objects.order_by("created_at").values_list(*COLUMNS.values()))


# Matching ------------------------------------------------------------------------------------------------------------


@both_calls
@each("identifier", EVERYTHING)
def test_each_identifier_finds_its_customer(sdk: SdkClient, acme: Workspace, path: str, identifier: str) -> None:
    ada = known_by(acme, **{COLUMNS[identifier]: EVERYTHING[identifier]})
    assert identify(sdk, path, {identifier: EVERYTHING[identifier]}).status_code == 200
    assert Interaction.objects.get().customer == ada
    assert Customer.objects.count() == 1


@both_calls
def test_the_order_is_user_id_external_id_email_phone(sdk: SdkClient, acme: Workspace, path: str) -> None:
    sent, people = dict(EVERYTHING), {name: known_by(acme, **{COLUMNS[name]: EVERYTHING[name]}) for name in EVERYTHING}
    for identifier in EVERYTHING:
        assert identify(sdk, path, sent).status_code == 200
        assert Interaction.objects.latest("created_at").customer == people[identifier]
        del sent[identifier]


@both_calls
def test_identifiers_that_match_nobody_are_passed_over(sdk: SdkClient, acme: Workspace, path: str) -> None:
    ada = known_by(acme, phone="+4915112345678")
    assert identify(sdk, path, EVERYTHING).status_code == 200
    assert Interaction.objects.get().customer == ada


@both_calls
def test_a_user_id_is_compared_with_the_stored_user_ids_alone(sdk: SdkClient, acme: Workspace, path: str) -> None:
    """Whoever learns a customer's id in this service cannot write to that customer by it."""
    ada = known_by(acme, external_id="x-7")
    assert identify(sdk, path, {"userId": ada.id}).status_code == 200
    named = Interaction.objects.get()
    assert (named.created_customer, named.customer.user_id) == (True, ada.id)
    assert not Interaction.objects.filter(customer=ada).exists()


@both_calls
def test_external_id_has_two_spellings(sdk: SdkClient, acme: Workspace, path: str) -> None:
    ada = known_by(acme, external_id="x-1")
    for identifiers in ({"externalId": "x-1"}, {"external_id": "x-1", "externalId": "x-1"}):
        assert identify(sdk, path, identifiers).status_code == 200
        assert Interaction.objects.latest("created_at").customer == ada


@both_calls
@each("email", ["ada@example.com", " ADA@Example.com "])
def test_an_email_is_compared_trimmed_and_lower_cased(sdk: SdkClient, acme: Workspace, path: str, email: str) -> None:
    ada = known_by(acme, email="ada@example.com")
    assert identify(sdk, path, {"email": email}).status_code == 200
    assert Interaction.objects.get().customer == ada


@both_calls
@each("phone", ["+4915112345678", "+49 151 1234-5678", " +49 (0) 151 12345678"])
def test_a_phone_number_is_compared_in_its_international_form(
    sdk: SdkClient, acme: Workspace, path: str, phone: str
) -> None:
    ada = known_by(acme, phone="+4915112345678")
    assert identify(sdk, path, {"phone": phone}).status_code == 200
    assert Interaction.objects.get().customer == ada


@both_calls
def test_a_customer_who_is_found_keeps_their_identifiers(sdk: SdkClient, acme: Workspace, path: str) -> None:
    known_by(acme, user_id="u-1", email="ada@example.com")
    known_by(acme, external_id="x-1", phone="+4915199999999")
    before = stored_identifiers()
    assert identify(sdk, path, {**EVERYTHING, "email": "new@example.com"}).status_code == 200
    assert stored_identifiers() == before


# Creating ------------------------------------------------------------------------------------------------------------


@both_calls
def test_whoever_matches_nobody_is_created_with_all_the_identifiers(sdk: SdkClient, acme: Workspace, path: str) -> None:
    assert identify(sdk, path, EVERYTHING).status_code == 200
    ada = Customer.objects.get()
    assert ada.workspace == acme
    assert stored_identifiers() == [tuple(EVERYTHING.values())]
    interaction = Interaction.objects.get()
    assert (interaction.customer, interaction.created_customer) == (ada, True)


@both_calls
def test_blank_identifiers_are_absent(sdk: SdkClient, path: str) -> None:
    sent = {"userId": " ", "external_id": "", "email": "\t", "phone": "0151 12345678 "}
    assert identify(sdk, path, sent).status_code == 200
    assert stored_identifiers() == [(None, None, None, "0151 12345678")]


def test_the_change_is_linked_to_the_customer_created(sdk: SdkClient) -> None:
    submit_action = {"type": "both", "eventName": "signed_up"}
    call(sdk, CAPTURE, {"userId": "new", "formData": {"plan": "pro"}, "submitAction": submit_action})
    new = Customer.objects.get(user_id="new")
    assert new.attributes == {"plan": "pro"}
    assert Event.objects.get().customer == new


@both_calls
@each("sent", [{}, {"userId": ""}, {"externalId": " ", "email": None}, {"customerId": "f" * 24}])
def test_without_an_identifier_nobody_is_created(sdk: SdkClient, path: str, sent: dict[str, Any]) -> None:
    message = refused_without_a_trace(identify(sdk, path, sent), error="Missing required parameter")
    assert message == "At least one of userId, external_id, email, phone must be present."


@both_calls
@each(
    "sent, message",
    [
        ({"userId": 7}, "userId must be a string, but a number came."),
        ({"external_id": ["x-1"]}, "external_id must be a string, but an array came."),
        ({"phone": 4915112345678}, "phone must be a string, but a number came."),
        ({"userId": "u-1", "email": "ada"}, "email must be an e-mail address."),
        ({"userId": "x" * 256}, "userId must be at most 255 characters long, not 256."),
        ({"externalId": "x" * 256}, "external_id must be at most 255 characters long, not 256."),
        ({"phone": "1" * 65}, "phone must be at most 64 characters long, not 65."),
        (
            {"external_id": "x-1", "externalId": "x-2"},
            "external_id and externalId are two spellings of one field, but their values differ.",
        ),
    ],
)
def test_an_identifier_that_cannot_be_is_refused(sdk: SdkClient, path: str, sent: dict[str, Any], message: str) -> None:
    assert refused_without_a_trace(identify(sdk, path, sent)) == message


# At the same time ----------------------------------------------------------------------------------------------------


def _statuses_at_once(app: App, path: str, bodies: Sequence[dict[str, Any]]) -> list[int]:
    """The statuses of calls that are all made at once, each by a client of its own."""

    def make(fields: dict[str, Any]) -> int:
        return call(SdkClient(app), path, fields).status_code

    return all_at_once([partial(make, fields) for fields in bodies])


@pytest.mark.django_db(transaction=True)
def test_32_calls_at_once_for_the_same_new_person_make_one_customer(sdk: SdkClient) -> None:
    tracked = {**EVERYTHING, "actionType": "track_event", "actionData": {"eventName": "seen"}}
    assert _statuses_at_once(sdk.app, ACTION, [tracked] * 32) == [200] * 32
    ada = Customer.objects.get()
    assert stored_identifiers() == [tuple(EVERYTHING.values())]
    assert Event.objects.filter(customer=ada).count() == 32
    assert Interaction.objects.filter(customer=ada).count() == 32
    assert Interaction.objects.filter(created_customer=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_32_calls_at_once_with_partly_the_same_identifiers_make_one_customer(sdk: SdkClient) -> None:
    """All send the e-mail address; of the other identifiers each sends some."""
    optional = [(name, value) for name, value in EVERYTHING.items() if name != "email"]
    bodies = [
        {
            "userId": None,
            "email": "ada@example.com",
            **dict(item for bit, item in enumerate(optional) if number >> bit & 1),
        }
        for number in range(32)
    ]
    assert _statuses_at_once(sdk.app, CAPTURE, bodies) == [200] * 32
    assert Customer.objects.get().email == "ada@example.com"
    assert Interaction.objects.filter(created_customer=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_calls_at_once_that_write_different_attributes_all_survive(sdk: SdkClient) -> None:
    bodies = [{"formData": {f"answer-{number}": number}} for number in range(16)]
    assert _statuses_at_once(sdk.app, CAPTURE, bodies) == [200] * 16
    assert Customer.objects.get().attributes == {f"answer-{number}": number for number in range(16)}


@both_calls
def test_a_letter_that_only_looks_like_another_in_lower_case_names_nobody_else(
    sdk: SdkClient, server: ServerClient, acme: Workspace, path: str
) -> None:
    """The Kelvin sign becomes a k in lower case."""
    known_by(acme, email="kelvink@example.com")
    refused(identify(sdk, path, {"email": "kelvin\u212a@example.com"}), status=400, error="Invalid request")
    journey = JourneyFactory.create(workspace=acme)
    answer = trigger(server, journey, {"email": "kelvin\u212a@example.com"})
    refused(answer, status=404, error="Customer not found")
    assert trigger(server, journey, {"email": " KelvinK@Example.com "}).status_code == 202
    assert not Interaction.objects.exists()
    assert Customer.objects.count() == 1

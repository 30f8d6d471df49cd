"""The document's strict form and the service agree on which bodies are taken. The plain form allows those and more."""

from typing import Any

import pytest
import time_machine
from jsonschema_rs import Draft202012Validator

from customers.identity.lookup import IDENTIFIER_NAMES
from engage.json.fields import Text, members
from engage.models import Workspace
from journeys.models import Journey
from tests.support.bodies import all_bodies
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST
from tests.support.calls import customers_path, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.conformance import at, violation
from tests.support.factories import CustomerFactory, SegmentFactory

SEGMENT = "{segment}"
# Taken, although the plain form does not allow them: it says what callers should send.
UNUSUAL: list[dict[str, Any]] = [
    {"submitAction": {"type": " ", "eventName": ""}},
    {"submitAction": {"type": None}},
    {"events": [{"external_id": "ada", "eventName": "ordered"}, {}, 7]},
]


def documented(body: Any, component: str) -> bool:
    """Whether the strict form allows the body. If it does, the plain form must."""
    schema = f"/components/schemas/{component}"
    allowed = not violation(body, schema)
    if allowed:
        usual = not any(body.items() >= unusual.items() for unusual in UNUSUAL)
        assert (not violation(body, schema, strict=False)) is usual
    return allowed


TRIGGERS: list[dict[str, Any]] = [
    {"external_id": "ada"},
    {"externalId": "ada"},
    {"external_id": "ada", "externalId": "ada"},
    {"email": "ada@example.com", "unknown": [1]},
    {"external_id": "ada", "email": None, "external_ids": None, "payload": None},
    {"external_id": " ", "email": "ada@example.com"},
    {"external_id": "", "external_ids": ["ada"]},
    {"external_id": "ada", "payload": {"a": [1, {"b": None}]}, "exclude_external_ids": []},
    {"external_ids": ["ada", ""]},
    {"externalIds": ["nobody"], "properties": {}},
    {"segment_ids": [SEGMENT]},
    {"external_ids": [], "segment_ids": [SEGMENT]},
    {"external_ids": ["x"] * 1000, "exclude_external_ids": ["x"] * 1000},
    # Refused:
    {},
    {"payload": {}},
    {"external_id": None},
    {"external_id": " "},
    {"external_ids": []},
    {"external_ids": [], "segment_ids": []},
    {"exclude_external_ids": ["ada"]},
    {"external_id": "ada", "external_ids": ["ada"]},
    {"external_id": "ada", "externalIds": []},
    {"email": "ada@example.com", "segmentIds": [SEGMENT]},
    {"external_id": 7},
    {"external_id": "ada", "email": 7},
    {"external_ids": "ada"},
    {"external_ids": ["ada", 7]},
    {"external_ids": ["ada", None]},
    {"external_ids": ["x"] * 1001},
    {"segment_ids": ["x"] * 11},
    {"external_id": "ada", "exclude_external_ids": ["x"] * 1001},
    {"external_id": "ada", "payload": []},
    {"external_id": "ada", "properties": "x"},
]


@pytest.mark.ada(email="ada@example.com")
@pytest.mark.usefixtures("ada")
@each("body", TRIGGERS)
def test_a_trigger_takes_what_the_document_says(
    server: ServerClient, acme: Workspace, journey: Journey, body: dict[str, Any]
) -> None:
    segment = SegmentFactory.create(workspace=acme)
    body = {name: [segment.id] if value == [SEGMENT] else value for name, value in body.items()}
    answer = trigger(server, journey, body)
    assert (answer.status_code == 202) is documented(body, "TriggerRequest"), answer


ACTIONS: list[dict[str, Any]] = [
    {},
    {"userId": None, "externalId": "ada"},
    {"userId": " ", "email": "ada@example.com", "phone": None},
    {"actionData": None, "formData": None},
    {"actionType": "link", "actionData": {}},
    {"actionType": "track_event", "actionData": {"eventName": "seen", "eventProperties": None}},
    {"actionType": "update_profile", "actionData": {"profileAttributes": {"a": 1}}},
    {"actionType": "update_profile", "actionData": {"profileAttributes": {}, "eventName": " "}},
    # Refused:
    {"messageId": " "},
    {"messageId": None},
    {"messageId": 7},
    {"messageId": "x" * 256},
    {"userId": None},
    {"userId": " "},
    {"actionType": "open"},
    {"actionType": ""},
    {"actionType": "track_event"},
    {"actionType": "track_event", "actionData": {"eventName": " "}},
    {"actionType": "track_event", "actionData": {"eventName": "x" * 256}},
    {"actionType": "update_profile", "actionData": {}},
    {"actionType": "update_profile", "actionData": {"profileAttributes": None}},
    {"actionData": []},
    {"formData": "x"},
    {"externalId": "x" * 256},
]


@pytest.mark.django_db
@each("fields", ACTIONS)
def test_an_action_is_taken_as_the_document_says(sdk: SdkClient, fields: dict[str, Any]) -> None:
    body = {**LEAST[ACTION], **fields}
    answer = sdk.post(ACTION, body)
    assert (answer.status_code == 200) is documented(body, "ActionRequest"), answer


CAPTURES: list[dict[str, Any]] = [
    {},
    {"occurredAt": "", "identityToken": None},
    {"occurredAt": None, "identityToken": " "},
    {"formData": {"a": [1]}, "submitAction": None},
    {"submitAction": {"type": " ", "eventName": ""}},
    {"submitAction": {"type": None}},
    {"submitAction": {"type": "update_profile", "profileAttributes": {"a": "b"}}},
    {"submitAction": {"type": "both", "eventName": "sent", "eventProperties": {"a": 7}}},
    {"submitAction": {"eventName": " ", "eventProperties": None, "profileAttributes": None}},
    # Refused:
    {"submitAction": {"eventName": "sent"}},
    {"submitAction": {"type": " ", "eventProperties": {}}},
    {"submitAction": {"type": None, "profileAttributes": {"a": "b"}}},
    {"formData": None},
    {"formData": []},
    {"submitAction": "both"},
    {"submitAction": {"type": "none"}},
    {"submitAction": {"type": 7}},
    {"submitAction": {"type": "track_event"}},
    {"submitAction": {"type": "both", "eventName": None}},
    {"submitAction": {"type": "both", "eventName": "sent", "eventProperties": []}},
]


@each("fields", CAPTURES)
def test_a_form_is_taken_as_the_document_says(sdk: SdkClient, fields: dict[str, Any]) -> None:
    body = {**LEAST[CAPTURE], **fields}
    answer = sdk.post(CAPTURE, body)
    assert (answer.status_code == 200) is documented(body, "CaptureRequest"), answer


CUSTOMERS: list[dict[str, Any]] = [
    {"external_id": "ada"},
    {"externalId": "ada", "email": None, "attributes": None},
    {"userId": None, "phone": "1", "attributes": {"a": None}},
    {"external_id": "ada", "remove": ["email", "userId"]},
    {"external_id": "ada", "remove": None},
    # Refused:
    {"external_id": "ada", "remove": ["name"]},
    {"external_id": "ada", "remove": ["email"] * 6},
    {"userId": " ", "phone": "1"},
    {},
    {"attributes": {"a": 1}},
    {"external_id": " "},
    {"external_id": 7},
    {"external_id": "x" * 256},
    {"external_id": "ada", "attributes": []},
]


@each("body", CUSTOMERS)
def test_a_customer_is_taken_as_the_document_says(server: ServerClient, acme: Workspace, body: dict[str, Any]) -> None:
    answer = server.put(customers_path(acme), body)
    assert (answer.status_code == 201) is documented(body, "CustomerRequest"), answer


ORDERED = {"external_id": "ada", "eventName": "ordered"}
REPORTS: list[dict[str, Any]] = [
    ORDERED,
    {**ORDERED, "events": None, "eventProperties": None, "occurredAt": None},
    {"externalId": "ada", "external_id": " ", "eventName": "ordered", "eventProperties": {}},
    {**ORDERED, "occurredAt": "2026-11-20T19:08:00Z"},
    {**ORDERED, "occurredAt": "2026-11-20T19:08Z"},
    {**ORDERED, "occurredAt": "2026-11-20T21:08:00.123456789+02:00"},
    {**ORDERED, "occurredAt": "2026-11-20T04:38:00-1430"},
    {**ORDERED, "occurredAt": ""},
    {"events": [ORDERED], "occurredAt": " "},
    {"events": []},
    {"events": [ORDERED, {}, 7]},
    {"events": [ORDERED], "external_id": None, "email": " ", "eventName": "", "eventProperties": None},
    # Refused:
    {},
    {"eventName": "ordered"},
    {"external_id": "ada"},
    {**ORDERED, "eventName": " "},
    {**ORDERED, "eventName": "x" * 256},
    {**ORDERED, "eventProperties": []},
    {**ORDERED, "occurredAt": 1795201680},
    {**ORDERED, "occurredAt": "2026-11-20"},
    {**ORDERED, "occurredAt": "2026-11-20T19:08:00"},
    {**ORDERED, "occurredAt": "2026-11-20 19:08:00Z"},
    {**ORDERED, "occurredAt": "2026-11-20t19:08:00z"},
    {**ORDERED, "occurredAt": "2026-11-20T19:08:60Z"},
    {**ORDERED, "occurredAt": "2026-11-20T24:00:00Z"},
    {**ORDERED, "occurredAt": "2026-11-20T19:08:00+15:00"},
    {**ORDERED, "occurredAt": "2026-11-20T19:08:00.1234567890Z"},
    {"events": None},
    {"events": [], "eventName": " " * 256},
    {"events": {}},
    {"events": [ORDERED] * 1001},
    {"events": [], **ORDERED},
    *(
        {"events": [ORDERED], name: value}
        for name, value in {
            "customerId": "c1",
            "external_id": "c1",
            "externalId": "c1",
            "email": "ada@example.com",
            "phone": "+4915112345678",
            "userId": "u-1",
            "eventName": "ordered",
            "eventProperties": {},
            "occurredAt": "2026-11-20T19:08:00Z",
        }.items()
    ),
]


@each("body", REPORTS)
def test_a_report_is_taken_as_the_document_says(server: ServerClient, acme: Workspace, body: dict[str, Any]) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    with time_machine.travel("2026-11-21T00:00Z", tick=False):
        answer = server.post(customers_path(acme, "events"), body)
    assert (answer.status_code == 202) is documented(body, "EventsRequest"), answer


MEMBERS: list[dict[str, Any]] = [
    {"add": []},
    {"add": ["a"], "remove": None},
    {"remove": ["a"] * 1000},
    # Refused:
    {},
    {"add": None},
    {"add": "a"},
    {"add": [7]},
    {"remove": ["a"] * 1001},
]


@each("body", MEMBERS)
def test_members_are_taken_as_the_document_says(server: ServerClient, acme: Workspace, body: dict[str, Any]) -> None:
    segment = SegmentFactory.create(workspace=acme)
    answer = server.post(customers_path(acme, "segments", segment.id, "members"), body)
    assert (answer.status_code == 200) is documented(body, "MembersRequest"), answer


def test_a_blank_text_is_absent_in_every_body_unless_it_would_be_stored_or_is_a_key() -> None:
    """A blank identifier of a PUT may be meant to take that away; a key that protects nothing is a mistake."""
    texts = [
        (shape.__name__, member.spelling, text)
        for shape in all_bodies()
        if not hasattr(shape, "of_body")
        for member in members(shape)
        if member.hint is str and not member.is_required
        for text in [member.note(Text) or Text()]
    ]
    assert len(texts) > 20
    refused = {(shape, name) for shape, name, text in texts if not text.blank_is_absent}
    of_customers = {("CustomerBody", name) for name in IDENTIFIER_NAMES.values()}
    assert {name for name in refused if name[1] != "idempotencyKey"} == of_customers
    assert all(text.if_blank for shape, _, text in texts if shape == "CustomerBody")


@each("body", ["ActionRequest", "CaptureRequest", "EventsRequest", "EventItem"])
def test_a_blank_email_is_one_that_the_document_allows_because_it_counts_as_absent(body: str) -> None:
    described = at(f"/components/schemas/{body}")["properties"]["email"]
    allows = Draft202012Validator(described, validate_formats=True).is_valid
    taken = {value: allows(value) for value in ("ada@example.com", " ", "", None, "ada")}
    assert taken == {"ada@example.com": True, " ": True, "": True, None: True, "ada": False}

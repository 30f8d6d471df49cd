"""A call that fails half-way leaves nothing, and no line of the log says who called or what they sent."""

import logging
from typing import Any

import pytest
from django.db import connection, transaction

from bridge.models import Interaction
from customers.identity.identifiers import Identifiers, find_or_create_customer
from customers.models import Customer, Event
from engage.models import Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import CustomerFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

PERSON = {"userId": "u-secret", "external_id": "x-secret", "email": "ada@secret.example", "phone": "+4915112345678"}
FORM = {"field-secret": "value-secret"}
BOTH = {**PERSON, "formData": FORM, "submitAction": {"type": "both", "eventName": "signed_up"}}
# None of them may stand in a log.
SECRETS = ("secret", "4915112345678")


def without_a_table(table: str, sdk: SdkClient) -> None:
    """Makes a call that must fail in the database."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
        answer = call(sdk, CAPTURE, BOTH)
        cursor.execute(f"ALTER TABLE elsewhere RENAME TO {table}")
    refused(answer, status=503, error="Service unavailable")


@each("table", ["customers_event", "bridge_interaction"])
def test_a_failure_half_way_takes_everything_back(sdk: SdkClient, acme: Workspace, table: str) -> None:
    ada = CustomerFactory.create(workspace=acme, user_id="u-secret", attributes={"plan": "free"})
    without_a_table(table, sdk)
    assert Customer.objects.get(id=ada.id).attributes == {"plan": "free"}
    assert not Event.objects.exists()
    assert not Interaction.objects.exists()


def test_nobody_is_created_by_a_call_that_fails(sdk: SdkClient) -> None:
    without_a_table("bridge_interaction", sdk)
    assert not Customer.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_customer_held_for_too_long_is_answered_503_and_nothing_is_done(sdk: SdkClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-secret")

    def impatient() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '500ms'")
        return call(sdk, CAPTURE, BOTH)

    with transaction.atomic():
        find_or_create_customer(workspace_id=acme.id, known_by=Identifiers(user_id="u-secret"))
        answer = made_to_wait(impatient).result(PATIENCE_SECONDS)
    refused(answer, status=503, error="Service unavailable")
    assert answer["Retry-After"] == "1"
    assert not Interaction.objects.exists()


def test_no_line_of_the_log_says_who_called_or_what_they_sent(sdk: SdkClient, caplog: pytest.LogCaptureFixture) -> None:
    tracked = {**PERSON, "actionType": "track_event", "actionData": {"eventName": "seen"}, "formData": FORM}
    with caplog.at_level(logging.DEBUG):
        answers = [
            call(sdk, CAPTURE, BOTH),
            call(sdk, ACTION, tracked),
            sdk.post(CAPTURE + "?email=ada@secret.example", {"messageId": "welcome", **BOTH}),
            call(sdk, CAPTURE, {**BOTH, "email": "no-address-secret"}),
            call(sdk, CAPTURE, {**PERSON, "formData": {"$secret": "secret"}}),
            call(sdk, CAPTURE, {**BOTH, "submitAction": {"type": "secret"}}),
        ]
        with connection.cursor() as cursor:  # PostgreSQL will quote the whole row in its error
            cursor.execute("ALTER TABLE bridge_interaction ADD CHECK (message_id <> 'refused') NOT VALID")
        answers.append(call(sdk, CAPTURE, {**BOTH, "messageId": "refused"}))
    assert [answer.status_code for answer in answers] == [200, 200, 200, 400, 400, 400, 500]
    lines = [str(vars(record)) for record in caplog.records]
    assert sum("'event': 'request'" in line for line in lines) == len(answers)
    assert sum("'event': 'request_failed'" in line for line in lines) == 1
    for secret in SECRETS:
        assert not [line for line in lines if secret in line]

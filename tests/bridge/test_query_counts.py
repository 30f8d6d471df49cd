"""What a bridge call costs the database, whatever the number of fields and attributes."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from customers.models import Customer
from journeys.engine.counts.stats import Span, journey_stats
from journeys.models import EnrollmentJob
from tests.support.bridge_calls import ACTION, CAPTURE, call
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import JourneyFactory

pytestmark = pytest.mark.ada(user_id="u-1")

# Finding the app, and the two ends of the transaction.
EVERY_CALL = 3
NOT_ERASED = 1  # whether the user id is of somebody who was erased
FIND, CREATE_AND_FIND_AGAIN, WRITE_ATTRIBUTES, RECORD_INTERACTION = 1, 2, 1, 1
# The event itself, whom it ends or moves, and which journeys it starts.
RECORD_EVENT = 3
# The attempt at an event that leads to nothing, in one statement; the jobs of the journeys that it starts.
AT_ONCE, QUEUE = 1, 3

CLOSE: dict[str, Any] = {}
TRACK = {"actionType": "track_event", "actionData": {"eventName": "seen", "eventProperties": {"a": 1}}}
UPDATE = {"actionType": "update_profile", "actionData": {"profileAttributes": {f"a{n}": n for n in range(50)}}}
CAPTURED = {"formData": {f"field-{n}": n for n in range(50)}}
BOTH = {**CAPTURED, "submitAction": {"type": "both", "eventName": "seen"}}


@pytest.mark.usefixtures("ada")
@each(
    "path, fields, queries",
    [
        (ACTION, UPDATE, WRITE_ATTRIBUTES),
        (CAPTURE, CAPTURED, WRITE_ATTRIBUTES),
        (CAPTURE, BOTH, WRITE_ATTRIBUTES + RECORD_EVENT),
    ],
)
def test_a_call_for_a_known_customer(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries, path: str, fields: dict[str, Any], queries: int
) -> None:
    with django_assert_num_queries(EVERY_CALL + FIND + queries + RECORD_INTERACTION):
        assert call(sdk, path, fields).status_code == 200


@pytest.mark.usefixtures("ada")
@each("fields", [CLOSE, {"actionType": "link"}, TRACK])
def test_a_call_that_is_only_recorded_costs_two_queries(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries, fields: dict[str, Any]
) -> None:
    with django_assert_num_queries(2):  # the app, and the one statement that finds the customer and records
        assert call(sdk, ACTION, fields).status_code == 200


def test_an_event_that_leads_to_something_is_recorded_in_a_transaction(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries, ada: Customer
) -> None:
    """The attempt to record it at once, then the event, whom it ends or moves, and which journeys it starts."""
    JourneyFactory.create(workspace=ada.workspace, trigger_type="event", event_name="seen", steps=[])
    with django_assert_num_queries(EVERY_CALL + AT_ONCE + FIND + RECORD_EVENT + QUEUE + RECORD_INTERACTION):
        assert call(sdk, ACTION, TRACK).status_code == 200
    assert EnrollmentJob.objects.filter(customer=ada).count() == 1


def test_an_event_that_starts_journeys_of_servers_events_alone_costs_no_more_than_any(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries, ada: Customer
) -> None:
    of_servers = {"trigger_type": "event", "event_from_bridge": False}
    journeys = [
        JourneyFactory.create(workspace=ada.workspace, **of_servers, event_name=name) for name in ("seen", "bought")
    ]
    with django_assert_num_queries(2):
        assert call(sdk, ACTION, TRACK).status_code == 200
    assert not EnrollmentJob.objects.exists()
    assert [journey_stats(one, Span()).events for one in journeys] == [{"from_bridge": 1}, {}]


def test_a_call_for_a_new_customer(sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(
        EVERY_CALL + AT_ONCE + FIND + NOT_ERASED + CREATE_AND_FIND_AGAIN + RECORD_EVENT + RECORD_INTERACTION
    ):
        assert call(sdk, ACTION, TRACK).status_code == 200


def test_a_call_without_an_app_id_asks_nothing(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        assert call(sdk, ACTION, {}, headers={"X-App-Id": None}).status_code == 401


def test_a_malformed_body_costs_no_more_than_finding_the_app(
    sdk: SdkClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert call(sdk, ACTION, {"messageId": 7}).status_code == 400


@each("user_id", ["u-1", "u-2"])
@each(
    "path, fields",
    [
        (CAPTURE, {"formData": {"$set": 1}}),
        (CAPTURE, {"formData": {"a": "x" * 17_000}}),
        (CAPTURE, {"formData": {"a": 1}, "submitAction": {"type": "update_profile", "profileAttributes": {"": "a"}}}),
        (CAPTURE, {"formData": {"": 1}, "submitAction": {"type": "both", "eventName": "seen"}}),
        (ACTION, {"actionType": "update_profile", "actionData": {"profileAttributes": {"__proto__": 1}}}),
        (ACTION, {"actionType": "update_profile", "actionData": {"profileAttributes": {"a": "x" * 17_000}}}),
    ],
)
def test_what_can_be_refused_without_the_customer_is_refused_before_the_look_up(
    ada: Customer,
    sdk: SdkClient,
    django_assert_num_queries: DjangoAssertNumQueries,
    user_id: str,
    path: str,
    fields: dict[str, Any],
) -> None:
    """Else how long it takes would tell whether somebody is known, and nothing would be left of the question."""
    with django_assert_num_queries(1):  # the app
        refused(call(sdk, path, {**fields, "userId": user_id}), status=400, error="Invalid request")
    assert Customer.objects.get() == ada

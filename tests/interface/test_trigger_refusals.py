"""What the trigger refuses: the error cases of the interface, in the order in which they are checked."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engage.credentials.api_keys import new_key
from engage.models import ApiKey, Workspace
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger
from tests.support.calls import refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, SegmentFactory

pytestmark = [pytest.mark.usefixtures("ada"), pytest.mark.ada(email="ada@example.com")]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(acme: Workspace) -> Any:
    yield
    assert [model.objects.count() for model in (Trigger, EnrollmentJob, Chunk)] == [0, 0, 0]


# The key ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer not-a-key", f"Bearer {new_key().secret}", "Bearer é"],
    ids=["none", "empty", "no secret", "blank secret", "another scheme", "no key", "an unknown key", "not ASCII"],
)
def test_without_a_known_key_nobody_is_served(server: ServerClient, journey: Journey, header: str | None) -> None:
    answer = trigger(server, journey, {"external_id": "ada"}, headers={"Authorization": header})
    refused(answer, status=401, error="Unauthorized")
    assert answer["WWW-Authenticate"] == "Bearer"


@each("scheme", ["Basic", "Token", "Bearer:"])
def test_a_key_that_is_sent_by_another_scheme_is_refused(server: ServerClient, journey: Journey, scheme: str) -> None:
    key = server.headers["Authorization"].removeprefix("Bearer ")
    answer = trigger(server, journey, {"external_id": "ada"}, headers={"Authorization": f"{scheme} {key}"})
    refused(answer, status=401, error="Unauthorized")


@each("field", ["revoked_at", "expires_at"])
def test_a_revoked_or_expired_key_is_refused(server: ServerClient, journey: Journey, field: str) -> None:
    ApiKey.objects.update(**{field: datetime.now(UTC) - timedelta(seconds=1)})
    refused(trigger(server, journey, {"external_id": "ada"}), status=401, error="Unauthorized")


def test_a_key_is_refused_from_the_very_moment_at_which_it_expires() -> None:
    now = datetime.now(UTC)
    key = ApiKey(expires_at=now)
    assert key.is_valid_at(now - timedelta(microseconds=1))
    assert not key.is_valid_at(now)


def test_the_key_is_checked_before_the_body_is_read(server: ServerClient, journey: Journey) -> None:
    answer = trigger(server, journey, b"not json", headers={"Authorization": None})
    refused(answer, status=401, error="Unauthorized")


# The journey ------------------------------------------------------------------------------------------------

for_one_and_for_many = each("body", [{"external_id": "ada"}, {"external_ids": ["ada"]}])


def test_a_word_of_other_paths_is_no_journey_s_id(server: ServerClient, journey: Journey) -> None:
    for journey_id in ("é", "jobs", "triggers", "enrollments"):
        answer = server.post(f"/api/v1/journeys/{journey.workspace_id}/{journey_id}/trigger", {"external_id": "ada"})
        refused(answer, status=404, error="Journey not found")


@for_one_and_for_many
def test_an_inactive_journey_is_not_found(server: ServerClient, acme: Workspace, body: Any) -> None:
    inactive = JourneyFactory.create(workspace=acme, active=False)
    message = refused(trigger(server, inactive, body), status=404, error="Journey not found")
    assert message == f"The journey '{inactive.id}' is not found or not active."


@for_one_and_for_many
def test_a_journey_of_another_type_tells_its_type(server: ServerClient, acme: Workspace, body: Any) -> None:
    journey = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought")
    message = refused(trigger(server, journey, body), status=400, error="Invalid journey type")
    assert message == "The journey is not configured for API triggering; its current trigger type is 'event'."


@for_one_and_for_many
def test_an_inactive_journey_of_another_type_is_not_found(server: ServerClient, acme: Workspace, body: Any) -> None:
    journey = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought", active=False)
    refused(trigger(server, journey, body), status=404, error="Journey not found")


def test_the_body_is_checked_before_the_journey(server: ServerClient, acme: Workspace) -> None:
    for workspace_id in (acme.id, "e" * 24):
        answer = server.post(f"/api/v1/journeys/{workspace_id}/{'f' * 24}/trigger", {})
        refused(answer, status=400, error="Missing required parameter")


def test_the_journey_is_checked_before_segments_and_customer(server: ServerClient, acme: Workspace) -> None:
    for body in ({"segment_ids": ["nope"]}, {"external_id": "nobody"}):
        answer = server.post(f"/api/v1/journeys/{acme.id}/{'f' * 24}/trigger", body)
        refused(answer, status=404, error="Journey not found")


# What is missing or too much --------------------------------------------------------------------------------


@each(
    "body",
    [
        {},
        {"payload": {"a": 1}},
        {"exclude_external_ids": ["ada"]},
        {"external_id": ""},
        {"external_id": "  ", "email": "\t", "customerId": ""},
        {"external_id": None, "email": None},
        {"external_ids": []},
        {"segment_ids": []},
        {"external_ids": [], "segment_ids": []},
        {"phone": "+14155552671"},
        {"userId": "u-1"},
    ],
)
def test_without_an_identifier_the_error_lists_those_accepted(
    server: ServerClient, journey: Journey, body: dict[str, Any]
) -> None:
    message = refused(trigger(server, journey, body), status=400, error="Missing required parameter")
    known = "external_id, email, customerId, external_ids, segment_ids, recipients"
    assert message == f"At least one of {known} must be present."


@each(
    "name, canonical, maximum",
    [
        ("external_ids", "external_ids", 1000),
        ("externalIds", "external_ids", 1000),
        ("exclude_external_ids", "exclude_external_ids", 1000),
        ("excludeExternalIds", "exclude_external_ids", 1000),
        ("segment_ids", "segment_ids", 10),
        ("segmentIds", "segment_ids", 10),
    ],
)
def test_an_array_over_its_maximum_is_named_with_it(
    server: ServerClient, journey: Journey, name: str, canonical: str, maximum: int
) -> None:
    body = {"email": "ada@example.com", name: ["x"] * (maximum + 1)}
    message = refused(trigger(server, journey, body), status=400, error="Array size exceeded")
    assert message == f"{canonical} holds {maximum + 1} items; its maximum is {maximum}."


def test_segments_unknown_foreign_or_malformed_are_listed(
    server: ServerClient, journey: Journey, acme: Workspace, rival: Workspace
) -> None:
    ours, theirs = SegmentFactory.create(workspace=acme), SegmentFactory.create(workspace=rival)
    body = {"segment_ids": [ours.id, theirs.id, "f" * 24, "vip"]}
    answer = trigger(server, journey, body)
    message = refused(answer, status=400, error="Error resolving segments")
    assert message == f"These segments do not exist in this workspace: '{theirs.id}', '{'f' * 24}', 'vip'."
    assert answer.json()["details"] == [
        {"field": "segment_ids", "message": f"'{unknown}' does not exist in this workspace."}
        for unknown in (theirs.id, "f" * 24, "vip")
    ]


def test_of_one_segment_that_does_not_exist_the_message_says_it_all(server: ServerClient, journey: Journey) -> None:
    answer = trigger(server, journey, {"segment_ids": ["vip", "vip"]})
    message = refused(answer, status=400, error="Error resolving segments")
    assert message == "These segments do not exist in this workspace: 'vip'."
    assert "details" not in answer.json()


@each("single", ["external_id", "email", "customerId"])
@each("bulk", ["external_ids", "segment_ids"])
def test_single_and_bulk_together_are_refused(server: ServerClient, journey: Journey, single: str, bulk: str) -> None:
    message = refused(trigger(server, journey, {single: "ada", bulk: ["ada"]}), status=400, error="Invalid request")
    assert single in message
    assert bulk in message


# Types and spellings ----------------------------------------------------------------------------------------


@each(
    "body, message",
    [
        ({"external_id": 7}, "external_id must be a string, but a number came."),
        ({"externalId": True}, "external_id must be a string, but a boolean came."),
        ({"email": ["a"]}, "email must be a string, but an array came."),
        ({"customerId": {}}, "customerId must be a string, but an object came."),
        ({"external_ids": "ada"}, "external_ids must be an array of strings, but a string came."),
        ({"external_ids": ["ada", 7]}, "external_ids must be an array of strings, but item 1 is a number."),
        ({"external_ids": [None]}, "external_ids must be an array of strings, but item 0 is null."),
        ({"segment_ids": {"a": 1}}, "segment_ids must be an array of strings, but an object came."),
        ({"external_id": "ada", "exclude_external_ids": "x"},
         "exclude_external_ids must be an array of strings, but a string came."),
        ({"external_id": "ada", "payload": []}, "payload must be an object, but an array came."),
        ({"external_id": "ada", "properties": "x"}, "payload must be an object, but a string came."),
    ],
)  # fmt: skip
def test_a_wrong_type_names_the_field_what_it_must_be_and_what_came(
    server: ServerClient, journey: Journey, body: dict[str, Any], message: str
) -> None:
    answer = trigger(server, journey, body)
    assert refused(answer, status=400, error="Invalid request") == message
    assert "details" not in answer.json()


def test_several_wrong_types_are_all_told(server: ServerClient, journey: Journey) -> None:
    answer = trigger(server, journey, {"external_id": 1, "payload": 2})
    refused(answer, status=400, error="Invalid request")
    assert answer.json()["details"] == [
        {"field": "external_id", "message": "external_id must be a string, but a number came."},
        {"field": "payload", "message": "payload must be an object, but a number came."},
    ]


@each(
    "one, other, values",
    [
        ("external_id", "externalId", ("ada", "grace")),
        ("external_ids", "externalIds", (["ada"], ["grace"])),
        ("segment_ids", "segmentIds", (["a"], ["b"])),
        ("exclude_external_ids", "excludeExternalIds", (["a"], ["b"])),
        ("payload", "properties", ({"a": 1}, {"a": True})),
    ],
)
def test_two_spellings_with_different_values_are_refused(
    server: ServerClient, journey: Journey, one: str, other: str, values: tuple[Any, Any]
) -> None:
    body = {"email": "ada@example.com", one: values[0], other: values[1]}
    message = refused(trigger(server, journey, body), status=400, error="Invalid request")
    assert one in message
    assert other in message


def test_a_payload_of_more_than_64_kib_is_refused(server: ServerClient, journey: Journey) -> None:
    body = {"external_id": "ada", "payload": {"a": "x" * 65_529}}
    message = refused(trigger(server, journey, body), status=400, error="Invalid request")
    assert message == "payload is 65537 bytes of JSON; its maximum is 65536."


def test_a_payload_nested_more_than_ten_deep_is_refused(server: ServerClient, journey: Journey) -> None:
    payload: dict[str, Any] = {}
    for _ in range(10):
        payload = {"a": payload}
    message = refused(
        trigger(server, journey, {"external_id": "ada", "payload": payload}), status=400, error="Invalid request"
    )
    assert message == "payload is nested more than 10 deep."


def test_only_post_is_allowed(server: ServerClient, journey: Journey) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = server.call(method, f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger")
        refused(answer, status=405, error="Method not allowed")
        assert answer["Allow"] == "POST"

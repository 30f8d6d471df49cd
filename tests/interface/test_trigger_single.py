"""`POST /api/v1/journeys/{workspaceId}/{journeyId}/trigger`, the single-customer form."""

import re
from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger
from tests.support.calls import data, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, take_milliseconds

pytestmark = pytest.mark.ada(email="ada@example.com")


def nothing_was_queued() -> bool:
    return not (Trigger.objects.exists() or EnrollmentJob.objects.exists() or Chunk.objects.exists())


def test_the_answer_has_every_field_of_the_interface(server: ServerClient, journey: Journey, ada: Customer) -> None:
    answer = trigger(server, journey, {"external_id": "ada", "payload": {"plan": "pro"}})
    assert answer.status_code == 202
    body = answer.json()
    job_id, trigger_id = body["data"].pop("jobId"), body["data"].pop("triggerId")
    assert body == {
        "success": True,
        "message": "The customer is queued for the journey.",
        "data": {
            "customerId": ada.id,
            "journeyId": journey.id,
            "status": "queued",
            "queued": True,
            "note": "The enrollment is created by a worker after entry-rule validation.",
        },
    }
    assert re.fullmatch(rf"enroll-{journey.id}-{ada.id}-\d{{13}}", job_id)
    assert re.fullmatch(r"[0-9a-f]{24}", trigger_id)


def test_a_202_is_committed_with_its_payload(server: ServerClient, journey: Journey, ada: Customer) -> None:
    answered = data(trigger(server, journey, {"external_id": "ada", "payload": {"plan": "pro"}}))
    job = EnrollmentJob.objects.select_related("trigger").get()
    assert (job.job_id, job.customer_id, job.status) == (answered["jobId"], ada.id, "queued")
    assert (job.trigger.id, job.trigger.payload, job.trigger.customers) == (answered["triggerId"], {"plan": "pro"}, 1)
    assert int(answered["jobId"].rsplit("-", 1)[1]) == job.queued_ms == job.trigger.queued_at.timestamp() * 1000


@each("identifier", ["external_id", "externalId", "email", "customerId"])
def test_each_identifier_finds_its_customer(
    server: ServerClient, journey: Journey, ada: Customer, identifier: str
) -> None:
    value = {"external_id": "ada", "externalId": "ada", "email": "ada@example.com", "customerId": ada.id}[identifier]
    assert data(trigger(server, journey, {identifier: value}))["customerId"] == ada.id


def test_an_email_is_trimmed_and_lower_cased(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert data(trigger(server, journey, {"email": "  Ada@Example.COM "}))["customerId"] == ada.id


@each("name", ["payload", "properties"])
def test_the_payload_has_two_spellings(server: ServerClient, journey: Journey, ada: Customer, name: str) -> None:
    data(trigger(server, journey, {"external_id": "ada", name: {"a": {"b": [1, None]}}}))
    assert Trigger.objects.get().payload == {"a": {"b": [1, None]}}


def test_a_payload_of_64_kib_is_taken(server: ServerClient, journey: Journey, ada: Customer) -> None:
    data(trigger(server, journey, {"external_id": "ada", "payload": {"a": "x" * 65_528}}))


def test_without_a_payload_an_empty_one_is_stored(server: ServerClient, journey: Journey, ada: Customer) -> None:
    data(trigger(server, journey, {"external_id": "ada", "payload": None}))
    assert Trigger.objects.get().payload == {}


@each(
    "body, named",
    [
        ({"customerId": "f" * 24, "external_id": "ada", "email": "ada@example.com"}, "customerId"),
        ({"external_id": "nobody", "email": "ada@example.com"}, "external_id"),
        ({"email": "nobody@example.com"}, "email"),
        ({"customerId": "not-an-id"}, "customerId"),
    ],
)
def test_the_first_identifier_present_decides_alone_and_the_error_names_it(
    server: ServerClient, journey: Journey, ada: Customer, body: dict[str, str], named: str
) -> None:
    message = refused(trigger(server, journey, body), status=404, error="Customer not found")
    assert message == (
        f"This workspace has no customer with this {named}, '{body[named]}'. "
        "The customer must exist before a journey is triggered for them."
    )
    assert nothing_was_queued()


def test_the_trigger_never_creates_customers(server: ServerClient, journey: Journey) -> None:
    refused(trigger(server, journey, {"external_id": "new"}), status=404, error="Customer not found")
    assert not Customer.objects.exists()


def test_precedence_is_customer_id_then_external_id_then_email(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    grace = CustomerFactory.create(workspace=acme, external_id="grace", email="grace@example.com")
    both = {"customerId": ada.id, "external_id": "grace", "email": "grace@example.com"}
    assert data(trigger(server, journey, both))["customerId"] == ada.id
    del both["customerId"]
    assert data(trigger(server, journey, {**both, "email": "ada@example.com"}))["customerId"] == grace.id


def test_a_blank_identifier_is_absent(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert data(trigger(server, journey, {"customerId": " ", "external_id": "ada"}))["customerId"] == ada.id


@each("spelling", ["exclude_external_ids", "excludeExternalIds"])
def test_an_excluded_customer_is_told_so_and_not_queued(
    server: ServerClient, journey: Journey, ada: Customer, spelling: str
) -> None:
    answer = trigger(server, journey, {"customerId": ada.id, spelling: ["grace", "ada"]})
    assert data(answer, status=200) == {
        "customerId": ada.id,
        "journeyId": journey.id,
        "status": "excluded",
        "queued": False,
        "jobId": None,
        "triggerId": None,
        "note": "No enrollment will be created.",
    }
    assert nothing_was_queued()


def test_a_list_of_exclusions_without_the_customer_changes_nothing(
    server: ServerClient, journey: Journey, ada: Customer
) -> None:
    assert data(trigger(server, journey, {"external_id": "ada", "exclude_external_ids": ["grace"]}))["queued"] is True


@each("excluded", [{}, {"exclude_external_ids": ["ada", "grace"]}])
def test_who_has_no_external_id_is_queued_whoever_is_excluded(
    server: ServerClient, journey: Journey, acme: Workspace, excluded: dict[str, Any]
) -> None:
    CustomerFactory.create(workspace=acme, external_id=None, email="eve@example.com")
    assert data(trigger(server, journey, {"email": "eve@example.com", **excluded}))["queued"] is True


@each("name", ["customerId", "external_id", "email"])
def test_nobody_has_an_identifier_that_is_too_long_to_be_stored(
    server: ServerClient, journey: Journey, name: str
) -> None:
    message = refused(trigger(server, journey, {name: "x" * 100_000}), status=404, error="Customer not found")
    assert len(message) < 1000


def test_unknown_fields_are_ignored(server: ServerClient, journey: Journey, ada: Customer) -> None:
    assert data(trigger(server, journey, {"external_id": "ada", "sdkVersion": "9"}))["queued"] is True


def test_a_job_id_that_is_taken_steps_its_millisecond(
    transactional_db: None, server: ServerClient, journey: Journey, ada: Customer
) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    first = EnrollmentJob.objects.get()
    last = take_milliseconds(first)
    CustomerFactory.create(workspace=journey.workspace, external_id="grace")
    data(trigger(server, journey, {"external_id": "grace"}))
    data(trigger(server, JourneyFactory.create(workspace=journey.workspace), {"external_id": "ada"}))
    of_others = EnrollmentJob.objects.exclude(trigger=first.trigger)
    of_others.update(queued_ms=last + 9)  # another customer's and another journey's: neither is in the way
    job_id = data(trigger(server, journey, {"external_id": "ada"}))["jobId"]
    assert job_id == f"enroll-{journey.id}-{ada.id}-{last + 1}"


QUERIES_OF_A_SINGLE_TRIGGER = 2  # the key, and the one statement that reads journey and customer and commits


def test_a_single_trigger_costs_two_queries(
    transactional_db: None, server: ServerClient, journey: Journey, ada: Customer, django_assert_num_queries: Any
) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))  # notes the key's use, at most once a minute
    with django_assert_num_queries(QUERIES_OF_A_SINGLE_TRIGGER):
        data(trigger(server, journey, {"external_id": "ada", "payload": {"a": 1}}))


@each("single", ["external_id", "email", "customerId"])
@each("bulk", ["external_ids", "segment_ids"])
def test_an_empty_list_beside_a_single_one_is_absent(
    server: ServerClient, ada: Customer, journey: Journey, single: str, bulk: str
) -> None:
    Customer.objects.filter(id=ada.id).update(email="ada@example.com")
    known = {"external_id": "ada", "email": "ada@example.com", "customerId": ada.id}
    assert data(trigger(server, journey, {single: known[single], bulk: []}))["customerId"] == ada.id

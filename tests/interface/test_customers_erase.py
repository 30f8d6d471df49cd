"""DELETE /api/v1/customers/{workspaceId}/{customerId}: erase the person and all that hangs on them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from bridge.models import Interaction
from customers.erasure import erase_customer
from customers.models import Customer, Event, SegmentMembership, Tombstone
from engage.json.instants import iso_utc
from engage.models import AuditEntry, IdentityKey, Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger
from journeys.rules.failures import MAX_ATTEMPTS
from tests.bridge.identity.tokens import SECRET, token
from tests.support.audit import told, written
from tests.support.bridge_calls import ACTION, CAPTURE, call, refused_without_a_trace
from tests.support.calls import customers_path, data, job_of, let_workers_decide, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait
from tests.support.tables import tables_that_mention

pytestmark = pytest.mark.journey(max_entries_per_customer=5)

ADA, BOB = "ada.lovelace", "bob.example"


def _known_everywhere(workspace: Workspace, server: ServerClient, journey: Journey, name: str) -> Customer:
    """A person who has left a trace wherever one can."""
    customer = CustomerFactory.create(
        workspace=workspace, external_id=name, email=f"{name}@acme.example", attributes={"name": name}
    )
    SegmentFactory.create(workspace=workspace, members=[customer])
    event = Event.objects.create(
        workspace=workspace,
        customer=customer,
        name="signed_up",
        properties={"name": name},
        source=Event.Source.API,
        occurred_at=datetime.now(tz=UTC),
    )
    Interaction.objects.create(
        workspace=workspace,
        app=AppFactory.create(workspace=workspace),
        customer=customer,
        event=event,
        message_id="message-1",
        kind=Interaction.Kind.CAPTURE,
        form_data={"name": name},
    )
    trigger(server, journey, {"external_id": name, "payload": {"name": name}})
    trigger(server, journey, {"external_ids": [name], "payload": {"name": name}})
    return customer


def test_nothing_that_is_stored_mentions_the_person_any_more(
    acme: Workspace, server: ServerClient, journey: Journey
) -> None:
    ada = _known_everywhere(acme, server, journey, ADA)
    _known_everywhere(acme, server, journey, BOB)
    let_workers_decide()
    before = tables_that_mention(ADA)
    assert before == {"customers_customer", "customers_event", "bridge_interaction", "journeys_trigger"}

    answer = server.delete(customers_path(acme, ada.id))

    assert answer.status_code == 200
    receipt = AuditEntry.objects.get()
    assert (receipt.action, receipt.object_id, receipt.actor_id) == ("erased", ada.id, server.key.id)
    assert answer.json() == {
        "success": True,
        "message": "Customer erased.",
        "data": {
            "customerId": ada.id,
            "deleted": True,
            "receipt": {
                "receiptId": receipt.id,
                "erasedAt": iso_utc(receipt.at),
                "rows": {
                    "customer": 1,
                    "segments": 1,
                    "aliases": 0,
                    "events": 1,
                    "enrollments": 2,
                    "steps": 0,
                    "webhooks": 0,
                    "webhookAttempts": 0,
                    "unmatchedCalls": 0,
                    "interactions": 1,
                    "inAppDeliveries": 0,
                    "goals": 0,
                    "holdOuts": 0,
                    "consentActs": 0,
                    "consents": 0,
                    "contactRings": 0,
                },
            },
        },
    }
    assert tables_that_mention(ADA) == set()
    assert tables_that_mention(ada.id) == {"journeys_enrollmentjob", "engage_auditentry"}
    assert tables_that_mention(BOB) == before
    refused(server.get(customers_path(acme, ada.id)), status=404, error="Customer not found")


def test_all_that_hangs_on_the_person_goes_with_them(acme: Workspace, server: ServerClient, journey: Journey) -> None:
    ada = _known_everywhere(acme, server, journey, ADA)
    bob = _known_everywhere(acme, server, journey, BOB)
    let_workers_decide()
    server.delete(customers_path(acme, ada.id))
    assert [membership.customer_id for membership in SegmentMembership.objects.all()] == [bob.id]
    assert [event.customer_id for event in Event.objects.all()] == [bob.id]
    assert [interaction.customer_id for interaction in Interaction.objects.all()] == [bob.id]
    assert {enrollment.customer_id for enrollment in Enrollment.objects.all()} == {bob.id}


@each("queued", [True, False])
def test_a_payload_that_was_sent_for_several_people_stays_until_the_last_of_them_is_erased(
    acme: Workspace, server: ServerClient, journey: Journey, queued: bool
) -> None:
    ada, bob = (CustomerFactory.create(workspace=acme, external_id=name) for name in (ADA, BOB))
    trigger(server, journey, {"external_ids": [ADA, BOB], "payload": {"sale": "spring"}})
    if not queued:
        let_workers_decide()
    server.delete(customers_path(acme, ada.id))
    let_workers_decide()
    assert Trigger.objects.get().payload == {"sale": "spring"}
    assert set(EnrollmentJob.objects.values_list("customer_id", flat=True)) == {ada.id, bob.id}
    server.delete(customers_path(acme, bob.id))
    assert Trigger.objects.get().payload == {}


@pytest.mark.django_db(transaction=True)
def test_the_later_of_two_erasures_sees_that_nobody_is_left(
    acme: Workspace, server: ServerClient, journey: Journey
) -> None:
    ada, bob = (CustomerFactory.create(workspace=acme, external_id=name) for name in (ADA, BOB))
    trigger(server, journey, {"external_ids": [ADA, BOB], "payload": {"sale": "spring"}})
    with transaction.atomic():
        erase_customer(workspace_id=acme.id, customer_id=ada.id)
        waiting = made_to_wait(lambda: erase_customer(workspace_id=acme.id, customer_id=bob.id))
    waiting.result(PATIENCE_SECONDS)
    assert Trigger.objects.get().payload == {}


@each("end", ["decided", "cancelled", "failed"])
def test_a_payload_that_the_erasure_could_not_see_goes_with_its_job(
    acme: Workspace, server: ServerClient, journey: Journey, end: str
) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id=ADA)
    job_id = data(trigger(server, journey, {"external_id": ADA}))["jobId"]
    server.delete(customers_path(acme, ada.id))
    Trigger.objects.update(payload={"name": ADA})  # as if the call had been committed just now
    if end == "cancelled":
        server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}")
    elif end == "failed":
        Chunk.objects.update(attempts=MAX_ATTEMPTS)
    let_workers_decide()
    assert job_of(server, acme.id, job_id)["status"] == end
    assert Trigger.objects.get().payload == {}


def test_a_job_that_was_queued_is_later_decided_customer_deleted(
    acme: Workspace, server: ServerClient, journey: Journey
) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id=ADA)
    job_id = data(trigger(server, journey, {"external_id": ADA}))["jobId"]
    server.delete(customers_path(acme, ada.id))
    let_workers_decide()
    job = job_of(server, acme.id, job_id)
    assert (job["status"], job["result"], job["enrollmentId"]) == ("decided", "customer_deleted", None)
    assert job["reason"] == "The customer was erased before the job was decided."


def test_the_same_identifiers_then_make_a_new_person(acme: Workspace, server: ServerClient) -> None:
    old = CustomerFactory.create(workspace=acme, external_id=ADA, attributes={"plan": "pro"})
    server.delete(customers_path(acme, old.id))
    new = data(server.put(customers_path(acme), {"external_id": ADA}), status=201)
    assert new["customerId"] != old.id
    assert new["attributes"] == {}


def test_the_person_of_another_workspace_stays_whole(
    acme: Workspace, server: ServerClient, journey: Journey, rival: Workspace, rival_server: ServerClient
) -> None:
    theirs = _known_everywhere(rival, rival_server, JourneyFactory.create(workspace=rival), ADA)
    mine = CustomerFactory.create(workspace=acme, external_id=ADA)
    before = tables_that_mention(ADA)
    assert server.delete(customers_path(acme, mine.id)).status_code == 200
    refused(server.delete(customers_path(acme, theirs.id)), status=404, error="Customer not found")
    assert tables_that_mention(ADA) == before
    assert [found["payload"] for found in Trigger.objects.values("payload")] == [{"name": ADA}] * 2


def test_erasing_costs_the_same_whatever_there_is(
    acme: Workspace, server: ServerClient, journey: Journey, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada = _known_everywhere(acme, server, journey, ADA)
    with django_assert_num_queries(
        10
    ):  # the key; a transaction (2): locked, opt-outs (2), how much, counted, erased, noted
        server.delete(customers_path(acme, ada.id))


# Who still knows them -------------------------------------------------------------------------------------------------


@pytest.fixture
def erased(server: ServerClient, sdk: SdkClient, acme: Workspace) -> None:
    """A visitor whom a page knows as anon-7, and who asked to be forgotten."""
    assert call(sdk, ACTION, {"userId": "anon-7"}).succeeded
    visitor = Customer.objects.get(user_id="anon-7")
    assert server.delete(customers_path(acme, visitor.id)).succeeded


@pytest.mark.usefixtures("erased")
@each("path", [ACTION, CAPTURE])
def test_a_page_that_still_knows_them_does_not_make_them_anew(sdk: SdkClient, path: str) -> None:
    message = refused_without_a_trace(call(sdk, path, {"userId": "anon-7"}), status=410, error="Customer erased")
    assert message == (
        "The customer with this userId or external_id was erased. Use another one for whoever is there now."
    )


@pytest.mark.usefixtures("erased")
def test_a_known_person_is_served_whatever_user_id_comes_along(sdk: SdkClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="x-1")
    assert call(sdk, ACTION, {"userId": "anon-7", "external_id": "x-1"}).succeeded


@pytest.mark.usefixtures("erased")
def test_the_same_user_id_is_somebody_else_in_another_workspace(rival_sdk: SdkClient) -> None:
    assert call(rival_sdk, ACTION, {"userId": "anon-7"}).succeeded


@pytest.mark.usefixtures("erased")
def test_a_server_may_say_who_has_the_user_id_now(server: ServerClient, sdk: SdkClient, acme: Workspace) -> None:
    assert server.put(customers_path(acme), {"userId": "anon-7"}).status_code == 201
    assert call(sdk, ACTION, {"userId": "anon-7"}).succeeded


@pytest.mark.usefixtures("erased")
def test_nothing_is_kept_that_names_them() -> None:
    assert "anon-7" not in Tombstone.objects.get().digest


def test_somebody_may_be_erased_twice(server: ServerClient, acme: Workspace) -> None:
    for _ in range(2):
        again = CustomerFactory.create(workspace=acme, user_id="anon-7")
        assert server.delete(customers_path(acme, again.id)).succeeded
    assert Tombstone.objects.count() == 3  # with the two external ids of the factory


IDENTIFIERS = {
    "userId": "anon-7", "external_id": "x-1", "email": "ada@example.com", "phone": "+4915112345678"
}  # fmt: skip
CONTACT = ["email", "phone"]


@pytest.fixture
def gone(server: ServerClient, acme: Workspace) -> None:
    put = data(server.put(customers_path(acme), IDENTIFIERS), status=201)
    assert server.delete(customers_path(acme, put["customerId"])).succeeded


def _says(sdk: SdkClient, way: str, names: Sequence[str], **more: Any) -> Answer:
    """A page's call that names nobody but these identifiers of theirs; for `identify` with a new userId."""
    known = {name: IDENTIFIERS[name] for name in names}
    if way == "identify":
        return sdk.post("/api/v1/sdk/identify", {"userId": "anon-new", **known, **more})
    if way == "batch":
        event = {"actionType": "track_event", "actionData": {"eventName": "seen"}}
        calls = [{"call": "action", "messageId": "m", **event, **known, **more}]
        return sdk.post("/api/v1/sdk/bridge/batch", {"calls": calls})
    form = {"formData": {"plan": "pro"}, "submitAction": {"type": "both", "eventName": "seen"}}
    return call(sdk, CAPTURE, {"userId": None, **form, **known, **more})


@pytest.mark.usefixtures("gone")
@each("way", ["capture", "batch", "identify"])
@each("names", [["userId"], ["external_id"], ["external_id", "email"], ["email"], ["phone"], CONTACT])
def test_nothing_is_made_anew_of_whom_a_page_still_knows_by_any_identifier(
    sdk: SdkClient, acme: Workspace, way: str, names: list[str]
) -> None:
    """By an address, which a stranger may try out, the answer is that of somebody unknown."""
    if way == "identify" and names == ["userId"]:
        names = ["userId", "email"]
    answer = _says(sdk, way, names)
    told = answer.json()["data"]["results"][0] if way == "batch" else answer.json()
    if set(names) <= set(CONTACT):
        other = {"email": "new@example.com", "phone": "+4915187654321"}
        unknown = _says(sdk, way, names, **{name: other[name] for name in names})
        as_unknown = unknown.json()["data"]["results"][0] if way == "batch" else unknown.json()
        assert (answer.status_code, told["message"]) == (200, as_unknown["message"])
        assert told["data"].keys() == as_unknown["data"].keys()
        assert told["data"].get("added") == as_unknown["data"].get("added")
        customer = Customer.objects.get()  # the unknown one's
        assert set(Event.objects.values_list("customer_id", flat=True)) <= {customer.id}
        assert Interaction.objects.get().customer == customer
    else:
        assert told["code"] == "customer_erased"
        assert not Customer.objects.exists()


@pytest.mark.usefixtures("gone")
def test_an_address_of_theirs_is_limited_as_an_unknown_one(sdk: SdkClient, settings: Settings) -> None:
    settings.BRIDGE_CUSTOMERS_CREATED_LIMIT = "1/d"
    assert [_says(sdk, "capture", ["email"]).status_code for _ in range(2)] == [200, 429]


@pytest.mark.usefixtures("gone")
def test_an_address_of_theirs_is_not_given_to_somebody_else(sdk: SdkClient) -> None:
    for _ in range(2):
        answer = data(_says(sdk, "identify", ["email"], external_id="eve"), status=200)
        assert answer["added"] == ["external_id", "email"]
    assert not Customer.objects.exists()
    data(_says(sdk, "identify", [], external_id="eve"), status=200)
    assert data(_says(sdk, "identify", ["email"], external_id="eve"), status=200)["added"] == ["email"]
    assert Customer.objects.get().email is None


@pytest.mark.usefixtures("gone")
@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("way", ["put", "batch", "seed"])
def test_a_server_that_writes_an_identifier_lifts_what_is_left_of_it(
    server: ServerClient, sdk: SdkClient, acme: Workspace, tmp_path: Path, name: str, way: str
) -> None:
    customer = {name: IDENTIFIERS[name]}
    before = Tombstone.objects.count()
    match way:
        case "put":
            data(server.put(customers_path(acme), customer), status=201)
        case "batch":
            data(server.post(customers_path(acme, "batch"), {"customers": [customer]}), status=200)
        case _:
            file = tmp_path / "seed.json"
            file.write_text(json.dumps({"workspace": {"key": acme.key}, "customers": [customer]}))
            call_command("seed_workspace", str(file), stdout=StringIO())
    assert (before, Tombstone.objects.count()) == (4, 3)
    Customer.objects.update(**dict.fromkeys(["external_id", "email", "phone", "user_id"]))
    assert _says(sdk, "capture", [name]).status_code == 200
    assert Event.objects.exists()


@pytest.mark.usefixtures("gone")
def test_a_proof_brings_them_back(acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, identity="enforce")
    IdentityKey.objects.create(workspace=acme, app=app, kid="k1", alg="HS256", secret=SECRET)
    answer = _says(SdkClient(app), "capture", ["external_id"], identityToken=token(sub="x-1"))
    assert answer.status_code == 200
    assert Customer.objects.get().claimed_identifiers == []


@pytest.mark.usefixtures("erased")
@each("days, status", [(29, 410), (31, 200)])
def test_after_a_month_the_user_id_may_be_anybodys(sdk: SdkClient, days: int, status: int) -> None:
    with time_machine.travel(timezone.now() + timedelta(days=days)):
        call_command("prune", stdout=StringIO())
    assert call(sdk, ACTION, {"userId": "anon-7"}).status_code == status


def test_what_staff_typed_is_not_in_the_log_that_stays(
    admin_client: Client, server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    trigger(server, journey, {"external_id": ada.external_id})
    let_workers_decide()
    enrollment = Enrollment.objects.get()
    page = f"/admin/journeys/enrollment/{enrollment.id}/end/"
    assert admin_client.post(page, {"reason": "Ada Lovelace has called us"}).status_code == 302
    assert Enrollment.objects.get().exit_reason == "Ada Lovelace has called us"
    assert told() == [("admin", enrollment.id, "The enrollment was ended.")]
    assert "Lovelace" not in written()

"""`Idempotency-Key`: a call that is sent again is not done again, and gets its first answer."""

import hashlib
import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.database.pruning import prune_few
from engage.database.table import KeepsFew
from engage.models import IdempotencyRecord, Workspace
from journeys.models import EnrollmentJob, Journey, Trigger
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST, both_calls, both_calls_apart, call
from tests.support.calls import data, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import (
    ApiKeyFactory,
    AppFactory,
    CustomerFactory,
    JourneyFactory,
    SegmentFactory,
    crowd,
    take_milliseconds,
)
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.journey(people=["ada", "bob"])

ADA = {"external_id": "ada"}
KEY = {"Idempotency-Key": "4711"}
FORMS = {"one": ADA, "many": {"external_ids": ["ada", "bob"], "payload": {"coupon": "X"}}}
every_form = each("form", FORMS)


def is_replay_of(answer: Answer, first: Answer) -> bool:
    assert "Idempotency-Replayed" not in first
    same = (answer.status_code, answer.content) == (first.status_code, first.content)
    return same and answer["Idempotency-Replayed"] == "true"


# The same call again ------------------------------------------------------------------------------------------------


@every_form
def test_a_trigger_sent_again_gets_the_first_answer(server: ServerClient, journey: Journey, form: str) -> None:
    first, *again = [trigger(server, journey, FORMS[form], headers=KEY) for _ in range(3)]
    jobs = len(data(first).get("jobIds", ["one"]))
    assert all(is_replay_of(answer, first) for answer in again)
    assert (Trigger.objects.count(), EnrollmentJob.objects.count()) == (1, jobs)


def test_a_minimal_answer_is_given_again_as_it_was(server: ServerClient, journey: Journey) -> None:
    minimal = {**KEY, "Prefer": "return=minimal"}
    first = trigger(server, journey, FORMS["many"], headers=minimal)
    again = trigger(server, journey, FORMS["many"], headers=KEY)  # what came first decides the form
    assert is_replay_of(again, first)
    assert first["Preference-Applied"] == again["Preference-Applied"] == "return=minimal"


def test_a_key_in_quotes_is_the_bare_one(server: ServerClient, journey: Journey) -> None:
    """As the IETF's draft writes it. What a version before has kept under the quotes is found by them."""
    for quoted, bare in (('"4711"', "4711"), (r'"a\"b\\"', 'a"b\\')):
        first = trigger(server, journey, ADA, headers={"Idempotency-Key": quoted})
        for key in (bare, quoted):
            assert is_replay_of(trigger(server, journey, ADA, headers={"Idempotency-Key": key}), first)
    for other in ('"4711', '""', "'4711'", '"4711" '):
        assert data(trigger(server, journey, ADA, headers={"Idempotency-Key": other.strip() + "x"}))["queued"]
    record = IdempotencyRecord.objects.filter(call_digest=digest_of(server, journey, "4711"))
    assert record.update(call_digest=digest_of(server, journey, '"4711"')) == 1
    assert trigger(server, journey, ADA, headers={"Idempotency-Key": '"4711"'})["Idempotency-Replayed"] == "true"
    refused(trigger(server, journey, ADA, headers={"Idempotency-Key": '"a b"'}), status=400, error="Invalid request")


def digest_of(server: ServerClient, journey: Journey, key: str) -> bytes:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger"
    return hashlib.sha256(f"{path}\n{key}".encode()).digest()


def test_an_exclusion_is_answered_again(server: ServerClient, journey: Journey) -> None:
    excluded = {**ADA, "exclude_external_ids": ["ada"]}
    first, again = [trigger(server, journey, excluded, headers=KEY) for _ in range(2)]
    assert (first.status_code, is_replay_of(again, first)) == (200, True)


@pytest.mark.slow
def test_a_large_answer_is_told_again_and_not_stored(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, 10_001, segment=segment)  # and with them Ada and Bob
    first, again = [trigger(server, journey, {"segment_ids": [segment.id]}, headers=KEY) for _ in range(2)]
    assert len(data(first)["jobIds"]) == 10_003
    assert is_replay_of(again, first)
    record = IdempotencyRecord.objects.get()
    assert (record.body, len(json.dumps(record.facts)) < 200) == (None, True)


def test_an_answer_that_names_nobody_is_given_again(server: ServerClient, journey: Journey) -> None:
    first, again = [trigger(server, journey, {"external_ids": ["nobody"]}, headers=KEY) for _ in range(2)]
    assert (data(first)["customersEnrolled"], is_replay_of(again, first)) == (0, True)


def test_an_answer_goes_with_its_jobs_and_their_journey(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, FORMS["many"], headers=KEY))
    Journey.objects.filter(id=journey.id).delete()
    refused(trigger(server, journey, FORMS["many"], headers=KEY), status=404, error="Journey not found")


@both_calls
def test_a_bridge_call_sent_again_records_nothing(sdk: SdkClient, path: str) -> None:
    first, *again = [call(sdk, path, {"formData": {"city": "Ulm"}}, headers=KEY) for _ in range(3)]
    assert first.status_code == 200
    assert all(is_replay_of(answer, first) for answer in again)
    assert (Interaction.objects.count(), Customer.objects.count()) == (1, 1)


def test_an_event_is_made_once(sdk: SdkClient) -> None:
    seen = {"actionType": "track_event", "actionData": {"eventName": "seen"}}
    ids = {data(call(sdk, ACTION, seen, headers=KEY), status=200)["eventId"] for _ in range(2)}
    assert ids == {Event.objects.get().id}


@each("form", ["one", "many"])
def test_events_sent_again_are_recorded_once(server: ServerClient, journey: Journey, form: str) -> None:
    one = {"external_id": "ada", "eventName": "bought"}
    body = one if form == "one" else {"events": [one, {**one, "external_id": "nobody"}]}
    path = f"/api/v1/customers/{journey.workspace_id}/events"
    first, again = [server.post(path, body, headers=KEY) for _ in range(2)]
    assert first.status_code == 202
    assert is_replay_of(again, first)
    assert Event.objects.count() == 1


def test_a_body_is_the_same_in_any_spacing_and_order(server: ServerClient, journey: Journey) -> None:
    bodies = [
        b'{"external_id":"ada","payload":{"a":1,"b":2}}',
        b'{ "payload": {"b": 2, "a": 1}, "external_id": "ada" }',
    ]
    first, again = [trigger(server, journey, body, headers=KEY) for body in bodies]
    assert is_replay_of(again, first)


def test_a_replay_counts_against_the_limit(acme: Workspace, journey: Journey) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme, rate_limit="2/d"))
    left = [trigger(server, journey, ADA, headers=KEY)["X-RateLimit-Remaining"] for _ in range(2)]
    assert left == ["1", "0"]
    refused(trigger(server, journey, ADA, headers=KEY), status=429, error="Rate limit exceeded")


# What is another call -----------------------------------------------------------------------------------------------


def test_without_the_header_every_call_is_done_and_nothing_is_kept(server: ServerClient, journey: Journey) -> None:
    for _ in range(2):
        assert "Idempotency-Replayed" not in trigger(server, journey, ADA)
    assert (Trigger.objects.count(), IdempotencyRecord.objects.count()) == (2, 0)


def test_a_dry_run_keeps_nothing(server: ServerClient, journey: Journey) -> None:
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger"
    server.post(f"{path}?dryRun=true", ADA, headers=KEY)
    assert not IdempotencyRecord.objects.exists()


def test_no_other_call_knows_dry_runs(sdk: SdkClient) -> None:
    for _ in range(2):
        sdk.post(f"{ACTION}?dryRun=true", LEAST[ACTION], headers=KEY)
    assert Interaction.objects.count() == 1


def test_keys_paths_and_callers_are_told_apart(
    server: ServerClient, acme: Workspace, rival: Workspace, rival_server: ServerClient, journey: Journey
) -> None:
    CustomerFactory.create(workspace=rival, external_id="ada")
    colleague = ServerClient(ApiKeyFactory.create(workspace=acme))
    calls = [
        (server, journey, "4711"),
        (server, journey, "4711x"),
        (server, JourneyFactory.create(workspace=acme), "4711"),
        (colleague, journey, "4711"),
        (rival_server, JourneyFactory.create(workspace=rival), "4711"),
    ]
    for who, where, key in calls:
        assert "Idempotency-Replayed" not in trigger(who, where, ADA, headers={"Idempotency-Key": key})
    assert Trigger.objects.count() == len(calls)


def test_apps_and_the_two_bridge_calls_are_told_apart(sdk: SdkClient, acme: Workspace) -> None:
    neighbour = SdkClient(AppFactory.create(workspace=acme))
    for who, path in [(sdk, ACTION), (sdk, CAPTURE), (neighbour, ACTION)]:
        assert "Idempotency-Replayed" not in call(who, path, {}, headers=KEY)
    assert Interaction.objects.count() == 3


def test_after_24_hours_the_call_is_done_anew(server: ServerClient, journey: Journey) -> None:
    trigger(server, journey, ADA, headers=KEY)
    for age, replayed in [(timedelta(hours=23, minutes=59), True), (timedelta(hours=24, minutes=1), False)]:
        IdempotencyRecord.objects.update(created_at=timezone.now() - age)
        assert ("Idempotency-Replayed" in trigger(server, journey, ADA, headers=KEY)) is replayed
    assert (Trigger.objects.count(), IdempotencyRecord.objects.count()) == (2, 1)


# Refusals -----------------------------------------------------------------------------------------------------------

MALFORMED = ["", "x" * 256, "a b", "a\tb", "a\x7f", "é", "\x00"]


@each("key", MALFORMED)
def test_what_is_no_key_is_refused(server: ServerClient, sdk: SdkClient, journey: Journey, key: str) -> None:
    for answer in (
        trigger(server, journey, ADA, headers={"Idempotency-Key": key}),
        call(sdk, ACTION, {}, headers={"Idempotency-Key": key}),
    ):
        message = refused(answer, status=400, error="Invalid request")
        assert message == "The header Idempotency-Key must be 1 to 255 visible ASCII characters."
    assert (Trigger.objects.count(), Interaction.objects.count()) == (0, 0)


@each("key", ["0", "x" * 255, '"quoted"', "!~"])
def test_a_key_is_1_to_255_visible_characters(server: ServerClient, journey: Journey, key: str) -> None:
    first, again = [trigger(server, journey, ADA, headers={"Idempotency-Key": key}) for _ in range(2)]
    assert is_replay_of(again, first)


@every_form
@each("other", [{"external_id": "bob"}, {"external_ids": ["ada"]}, {**ADA, "payload": {"a": 1.0}}])
def test_another_body_with_the_same_key_is_refused(
    server: ServerClient, journey: Journey, form: str, other: dict[str, Any]
) -> None:
    first = trigger(server, journey, FORMS[form], headers=KEY)
    answer = trigger(server, journey, other, headers=KEY)
    refused(answer, status=422, error="Idempotency key reused")
    assert answer.json()["code"] == "idempotency_key_reused"
    assert Trigger.objects.count() == 1
    assert is_replay_of(trigger(server, journey, FORMS[form], headers=KEY), first)


def test_a_bridge_call_with_another_body_is_refused(sdk: SdkClient) -> None:
    call(sdk, ACTION, {}, headers=KEY)
    refused(call(sdk, ACTION, {"messageId": "m-2"}, headers=KEY), status=422, error="Idempotency key reused")


@each("field", ["userId", "external_id", "email", "phone"])
def test_two_people_of_an_app_with_the_same_key_are_both_served(sdk: SdkClient, field: str) -> None:
    seen = {"userId": None, "actionType": "track_event", "actionData": {"eventName": "seen"}}
    sent = {"email": ("ada@example.com", "bob@example.com"), "phone": ("+4915112345678", "+4915112345679")}
    answers = [
        call(sdk, ACTION, {**seen, field: person}, headers=KEY)
        for person in sent.get(field, ("ada", "bob"))
        for _ in range(2)
    ]
    ids = [data(answer, status=200)["eventId"] for answer in answers]
    assert (ids[0], ids[2], len(set(ids))) == (ids[1], ids[3], 2)
    assert ["Idempotency-Replayed" in answer.headers for answer in answers] == [False, True, False, True]
    assert Customer.objects.count() == Event.objects.count() == 2


def test_both_spellings_of_an_identifier_name_one_person(sdk: SdkClient) -> None:
    bodies = [{"userId": None, spelling: "ada"} for spelling in ("external_id", "externalId")]
    assert call(sdk, ACTION, bodies[0], headers=KEY).status_code == 200
    refused(call(sdk, ACTION, bodies[1], headers=KEY), status=422, error="Idempotency key reused")
    assert (Interaction.objects.count(), Customer.objects.count()) == (1, 1)


def test_a_refusal_is_not_kept(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    eve = {"external_id": "eve"}
    refused(trigger(server, journey, eve, headers=KEY), status=404, error="Customer not found")
    refused(trigger(server, journey, {}, headers=KEY), status=400, error="Missing required parameter")
    refused(trigger(server, journey, b"{", headers=KEY), status=400, error="Invalid request")
    assert not IdempotencyRecord.objects.exists()
    CustomerFactory.create(workspace=acme, external_id="eve")
    data(trigger(server, journey, eve, headers=KEY))


def test_deep_bodies_are_compared_or_refused(server: ServerClient, journey: Journey) -> None:
    for levels in (100, 500, *range(880, 1000, 6)):
        body = b'{"external_id":"ada","x":' + b"[" * levels + b"]" * levels + b"}"
        answer = trigger(server, journey, body, headers={"Idempotency-Key": f"deep-{levels}"})
        assert answer.status_code in {202, 400}


# At the same time ---------------------------------------------------------------------------------------------------

CALLERS = 16


def _one_did_it(answers: list[Answer]) -> None:
    """One first answer; everybody else got the same again, or was told to come back."""
    kinds = Counter(
        "busy" if answer.status_code == 409 else "again" if "Idempotency-Replayed" in answer else "first"
        for answer in answers
    )
    assert (kinds["first"], kinds.total()) == (1, CALLERS)
    assert len({answer.content for answer in answers if answer.status_code != 409}) == 1
    for busy in (answer for answer in answers if answer.status_code == 409):
        refused(busy, status=409, error="Request in progress")
        assert (busy.json()["code"], busy["Retry-After"]) == ("request_in_progress", "1")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.django_db(transaction=True)
def test_of_16_simultaneous_triggers_one_is_done(server: ServerClient, journey: Journey, form: str) -> None:
    _one_did_it(all_at_once([lambda: trigger(server, journey, FORMS[form], headers=KEY)] * CALLERS))
    assert Trigger.objects.count() == 1
    again = trigger(server, journey, FORMS[form], headers=KEY)
    assert again["Idempotency-Replayed"] == "true"


@both_calls_apart
@pytest.mark.django_db(transaction=True)
def test_of_16_simultaneous_bridge_calls_one_is_done(sdk: SdkClient, path: str) -> None:
    _one_did_it(all_at_once([lambda: call(sdk, path, {}, headers=KEY)] * CALLERS))
    assert (Interaction.objects.count(), Customer.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_while_the_first_is_served_the_next_is_told_to_come_back(server: ServerClient, journey: Journey) -> None:
    trigger(server, journey, ADA)  # notes the key's use, which the next one then leaves alone
    with transaction.atomic():  # the first call, not committed yet
        data(trigger(server, journey, ADA, headers=KEY))
        (busy,) = all_at_once([lambda: trigger(server, journey, ADA, headers=KEY)])
        refused(busy, status=409, error="Request in progress")
    (again,) = all_at_once([lambda: trigger(server, journey, ADA, headers=KEY)])  # as another web process serves it
    assert again["Idempotency-Replayed"] == "true"
    assert Trigger.objects.count() == 2


@both_calls_apart
@pytest.mark.django_db(transaction=True)
def test_a_served_call_holds_up_nobody_else_with_its_key(sdk: SdkClient, rival_sdk: SdkClient, path: str) -> None:
    with transaction.atomic():  # not committed yet
        assert call(sdk, path, {}, headers=KEY).status_code == 200
        (answer,) = all_at_once([lambda: call(rival_sdk, path, {}, headers=KEY)])
        assert (answer.status_code, "Idempotency-Replayed" in answer) == (200, False)


@pytest.mark.django_db(transaction=True)
def test_a_served_trigger_holds_up_no_colleague(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    colleague = ServerClient(ApiKeyFactory.create(workspace=acme))
    with transaction.atomic():  # not committed yet
        data(trigger(server, journey, ADA, headers=KEY))
        (answer,) = all_at_once([lambda: trigger(colleague, journey, {"external_id": "bob"}, headers=KEY)])
        assert (answer.status_code, "Idempotency-Replayed" in answer) == (202, False)


@both_calls_apart
@pytest.mark.django_db(transaction=True)
def test_a_call_that_is_served_holds_up_none_of_the_same_caller_with_another_key(sdk: SdkClient, path: str) -> None:
    with transaction.atomic():  # not committed yet
        assert call(sdk, path, {"userId": "u-1"}, headers=KEY).status_code == 200
        (answer,) = all_at_once([lambda: call(sdk, path, {"userId": "u-2"}, headers={"Idempotency-Key": "4712"})])
        assert (answer.status_code, "Idempotency-Replayed" in answer) == (200, False)


def test_a_taken_job_id_does_not_break_the_transaction(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, ADA))
    last = take_milliseconds(EnrollmentJob.objects.get())
    answer = trigger(server, journey, ADA, headers=KEY)
    assert data(answer)["jobId"].endswith(f"-{last + 1}")
    assert is_replay_of(trigger(server, journey, ADA, headers=KEY), answer)


# The records --------------------------------------------------------------------------------------------------------


def prune_old(*, at: Any, **options: Any) -> int:
    keeps = IdempotencyRecord.table.keeps
    assert isinstance(keeps, KeepsFew)
    return prune_few(IdempotencyRecord, keeps, at=at, **options)


def test_old_records_are_pruned_in_batches(server: ServerClient, journey: Journey) -> None:
    for number in range(5):
        trigger(server, journey, ADA, headers={"Idempotency-Key": str(number)})
    now = timezone.now()
    ids = list(IdempotencyRecord.objects.order_by("id").values_list("id", flat=True))
    IdempotencyRecord.objects.filter(id__in=ids[:3]).update(created_at=now - timedelta(hours=24, seconds=1))
    assert prune_old(at=now, dry_run=True) == 3
    assert IdempotencyRecord.objects.count() == 5
    with CaptureQueriesContext(connection) as queries:
        assert prune_old(at=now, batch=2) == 3
    assert len([query for query in queries if query["sql"].startswith("DELETE")]) == 2
    assert list(IdempotencyRecord.objects.order_by("id").values_list("id", flat=True)) == ids[3:]


def test_a_record_goes_when_it_is_24_hours_old_and_not_before(server: ServerClient, journey: Journey) -> None:
    trigger(server, journey, ADA, headers=KEY)
    old = IdempotencyRecord.objects.get().created_at + timedelta(hours=24)
    assert prune_old(at=old - timedelta(microseconds=1)) == 0
    assert prune_old(at=old) == 1


def test_records_go_with_their_key_and_their_app(server: ServerClient, sdk: SdkClient, journey: Journey) -> None:
    trigger(server, journey, ADA, headers=KEY)
    call(sdk, ACTION, {}, headers=KEY)
    for caller in (server.key, sdk.app):
        caller.delete()
    assert not IdempotencyRecord.objects.exists()


@each("caller", ["api_key_id", "app_id"])
def test_the_database_refuses_a_record_that_links_two_workspaces(
    server: ServerClient, sdk: SdkClient, rival: Workspace, caller: str
) -> None:
    ids = {"api_key_id": server.key.id, "app_id": sdk.app.id}
    with pytest.raises(IntegrityError, match="violates foreign key"), transaction.atomic():
        IdempotencyRecord.objects.create(
            workspace=rival, call_digest=b"c", body_digest=b"b", status=202, body="{}", **{caller: ids[caller]}
        )

"""Merges beside other calls: in threads, on a real database."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from django.db import transaction
from django.db.models import Q

from customers.models import Alias, Customer, Event, SegmentMembership
from engage.database.statement_limit import large_work
from engage.models import Workspace
from journeys.engine.enrollments.exiting import exit_enrollment
from journeys.engine.jobs.cancellation import cancel_job
from journeys.models import Enrollment, Journey, UnknownExternalId
from tests.bridge.identity.tokens import proving, token
from tests.bridge.merging import merge
from tests.support.bridge_calls import SEEN, click, identify
from tests.support.calls import customers_path, data, let_workers_walk, refused, trigger
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import PATIENCE_SECONDS, all_at_once, made_to_wait

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 32


@pytest.mark.slow
@pytest.mark.parametrize("known", ["nobody", "ada"])
@pytest.mark.parametrize("ids", [1, 8])
def test_many_at_once_make_one_customer(acme: Workspace, sdk: SdkClient, known: str, ids: int) -> None:
    if known == "ada":
        CustomerFactory.create(workspace=acme, external_id="ada")
    for n in range(ids):
        click(sdk, userId=f"anon-{n}", **SEEN)
    calls = [partial(identify, sdk, user_id=f"anon-{n % ids}", external_id="ada") for n in range(AT_ONCE)]
    answers = all_at_once(calls)
    assert Counter(answer.status_code for answer in answers) == {200: AT_ONCE}
    customer = Customer.objects.get()
    assert customer.external_id == "ada"
    assert Event.objects.filter(customer=customer).count() == ids


@pytest.mark.slow
def test_clicks_at_the_same_moment_are_all_the_known_ones(acme: Workspace, sdk: SdkClient, ada: Customer) -> None:
    """Pages that go away send what waits in requests of their own, so a click may overtake the call before it."""
    calls: list[Callable[[], Answer]] = []
    for n in range(8):
        calls += [partial(click, sdk, userId=f"anon-{n}", **SEEN)] * 3
        calls.append(partial(identify, sdk, user_id=f"anon-{n}", external_id="ada"))
    assert {answer.status_code for answer in all_at_once(calls)} == {200}
    assert Customer.objects.get() == ada
    assert Event.objects.filter(customer=ada).count() == 24
    assert Alias.objects.count() == 8


@pytest.mark.slow
def test_what_is_proven_is_taken_from_claimants_beside_all_else(
    acme: Workspace, sdk: SdkClient, server: ServerClient, ada: Customer
) -> None:
    strict, named = proving(acme), {"external_id": "ada", "email": "ada@example.com", "userId": "u-1"}
    proof = {"identityToken": token(email="ada@example.com", userId="u-1")}
    calls: list[Callable[[], Answer]] = []
    for n in range(6):
        calls += [
            partial(click, sdk, userId="u-1", email=f"{n}@evil.example"),
            partial(click, sdk, userId=f"evil-{n}", email="ada@example.com"),
            partial(click, strict, **named, **proof, **SEEN),
            partial(identify, strict, user_id="u-1", external_id="ada", **proof),
            partial(server.put, customers_path(acme), {"external_id": "ada", "attributes": {f"n-{n}": 1}}),
        ]
    assert {answer.status_code for answer in all_at_once(calls)} == {200}
    assert click(strict, **named, **proof).succeeded
    assert not Customer.objects.exclude(id=ada.id).filter(Q(user_id="u-1") | Q(email="ada@example.com")).exists()
    assert Event.objects.filter(customer=ada).count() == 6


def test_merges_into_each_other_do_not_wait_for_each_other(acme: Workspace, server: ServerClient) -> None:
    pair = [CustomerFactory.create(workspace=acme, external_id=None, user_id=f"u-{n}") for n in range(2)]
    calls = [
        partial(
            server.post,
            customers_path(acme, "merge"),
            {"anonymous": {"userId": f"u-{n % 2}"}, "into": {"userId": f"u-{(n + 1) % 2}"}},
        )
        for n in range(16)
    ]
    assert {answer.status_code for answer in all_at_once(calls)} == {200}
    assert Customer.objects.get() in pair


@pytest.mark.slow
@pytest.mark.parametrize("both_ways", [False, True])
def test_known_people_are_merged_beside_calls_that_name_them_and_nobody_is_made_anew(
    acme: Workspace, server: ServerClient, sdk: SdkClient, both_ways: bool
) -> None:
    for name in ("ada", "ada-2"):
        CustomerFactory.create(workspace=acme, external_id=name, email=f"{name}@example.com")
    calls: list[Callable[[], Answer]] = []
    for n in range(8):
        former, into = ("ada", "ada-2") if both_ways and n % 2 else ("ada-2", "ada")
        body = {"customer": {"external_id": former}, "into": {"external_id": into}}
        named = {"email": "ada-2@example.com"} if n % 2 else {"external_id": "ada-2"}
        calls += [
            partial(server.post, customers_path(acme, "merge"), body),
            partial(server.put, customers_path(acme), {**named, "attributes": {f"n-{n}": 1}}),
            partial(server.post, customers_path(acme, "events"), {**named, "eventName": "seen"}),
            partial(click, sdk, **named, **SEEN),
        ]
    assert {answer.status_code for answer in all_at_once(calls)} == {200, 202}
    (one,) = Customer.objects.all()
    assert {f"n-{n}" for n in range(8)} <= one.attributes.keys()
    assert Event.objects.filter(customer=one).count() == 16


def test_a_new_customer_who_is_withdrawn_is_not_erased(
    acme: Workspace, sdk: SdkClient, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    """The user id that they were made with has become an alias; whom calls have named in vain is still unknown."""
    data(trigger(server, journey, {"external_ids": ["bob", "ada"], "payload": {"seats": 7}}))
    Customer.objects.filter(id=anonymous.id).delete()
    with transaction.atomic():
        CustomerFactory.create(workspace=acme, external_id=None, user_id="anon-1")
        clicking = made_to_wait(lambda: click(sdk, userId="anon-1", external_id="bob").status_code)
        merge(acme)
    assert clicking.result(PATIENCE_SECONDS) == 200
    assert Customer.objects.get() == ada
    assert UnknownExternalId.objects.get().external_id == "bob"


@pytest.fixture
def inside(acme: Workspace, server: ServerClient, anonymous: Customer) -> Enrollment:
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    data(trigger(server, journey, {"customerId": anonymous.id}))
    let_workers_walk()
    return Enrollment.objects.get()


def test_whoever_waits_for_the_anonymous_one_goes_on_with_the_known_one(
    acme: Workspace, sdk: SdkClient, server: ServerClient, inside: Enrollment, ada: Customer, journey: Journey
) -> None:
    queued = data(trigger(server, journey, {"customerId": inside.customer_id}))["jobId"]
    event = {"userId": "anon-1", "eventName": "seen"}
    waiting: list[Callable[[], object]] = [
        lambda: click(sdk, userId="anon-1").status_code,
        lambda: data(server.post(customers_path(acme, "events"), event))["customerId"],
        lambda: cancel_job(workspace_id=acme.id, job_id=queued).customer_id,
        lambda: exit_enrollment(workspace_id=acme.id, enrollment_id=inside.id, reason="Asked.").enrollment.customer_id,
    ]
    with transaction.atomic():
        merge(acme)
        started = [made_to_wait(call) for call in waiting]
    assert [one.result(PATIENCE_SECONDS) for one in started] == [200, ada.id, ada.id, ada.id]
    assert Customer.objects.get() == ada
    inside.refresh_from_db()
    assert (inside.state, inside.exit_reason) == ("exited", "Asked.")


def _each_customer_id(answer: Answer) -> list[str]:
    return [result["customerId"] for result in answer.json()["data"]["results"]]


def test_calls_that_wait_look_again_for_whom_they_mean(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    """Beside others who have not moved, too: they are not refused, and no second customer is made."""
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    put, note = customers_path(acme), {"eventName": "seen"}
    batch = {"customers": [{"customerId": anonymous.id}, {"userId": "anon-1"}, {"external_id": "bob"}]}
    report = {
        "events": [{"userId": "anon-1", **note}, {"customerId": anonymous.id, **note}, {"external_id": "bob", **note}]
    }
    waiting: list[Callable[[], object]] = [
        lambda: data(server.put(put, {"userId": "anon-1"}), status=200)["customerId"],
        lambda: _each_customer_id(server.post(customers_path(acme, "batch"), batch)),
        lambda: _each_customer_id(server.post(customers_path(acme, "events"), report)),
    ]
    with transaction.atomic():
        merge(acme)
        started = [made_to_wait(call, waiting=number) for number, call in enumerate(waiting, 1)]
    each = [ada.id, ada.id, bob.id]
    assert [one.result(PATIENCE_SECONDS) for one in started] == [ada.id, each, each]
    assert set(Customer.objects.all()) == {ada, bob}


def test_calls_that_wait_while_an_identifier_moves_go_by_who_has_it_then(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    bob, eve = (CustomerFactory.create(workspace=acme, external_id=name) for name in ("bob", "eve"))
    names = ["bob", "eve"]
    segment = SegmentFactory.create(workspace=acme)
    batch = {"customers": [{"external_id": name} for name in names]}
    report = {"events": [{"external_id": name, "eventName": "seen"} for name in names]}
    waiting: list[Callable[[], object]] = [
        lambda: _each_customer_id(server.post(customers_path(acme, "batch"), batch)),
        lambda: _each_customer_id(server.post(customers_path(acme, "events"), report)),
        lambda: data(server.post(customers_path(acme, "segments", segment.id, "members"), {"add": names}), status=200),
    ]
    moves = [{"customerId": bob.id, "external_id": "robert"}, {"customerId": ada.id, "external_id": "bob"}]
    with transaction.atomic():
        for body in moves:
            data(server.put(customers_path(acme), body), status=200)
        started = [made_to_wait(call, waiting=number) for number, call in enumerate(waiting, 1)]
    each, members = [ada.id, eve.id], {"added": 2, "removed": 0, "unknown": []}
    assert [one.result(PATIENCE_SECONDS) for one in started] == [each, each, members]
    assert set(SegmentMembership.objects.values_list("customer_id", flat=True)) == set(each)


def test_a_merge_that_waits_reads_anew_whether_only_a_page_has_made_an_alias(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    CustomerFactory.create(workspace=acme, external_id="bob")
    assert identify(sdk, user_id="anon-1", external_id="ada").succeeded
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "bob"}}
    with transaction.atomic():
        merge(acme)  # a server's word
        merging = made_to_wait(lambda: server.post(customers_path(acme, "merge"), body))
    refused(merging.result(PATIENCE_SECONDS), status=409, error="Identifier conflict")
    assert Alias.objects.get(user_id="anon-1").customer == ada


def test_a_put_of_a_user_id_that_becomes_an_alias_makes_no_second_customer(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    with transaction.atomic():
        merge(acme)  # makes the customer of a new user id, and merges them
        putting = made_to_wait(lambda: data(server.put(customers_path(acme), {"userId": "anon-1"}), status=200))
    assert putting.result(PATIENCE_SECONDS)["customerId"] == ada.id
    assert Customer.objects.get() == ada


def test_who_has_very_much_is_merged_and_erased_by_servers_alone_one_at_a_time(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customers.personal._MOST_AT_ONCE", 2)
    for _ in range(3):
        click(sdk, userId="anon-1", **SEEN)
    refused(identify(sdk, user_id="anon-1", external_id="ada"), status=409, error="Too large to merge")
    anonymous = Customer.objects.get(user_id="anon-1")
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada"}}
    calls: list[Callable[[], Answer]] = [
        lambda: server.get(customers_path(acme, anonymous.id, "export")),
        lambda: server.post(customers_path(acme, "merge"), body),
        lambda: server.delete(customers_path(acme, ada.id)),
    ]
    for call in calls:
        with large_work():
            answer = call()
        refused(answer, status=503, error="Service unavailable")
        assert (answer.json()["code"], answer.headers["Retry-After"]) == ("large_work_in_progress", "30")
        assert call().status_code == 200
    assert not Customer.objects.exists()

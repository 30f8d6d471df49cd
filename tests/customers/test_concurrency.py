"""Calls about the same people at the same time: nobody is made twice, nothing is lost, nobody is locked out."""

import random
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from customers.identity import upsert
from customers.models import Customer, Segment, SegmentMembership
from engage.models import Workspace
from tests.support.calls import customers_path, data
from tests.support.clients import Answer, ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory
from tests.support.simultaneous import all_at_once, done_with_customers_locked_in_order, elsewhere, made_to_wait

pytestmark = pytest.mark.django_db(transaction=True)


def _put(server: ServerClient, workspace: Workspace, body: Any) -> Answer:
    return ServerClient(server.key).put(customers_path(workspace), body)


def _batch(server: ServerClient, workspace: Workspace, customers: list[Any]) -> dict[str, Any]:
    answer = ServerClient(server.key).post(customers_path(workspace, "batch"), {"customers": customers})
    return data(answer, status=200)


def test_calls_for_one_new_person_make_one_customer_with_all_attributes(acme: Workspace, server: ServerClient) -> None:
    bodies = [{"external_id": "ada", "email": "ada@acme.example", "attributes": {f"call-{n}": n}} for n in range(24)]
    answers = all_at_once([partial(_put, server, acme, body) for body in bodies])
    assert sorted(answer.status_code for answer in answers) == [200] * 23 + [201]
    assert Customer.objects.get(workspace=acme).attributes == {f"call-{n}": n for n in range(24)}


def test_calls_by_different_identifiers_never_make_two_of_one_person(acme: Workspace, server: ServerClient) -> None:
    bodies = [{"external_id": "ada", "email": "a@acme.example"}, {"email": "a@acme.example", "phone": "1"}] * 6
    answers = all_at_once([partial(_put, server, acme, body) for body in bodies])
    assert {answer.status_code for answer in answers} <= {200, 201}
    customer = Customer.objects.get(workspace=acme)
    assert (customer.external_id, customer.email, customer.phone) == ("ada", "a@acme.example", "1")


def _deadlocks() -> int:
    """How many PostgreSQL has had to break up in this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_overlapping_batches_lose_nothing_and_never_deadlock(acme: Workspace, server: ServerClient) -> None:
    people = [f"person-{n}" for n in range(120)]
    Customer.objects.bulk_create(Customer(workspace=acme, external_id=person) for person in people[::2])
    batches = []
    for call in range(6):
        shuffled = random.sample(people, k=len(people))
        batches.append([{"external_id": person, "attributes": {f"call-{call}": True}} for person in shuffled])
    before = _deadlocks()
    answers = all_at_once([partial(_batch, server, acme, batch) for batch in batches])
    assert _deadlocks() == before
    assert [answer["failed"] for answer in answers] == [0] * 6
    assert sum(answer["created"] for answer in answers) == 60
    everything = {f"call-{call}": True for call in range(6)}
    assert list(Customer.objects.values_list("attributes", flat=True)) == [everything] * 120


def test_new_people_are_written_in_one_order_whatever_the_call_s(acme: Workspace, server: ServerClient) -> None:
    before = _deadlocks()
    with transaction.atomic():
        CustomerFactory.create(workspace=acme, external_id="ada")
        batch = made_to_wait(lambda: _batch(server, acme, [{"external_id": "bob"}, {"external_id": "ada"}]))
        CustomerFactory.create(workspace=acme, external_id="bob")
    assert batch.result()["updated"] == 2
    assert _deadlocks() == before


@pytest.mark.slow
def test_a_batch_that_is_locked_out_is_done_again(acme: Workspace, server: ServerClient) -> None:
    """The other writes bob and then ada; PostgreSQL breaks the deadlock by giving up one of the two."""
    for _ in range(5):
        try:
            with transaction.atomic():
                CustomerFactory.create(workspace=acme, external_id="bob")
                batch = made_to_wait(lambda: _batch(server, acme, [{"external_id": "ada"}, {"external_id": "bob"}]))
                CustomerFactory.create(workspace=acme, external_id="ada")
            break
        except OperationalError:  # on a busy machine it may be the other that is given up
            batch.result()
            Customer.objects.all().delete()
    assert (batch.result()["updated"], batch.result()["failed"]) == (2, 0)
    assert [customer.external_id for customer in Customer.objects.order_by("external_id")] == ["ada", "bob"]


def test_a_batch_does_not_wait_for_whom_it_comes_to_mean_while_it_holds_others(
    acme: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ada gets the external id of an item after the batch has locked bob; whoever locks both begins with ada."""
    ada = CustomerFactory.create(id="a" * 24, workspace=acme, external_id=None, email="ada@acme.example")
    bob = CustomerFactory.create(id="b" * 24, workspace=acme, external_id="bob")
    assert ada.id < bob.id
    segment = SegmentFactory.create(workspace=acme)
    body = {"add": ["ada", "bob"]}
    changes: list[Future[Answer]] = []

    def after_ada_has_got_it(*args: Any, **options: Any) -> Any:
        if not changes:
            elsewhere(lambda: Customer.objects.filter(id=ada.id).update(external_id="ada"))
            path = customers_path(acme, "segments", segment.id, "members")
            changes.append(made_to_wait(lambda: ServerClient(server.key).post(path, body)))
        return apply(*args, **options)

    apply = upsert._apply
    monkeypatch.setattr(upsert, "_apply", after_ada_has_got_it)
    before = _deadlocks()
    customers = [{"external_id": name, "attributes": {"seats": 3}} for name in ("bob", "ada")]
    assert elsewhere(lambda: _batch(server, acme, customers))["updated"] == 2
    assert data(changes[0].result(), status=200)["added"] == 2
    assert _deadlocks() == before
    assert Customer.objects.filter(attributes={"seats": 3}).count() == 2


def test_of_several_who_want_the_same_email_one_gets_it(acme: Workspace, server: ServerClient) -> None:
    for n in range(8):
        CustomerFactory.create(workspace=acme, external_id=f"person-{n}", email=f"{n}@acme.example")
    bodies = [{"external_id": f"person-{n}", "email": "info@acme.example"} for n in range(8)]
    answers = all_at_once([partial(_put, server, acme, body) for body in bodies])
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert Customer.objects.filter(email="info@acme.example").count() == 1


def test_crossing_membership_changes_all_succeed_and_add_up(acme: Workspace, server: ServerClient) -> None:
    people = [CustomerFactory.create(workspace=acme, external_id=f"person-{n}") for n in range(60)]
    segment = SegmentFactory.create(workspace=acme, members=people[:30])
    path = customers_path(acme, "segments", segment.id, "members")

    def change() -> dict[str, Any]:
        shuffled = random.sample([person.external_id for person in people], k=60)
        answer = ServerClient(server.key).post(path, {"add": shuffled[:30], "remove": shuffled[30:]})
        return data(answer, status=200)

    changes = all_at_once([change] * 8)
    inside = SegmentMembership.objects.filter(segment=segment).count()
    assert 30 + sum(change["added"] - change["removed"] for change in changes) == inside == 30


def test_a_segment_cannot_be_deleted_from_under_a_change(acme: Workspace, server: ServerClient) -> None:
    ada = CustomerFactory.create(workspace=acme, external_id="ada")
    segment = SegmentFactory.create(workspace=acme)
    path = customers_path(acme, "segments", segment.id, "members")
    with transaction.atomic():
        Customer.objects.select_for_update().get(id=ada.id)
        change = made_to_wait(lambda: ServerClient(server.key).post(path, {"add": ["ada"]}))
        with pytest.raises(OperationalError, match="could not obtain lock"), transaction.atomic():
            Segment.objects.select_for_update(nowait=True).get(id=segment.id)
    assert data(change.result(), status=200)["added"] == 1


def test_a_change_of_members_locks_them_in_the_order_of_their_ids(acme: Workspace, server: ServerClient) -> None:
    for letter, name in {"b": "bob", "c": "ada", "a": "eve"}.items():
        CustomerFactory.create(workspace=acme, id=letter * 24, external_id=name)
    segment = SegmentFactory.create(workspace=acme)
    path = customers_path(acme, "segments", segment.id, "members")
    answer = done_with_customers_locked_in_order(lambda: server.post(path, {"add": ["ada", "bob"], "remove": ["eve"]}))
    assert data(answer, status=200)["added"] == 2


def test_a_change_of_members_waits_for_nobody_whom_it_does_not_name(acme: Workspace, server: ServerClient) -> None:
    ada, bob = (CustomerFactory.create(workspace=acme, external_id=name) for name in ("ada", "bob"))
    segment = SegmentFactory.create(workspace=acme)
    path = customers_path(acme, "segments", segment.id, "members")
    with transaction.atomic():
        Customer.objects.select_for_update().get(id=bob.id)
        answer = elsewhere(lambda: server.post(path, {"add": [ada.external_id]}))
    assert data(answer, status=200)["added"] == 1


def test_a_person_can_be_erased_while_everybody_writes_to_them(acme: Workspace, server: ServerClient) -> None:
    people = [CustomerFactory.create(workspace=acme, external_id=f"person-{n}") for n in range(10)]
    names = [person.external_id for person in people]
    segment = SegmentFactory.create(workspace=acme)
    members = customers_path(acme, "segments", segment.id, "members")

    def erase_all() -> list[int]:
        erasing = ServerClient(server.key)
        return [erasing.delete(customers_path(acme, person.id)).status_code for person in people]

    calls: list[tuple[str, str, Any]] = [
        ("POST", members, {"add": names}),
        ("POST", members, {"remove": names}),
        ("PUT", customers_path(acme), {"external_id": names[0], "email": "p@acme.example"}),
        ("POST", customers_path(acme, "batch"), {"customers": [{"external_id": name} for name in names]}),
    ]

    def write() -> list[int]:
        writing = ServerClient(server.key)
        return [writing.call(*call).status_code for _ in range(3) for call in calls]

    erased, *written = all_at_once([erase_all, write, write, write])
    assert erased == [200] * 10
    assert {status for statuses in written for status in statuses} <= {200, 201}
    assert not Customer.objects.filter(id__in=[person.id for person in people]).exists()

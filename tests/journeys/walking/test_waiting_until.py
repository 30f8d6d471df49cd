"""Waits for a condition, which every write of the profile looks at."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.identity.identifiers import identifiers
from customers.identity.roster import CustomerData
from customers.identity.upsert import upsert_customers
from customers.models import Customer
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.engine.steering.releasing import release
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, StepRun, WebhookDelivery
from tests.bridge.identity.tokens import proving, token
from tests.journeys.walking.stories import enter, history
from tests.journeys.webhooks.standing import make_due, send
from tests.support.bridge_calls import ANON, identify, submit
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once

PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
YES: dict[str, Any] = {"id": "yes", "type": "update_profile", "attributes": {"came": True}, "next": None}
NO: dict[str, Any] = {"id": "no", "type": "update_profile", "attributes": {"came": False}}
MOVED, LATE = [("wait", "done"), ("yes", "done")], [("wait", "done"), ("no", "done")]


def steps_of(condition: Any = PRO, timeout: str = "P3D") -> list[Any]:
    wait = {"id": "wait", "type": "wait_until", "if": condition, "timeout": timeout, "onTrue": "yes", "onTimeout": "no"}
    return [wait, YES, NO]


def waiter(server: ServerClient, customer: Customer, condition: Any = PRO, **payload: Any) -> Enrollment:
    """The customer's enrollment, which waits."""
    journey = JourneyFactory.create(workspace=customer.workspace, steps=steps_of(condition))
    enrollment = enter(server, journey, customer, **payload)
    let_workers_walk()
    enrollment.refresh_from_db()
    assert (enrollment.step_id, enrollment.watches_until) == ("wait", enrollment.due_at)
    return enrollment


def anonymous_of(workspace: Workspace, **fields: Any) -> Customer:
    return CustomerFactory.create(workspace=workspace, user_id=ANON, external_id=None, email=None, phone=None, **fields)


def put(server: ServerClient, customer: Customer, **attributes: Any) -> None:
    data(
        server.put(customers_path(customer.workspace), {"customerId": customer.id, "attributes": attributes}),
        status=200,
    )


def batch(server: ServerClient, customer: Customer, **attributes: Any) -> None:
    items = [{"external_id": "other"}, {"customerId": customer.id, "attributes": attributes}]
    data(server.post(customers_path(customer.workspace, "batch"), {"customers": items}), status=200)


def step(server: ServerClient, customer: Customer, **attributes: Any) -> None:
    note = {"id": "note", "type": "update_profile", "attributes": attributes}
    enter(server, JourneyFactory.create(workspace=customer.workspace, steps=[note]), customer)
    let_workers_walk()


def merge(server: ServerClient, customer: Customer, **attributes: Any) -> None:
    anonymous_of(customer.workspace, attributes=attributes)
    body = {"anonymous": {"userId": ANON}, "into": {"customerId": customer.id}}
    data(server.post(customers_path(customer.workspace, "merge"), body), status=200)


WRITERS = {"put": put, "batch": batch, "update_profile": step, "merge": merge}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_every_write_of_a_server_or_a_step_ends_the_wait(
    server: ServerClient, ada: Customer, write: Callable[..., None]
) -> None:
    enrollment = waiter(server, ada)
    write(server, ada, city="Ulm")
    let_workers_walk()
    assert history(enrollment) == [("wait", "waiting")]
    write(server, ada, plan="pro") if write is not merge else put(server, ada, plan="pro")
    let_workers_walk()
    assert history(enrollment) == MOVED
    put(server, ada, plan="free")
    assert not Customer.objects.get(id=ada.id).watched  # the mark went with the next write


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize("state", ["waiting", "held"])
def test_every_write_ends_what_is_being_sent_once_an_exit_condition_holds(
    server: ServerClient, ada: Customer, receiver: Receiver, write: Callable[..., None], state: str
) -> None:
    call = {"id": "call", "type": "webhook", "url": receiver.url("/status/500")}
    journey = JourneyFactory.create(workspace=ada.workspace, steps=[call, NO], steps__exit_on=[{"if": PRO}])
    enrollment = enter(server, journey, ada)
    let_workers_walk()
    send()
    WebhookDelivery.objects.update(state=state)
    write(server, ada, city="Ulm")
    assert history(enrollment) == [("call", "waiting")]
    write(server, ada, plan="pro") if write is not merge else put(server, ada, plan="pro")
    enrollment.refresh_from_db()
    assert (enrollment.state, enrollment.exit_reason) == ("exited", "Exit condition 1 of 1 holds.")
    assert (history(enrollment), WebhookDelivery.objects.get().state) == ([("call", "interrupted")], "dropped")
    make_due()
    send()
    assert len(receiver.arrived) == 1
    put(server, ada, plan="free")
    assert not Customer.objects.get(id=ada.id).watched


def test_who_is_being_sent_something_is_marked_only_where_conditions_end_the_journey(
    server: ServerClient, ada: Customer, receiver: Receiver
) -> None:
    call = {"id": "call", "type": "webhook", "url": receiver.url()}
    for exit_on in ([], [{"event": "left"}], [{"event": "left"}, {"if": PRO}]):
        journey = JourneyFactory.create(workspace=ada.workspace, steps=[call], steps__exit_on=exit_on)
        enter(server, journey, ada)
        let_workers_walk()
        assert Customer.objects.get(id=ada.id).watched == (len(exit_on) == 2)


def test_a_merge_makes_one_who_waited_the_other_one(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    """What the anonymous person waits for, the known one may have already."""
    anonymous = anonymous_of(acme)
    enrollment = waiter(server, anonymous)
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "pro"})
    body = {"anonymous": {"userId": ANON}, "into": {"customerId": ada.id}}
    data(server.post(customers_path(acme, "merge"), body), status=200)
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_so_do_writes_of_pages(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    enrollment = waiter(server, ada)
    action = {"type": "update_profile", "profileAttributes": {"plan": "plan"}}
    data(submit(sdk, userId=None, external_id="ada", formData={"plan": "pro"}, submitAction=action), status=200)
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_so_does_who_is_identified(acme: Workspace, server: ServerClient, sdk: SdkClient) -> None:
    anonymous = anonymous_of(acme, claimed_identifiers=["user_id"])
    enrollment = waiter(server, anonymous, {"field": "customer.email", "op": "exists"})
    data(identify(sdk, email="ada@example.com"), status=200)
    let_workers_walk()
    assert history(enrollment) == MOVED


def absent(*fields: str) -> dict[str, Any]:
    return {"all": [{"field": f"customer.{field}", "op": "not_exists"} for field in fields]}


PLAN = {"formData": {"plan": "pro"}, "submitAction": {"type": "update_profile", "profileAttributes": {"plan": "plan"}}}


@each(
    "unmet, call, sent",
    [
        (absent("email"), identify, {"email": "ada@example.com"}),  # one goes, and another comes
        (absent("email", "cart"), identify, {}),  # it goes, and what the anonymous person has comes
        (absent("email", "plan"), submit, {"userId": None, **PLAN}),
    ],
)
def test_what_a_profile_is_between_two_writes_of_one_call_ends_no_wait(
    acme: Workspace, server: ServerClient, unmet: Any, call: Callable[..., Any], sent: dict[str, Any]
) -> None:
    """A token confirms the external id, so an e-mail address that is only claimed goes; the same call writes on."""
    known: dict[str, Any] = {"external_id": "ada", "email": "old@example.com", "phone": None}
    customer = CustomerFactory.create(workspace=acme, **known, claimed_identifiers=["email", "external_id"])
    anonymous_of(acme, claimed_identifiers=["user_id"], attributes={"cart": "b7"})
    enrollment = waiter(server, customer, unmet)
    proof = {"external_id": "ada", "identityToken": token(email="ada@example.com")}
    data(call(proving(acme), **proof, **sent), status=200)
    let_workers_walk()
    assert Customer.objects.get(id=customer.id).email != "old@example.com"
    assert history(enrollment) == [("wait", "waiting")]


def test_so_does_an_import(server: ServerClient, ada: Customer, tmp_path: Path) -> None:
    enrollment = waiter(server, ada)
    described = {"external_id": "ada", "attributes": {"plan": "pro"}}
    file = tmp_path / "seed.json"
    file.write_text(json.dumps({"workspace": {"key": ada.workspace.key}, "customers": [described]}))
    call_command("seed_workspace", str(file), stdout=StringIO())
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_what_held_once_counts_when_a_held_journey_goes_on(server: ServerClient, ada: Customer) -> None:
    enrollment = waiter(server, ada)
    steer = f"/api/v1/journeys/{enrollment.workspace_id}/{enrollment.journey_id}"
    data(server.post(f"{steer}/hold", {}), status=200)
    put(server, ada, plan="pro")
    let_workers_walk()
    put(server, ada, plan="free")
    assert history(enrollment) == [("wait", "waiting")]
    data(server.post(f"{steer}/resume", {}), status=200)
    release(enrollment.journey_id, seconds=5)
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_without_a_write_the_time_is_up(server: ServerClient, ada: Customer) -> None:
    enrollment = waiter(server, ada)
    time_passes(days=3)
    let_workers_walk()
    assert history(enrollment) == LATE
    enrollment.refresh_from_db()
    assert (enrollment.state, enrollment.watches_until) == ("completed", None)


def test_a_relative_time_is_a_due_time_which_a_write_moves(server: ServerClient, ada: Customer) -> None:
    old = {"field": "customer.seen", "op": "before", "value": {"now": "-PT1H"}}
    now = timezone.now()
    Customer.objects.update(attributes={"seen": iso_utc(now)})
    journey = JourneyFactory.create(workspace=ada.workspace, steps=steps_of(old))
    enrollment = enter(server, journey, ada)
    let_workers_walk()

    def waits() -> tuple[timedelta, timedelta]:
        enrollment.refresh_from_db()
        assert enrollment.due_at
        assert enrollment.watches_until
        return enrollment.due_at - now, enrollment.watches_until - now

    assert timedelta(minutes=59) < waits()[0] < timedelta(minutes=61) < timedelta(days=2) < waits()[1]
    state = data(server.get(f"/api/v1/journeys/{enrollment.workspace_id}/enrollments/{enrollment.id}"), status=200)
    assert state["goesOnAt"] == iso_utc(now + waits()[1])
    put(server, ada, seen=iso_utc(now + timedelta(hours=2)))
    assert timedelta(hours=2, minutes=59) < waits()[0] < timedelta(hours=3, minutes=1)
    began = enrollment.step_began_at
    Enrollment.objects.update(due_at=now - timedelta(minutes=5))  # it looks again, and goes on waiting
    let_workers_walk()
    assert (history(enrollment), waits()[0] > timedelta(hours=2)) == ([("wait", "waiting")], True)
    assert enrollment.step_began_at == began
    put(server, ada, seen=iso_utc(now - timedelta(hours=2)))
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_the_condition_may_compare_with_what_came_with_the_trigger(server: ServerClient, ada: Customer) -> None:
    enrollment = waiter(server, ada, {"field": "customer.cart", "op": "eq", "to": "api.payload.cart"}, cart="b7")
    put(server, ada, cart="b8")
    put(server, ada, cart="b7")
    let_workers_walk()
    assert history(enrollment) == MOVED


def test_a_write_to_somebody_who_waits_for_nothing_costs_no_statement(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    numbers = count()

    def statements(customer: Customer) -> int:
        with CaptureQueriesContext(connection) as captured:
            put(server, customer, seen=next(numbers))
        return len(captured)

    bob = CustomerFactory.create(workspace=acme)
    statements(ada)  # reads once what a process then keeps
    plain = statements(ada)
    waiter(server, ada)
    assert statements(bob) == plain
    several = [statements(ada), statements(ada)]  # the waits, what they know, and its payload
    assert several == [plain + 3] * 2


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_a_thousand_waits_each_ends_once_whatever_is_written_meanwhile(
    acme: Workspace, server: ServerClient
) -> None:
    """32 writers set the plan to pro and back, while walkers begin the waits: nobody polls, and none is missed."""
    names = crowd(acme, 1000)
    journey = JourneyFactory.create(workspace=acme, steps=steps_of(timeout="P365D"))
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()

    def writer(number: int) -> Callable[[], None]:
        def write() -> None:
            own = names[number % 16 :: 16]  # two writers for each customer
            for plan in ("pro", "free"):
                known = [
                    CustomerData(known_by=identifiers(external_id=name), attributes={"plan": plan}) for name in own
                ]
                upsert_customers(workspace_id=acme.id, items=known, now=timezone.now())

        return write

    def walker() -> None:
        walk_due(seconds=5)

    all_at_once([walker, walker, *(writer(number) for number in range(32))])
    let_workers_walk()
    came = set(StepRun.objects.filter(step_id="yes").values_list("enrollment_id", flat=True))
    still = Enrollment.objects.filter(state="active").values_list("id", "step_id", "customer__attributes__plan")
    assert StepRun.objects.filter(step_id="yes").count() == len(came)
    assert {(step_id, plan) for _, step_id, plan in still} <= {("wait", "free")}  # who came after the last write
    upsert_customers(
        workspace_id=acme.id,
        items=[CustomerData(known_by=identifiers(external_id=name), attributes={"plan": "pro"}) for name in names],
        now=timezone.now(),
    )
    let_workers_walk()
    runs = Counter(StepRun.objects.filter(state="done").values_list("enrollment_id", flat=True))
    assert (len(runs), set(runs.values())) == (1000, {2})
    assert Enrollment.objects.filter(state="completed").count() == 1000

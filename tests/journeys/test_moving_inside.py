"""Those inside a journey go on in a later revision, where their step is still there with the same type."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bridge.people.merging import merge_customers
from customers.identity.lookup import Reference
from customers.models import Customer
from engage.models import AuditEntry, Workspace
from journeys.engine.counts.hourly import DELIVERED, done_lately
from journeys.engine.operations.invariants import violations
from journeys.engine.steering import moving
from journeys.engine.steering.aborting import abort
from journeys.engine.steering.going_on import go_on
from journeys.engine.steering.holding import hold, resume
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, Journey, JourneyRevision, SteeringAct, WebhookDelivery
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import enter, history
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, serve_until_empty, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted, every_moment_an_hour
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.django_db

DAY: dict[str, Any] = {"id": "day", "type": "delay", "for": "P1D"}
LISTEN: dict[str, Any] = {"id": "listen", "type": "wait_for_event", "event": "bought", "timeout": "P3D", "onEvent": "a"}
PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
WATCH: dict[str, Any] = {"id": "watch", "type": "wait_until", "if": PRO, "timeout": "P3D", "onTrue": "a"}
HOOK: dict[str, Any] = {"id": "hook", "type": "webhook", "url": "https://mail.example/send"}


def note(step_id: str, said: str = "") -> dict[str, Any]:
    return {"id": step_id, "type": "update_profile", "attributes": {"noted": said or step_id}, "next": None}


def path(journey: Journey) -> str:
    return f"/api/v1/journeys/{journey.workspace_id}/{journey.id}"


def put(server: ServerClient, journey: Journey, steps: list[Any], query: str = "?moveInside=true", **more: Any) -> Any:
    body = {"steps": steps, "maxEntriesPerCustomer": journey.max_entries_per_customer, **more}
    told = data(server.put(f"{path(journey)}{query}", body, headers={"If-Match": "*"}), status=200)
    return told.get("moving")


def moved(server: ServerClient, journey: Journey, steps: list[Any], **more: Any) -> Any:
    """The call's answer; and a sweeper has done it."""
    told = put(server, journey, steps, **more)
    go_on(seconds=20)
    assert Journey.objects.get(id=journey.id).moves_to is None
    assert counted(journey) == counted_by_history(journey.id)
    return told


def at(journey: Journey) -> Counter[Any]:
    """How many stand in each step of each revision."""
    active = Enrollment.objects.filter(journey=journey, state="active")
    return Counter(active.values_list("revision__number", "step_id"))


def waiting(server: ServerClient, customer: Customer, *steps: Any, **fields: Any) -> Enrollment:
    journey = JourneyFactory.create(workspace=customer.workspace, steps=list(steps), **fields)
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    enrollment.refresh_from_db()
    return enrollment


def test_who_stands_where_the_step_is_there_goes_on_and_others_stay_and_are_counted(
    server: ServerClient, acme: Workspace
) -> None:
    names = crowd(acme, 12)
    where = {"day": 4, "hook": 2, "listen": 1, "gone": 2, "turns": 1}
    ends = [step_id for step_id, number in where.items() for _ in range(number)]
    cases = [{"if": {"field": "api.payload.to", "op": "eq", "value": step_id}, "next": step_id} for step_id in where]
    steps: list[Any] = [
        {"id": "which", "type": "branch", "cases": cases, "else": "a"},
        {**DAY, "next": "a"}, HOOK, {**LISTEN, "onTimeout": "a"}, {**DAY, "id": "gone"}, {**DAY, "id": "turns"},
        note("a"),
    ]  # fmt: skip
    with every_moment_an_hour():
        journey = JourneyFactory.create(workspace=acme, steps=steps)
        for name, step_id in zip(names, [*ends, "a", "a"], strict=True):
            data(trigger(server, journey, {"external_id": name, "payload": {"to": step_id}}))
        let_workers_decide()
        let_workers_walk()
        new: list[Any] = [*steps[:4], {**LISTEN, "id": "turns"}, note("a", "new")]
        new[0] = {**new[0], "cases": [one for one in cases if one["next"] != "gone"]}
        would = put(server, journey, new, "?moveInside=true&dryRun=true")
        assert would == {"revision": 2, "moves": 5, "stays": {"under_way": 2, "gone": 2, "other_type": 1}}
        assert (JourneyRevision.objects.filter(journey=journey).count(), at(journey)[2, "day"]) == (1, 0)
        assert moved(server, journey, new) == would
        assert at(journey) == {
            (2, "day"): 4, (2, "listen"): 1, (1, "hook"): 2, (1, "gone"): 2, (1, "turns"): 1,
        }  # fmt: skip
        act = SteeringAct.objects.get(kind="move")
        assert (act.numbers, act.actor[:3]) == ({"revision": 2, "moved": 5}, "key")
        assert AuditEntry.objects.filter(action="steered", object_id=journey.id).count() == 1
        stats = {number: server.get(f"{path(journey)}/stats?revision={number}") for number in (1, 2)}
        told = {number: data(answer, status=200) for number, answer in stats.items()}
        assert [told[number]["outcomes"]["active"] for number in (1, 2)] == [5, 5]
        assert [told[2]["steps"][one]["waiting"] for one in ("day", "listen", "which")] == [4, 1, 0]
        again = put(server, journey, new)  # changes nothing: nobody is left who may move
        assert again == {"revision": 2, "moves": 0, "stays": {"under_way": 2, "gone": 2, "other_type": 1}}
        assert SteeringAct.objects.filter(kind="move").count() == 1
        go_on(seconds=5)
        time_passes(days=1, minutes=1)
        let_workers_walk()
        assert Counter(Customer.objects.values_list("attributes__noted", flat=True)) == {"new": 4, "a": 3, None: 5}
        assert counted(journey) == counted_by_history(journey.id)


def test_a_move_is_in_the_history(server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, note("first") | {"next": "day"}, DAY)
    due_at = enrollment.due_at
    moved(server, enrollment.journey, [DAY, note("a")])
    told = data(server.get(f"/api/v1/journeys/{ada.workspace_id}/enrollments/{enrollment.id}"), status=200)
    assert [(one["fromRevision"], one["toRevision"], one["stepsBegun"]) for one in told["moves"]] == [(1, 2, 2)]
    enrollment.refresh_from_db()
    assert (told["revision"], enrollment.due_at, history(enrollment)) == (
        2, due_at, [("first", "done"), ("day", "waiting")],
    )  # fmt: skip
    time_passes(days=1)
    let_workers_walk()
    assert history(enrollment)[1:] == [("day", "done"), ("a", "done")]


@each("revisions", [1, 2])
def test_a_wait_hears_what_it_was_begun_for_and_leads_where_it_leads_now(
    server: ServerClient, ada: Customer, revisions: int
) -> None:
    enrollment = waiting(server, ada, {**LISTEN, "where": PRO | {"field": "event.properties.plan"}}, note("a"))
    for number in range(revisions):
        other = {**LISTEN, "event": f"sold-{number}", "timeout": "P9D", "onEvent": "b"}
        moved(server, enrollment.journey, [other, note("a"), note("b")])
    for name, plan in (("sold-0", "pro"), (f"sold-{revisions - 1}", "pro"), ("bought", "free")):
        report(server, ada, name, plan=plan)
        let_workers_walk()
        assert history(enrollment) == [("listen", "waiting")]
    report(server, ada, "bought", plan="pro")
    let_workers_walk()
    assert history(enrollment) == [("listen", "done"), ("b", "done")]


def test_a_wait_for_a_condition_goes_on_waiting_for_it(server: ServerClient, ada: Customer) -> None:
    """Also if it is looked at again because its time is over, or by way of a loop begins anew with the new one."""
    enrollment = waiting(server, ada, WATCH, note("a"))
    loops = {**WATCH, "if": {**PRO, "value": "free"}, "onTrue": "pause", "onTimeout": "a"}
    moved(server, enrollment.journey, [loops, {**DAY, "id": "pause", "next": "watch"}, note("a")])
    write = {"customerId": ada.id, "attributes": {"plan": "free"}}
    data(server.put(customers_path(ada.workspace), write), status=200)
    Enrollment.objects.update(due_at=Enrollment.objects.get().entered_at)  # as if a moment in it had come
    let_workers_walk()
    assert history(enrollment) == [("watch", "waiting")]
    data(server.put(customers_path(ada.workspace), {**write, "attributes": {"plan": "pro"}}), status=200)
    let_workers_walk()
    assert history(enrollment) == [("watch", "done"), ("pause", "waiting")]
    time_passes(days=1)
    let_workers_walk()
    assert history(enrollment)[1:] == [("pause", "done"), ("watch", "waiting")]
    data(server.put(customers_path(ada.workspace), write), status=200)
    let_workers_walk()
    assert history(enrollment)[2:] == [("watch", "done"), ("pause", "waiting")]


def test_exits_are_those_of_the_new_revision_from_then_on(server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, DAY, steps__exit_on=[{"event": "left"}])
    report(server, ada, "gone")
    moved(server, enrollment.journey, [DAY], exitOn=[{"event": "gone"}])
    report(server, ada, "left")
    enrollment.refresh_from_db()
    assert enrollment.state == "active"
    report(server, ada, "gone")
    enrollment.refresh_from_db()
    assert enrollment.state == "exited"
    assert counted(enrollment.journey) == counted_by_history(enrollment.journey_id)


def test_kept_answers_stay_and_a_request_under_way_is_judged_as_it_was_sent(
    server: ServerClient, ada: Customer, receiver: Receiver
) -> None:
    ask = {**HOOK, "url": receiver.url('/answer?body={"n":7}'), "keep": {"n": "n"}}
    enrollment = waiting(server, ada, ask, DAY, note("a"))
    tells = note("a", "{{ steps.hook.n }}")
    assert moved(server, enrollment.journey, [ask, DAY, tells])["stays"] == {"under_way": 1}
    send()
    let_workers_walk()
    assert at(enrollment.journey) == {(1, "day"): 1}
    assert moved(server, enrollment.journey, [ask, DAY, tells])["moves"] == 1
    time_passes(days=1)
    let_workers_walk()
    ada.refresh_from_db()
    assert ada.attributes == {"noted": "7"}


def test_what_was_sent_lately_is_told_also_of_who_has_moved_into_a_revision_without_that_step(
    server: ServerClient, ada: Customer, receiver: Receiver
) -> None:
    enrollment = waiting(server, ada, {**HOOK, "url": receiver.url()}, DAY)
    send()
    let_workers_walk()
    for _ in range(2):
        lately = done_lately(now=timezone.now(), hours=2, journeys=1)
        assert sum(lately.all, Counter()) == {"enrolled": 1, DELIVERED: 1}
        moved(server, enrollment.journey, [DAY])


def test_who_has_not_begun_their_step_begins_it_as_it_is_now(server: ServerClient, acme: Workspace) -> None:
    """Before their first step, and of a journey that is held."""
    journey = JourneyFactory.create(workspace=acme, steps=[note("a")])
    held = hold(journey, reason="", actor="staff")
    data(trigger(server, journey, {"external_ids": crowd(acme, 3)}))
    let_workers_walk()
    assert (held.changed, Enrollment.objects.filter(was_due_at=None).count()) == (True, 0)
    data(trigger(server, journey, {"customerId": CustomerFactory.create(workspace=acme).id}))
    let_workers_decide()
    assert moved(server, journey, [note("a", "new")])["moves"] == 4
    resume(journey, reason="", actor="staff")
    let_workers_walk()
    assert Counter(Customer.objects.values_list("attributes__noted", flat=True)) == {"new": 4}


def test_many_are_moved_some_at_a_time_and_what_a_killed_process_left_is_found(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_AT_ONCE", 2)
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, {**DAY, "id": "more"}])
    data(trigger(server, journey, {"external_ids": crowd(acme, 7)}))
    let_workers_walk()
    assert put(server, journey, [DAY, {**DAY, "id": "more"}, note("a")])["moves"] == 7
    sofar = []
    for _ in range(5):
        moving._passes.clear()  # the process is another one
        moving.move_remaining(journey.id, seconds=0)
        sofar.append(at(journey)[2, "day"])
    assert sofar == [2, 4, 6, 7, 7]
    go_on(seconds=5)
    assert (Journey.objects.get().moves_to, SteeringAct.objects.get(kind="move").numbers["moved"]) == (None, 7)
    assert counted(journey) == counted_by_history(journey.id)


def test_a_piece_costs_the_same_however_many_it_moves(server: ServerClient, acme: Workspace) -> None:
    numbers = []
    for names in (crowd(acme, 1), [f"user-{number}" for number in range(5)]):
        journey = JourneyFactory.create(workspace=acme, steps=[DAY])
        for name in names[1:]:
            CustomerFactory.create(workspace=acme, external_id=name)
        data(trigger(server, journey, {"external_ids": names}))
        let_workers_walk()
        put(server, journey, [DAY, note("a")])
        with CaptureQueriesContext(connection) as made:
            go_on(seconds=5)
        numbers.append(len(made))
    assert numbers[0] == numbers[1]


def test_an_aborted_journey_moves_nobody_and_forgets_the_wish(server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, DAY)
    put(server, enrollment.journey, [DAY, note("a")])
    abort(enrollment.journey, reason="Enough.", actor="staff")
    go_on(seconds=5)
    assert Journey.objects.get().moves_to is None
    assert counted(enrollment.journey) == counted_by_history(enrollment.journey_id)


# At once --------------------------------------------------------------------------------------------------------------


class Everything:
    """All that may happen to those inside a journey, to be done at once."""

    def __init__(self, server: ServerClient, workspace: Workspace, steps: list[Any]) -> None:
        self.server, self.workspace, self.steps = server, workspace, steps
        self.journey = JourneyFactory.create(workspace=workspace, steps=steps, max_entries_per_customer=50)
        self.names = crowd(workspace, 60)
        for number in range(3):
            anonymous = CustomerFactory.create(workspace=workspace, user_id=f"anon-{number}", external_id=None)
            data(trigger(server, self.journey, {"customerId": anonymous.id}))
        data(trigger(server, self.journey, {"external_ids": self.names[:40]}))
        let_workers_walk()

    def call(self) -> None:
        data(trigger(self.server, self.journey, {"external_ids": self.names[30:]}))
        serve_until_empty()

    def sweep(self) -> None:
        for _ in range(15):
            go_on(seconds=1)

    def walk(self) -> None:
        for _ in range(6):
            walk_due(seconds=1)

    def report(self) -> None:
        told = [{"external_id": one, "eventName": "bought"} for one in self.names]
        data(self.server.post(customers_path(self.workspace, "events"), {"events": told}))

    def exit(self) -> None:
        for one in Enrollment.objects.filter(state="active").order_by("?")[:8]:
            self.server.post(f"/api/v1/journeys/{self.workspace.id}/enrollments/{one.id}/exit", {"reason": "Asked."})

    def merge(self) -> None:
        for number in range(3):
            anonymous, into = Reference("user_id", f"anon-{number}"), Reference("external_id", self.names[number])
            merge_customers(workspace_id=self.workspace.id, anonymous=anonymous, into=into)

    def publish(self, *steps: Any) -> None:
        for _ in range(2):
            put(self.server, self.journey, [*steps, note("a", "new")])

    def steer(self) -> None:
        hold(self.journey, reason="", actor="staff")
        resume(self.journey, reason="", actor="staff")

    def go_on(self) -> None:
        """Whatever is due, answered and released, in turn."""
        for _ in range(4):
            let_workers_walk()
            send()
            make_due()
            go_on(seconds=5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("without", [[], [WATCH]])
def test_beside_all_else_each_moves_or_stays_for_a_reason_and_history_and_counts_agree(
    server: ServerClient, acme: Workspace, receiver: Receiver, without: list[Any]
) -> None:
    """Walkers, events, exits, merges, decisions, a hold, and two yet newer revisions, of which one may lack a step."""
    steps: list[Any] = [DAY, {**HOOK, "url": receiver.url()}, {**LISTEN, "onTimeout": "a"}, WATCH, note("a")]
    all_of_it = Everything(server, acme, steps)
    journey = all_of_it.journey
    time_passes(days=1)
    put(server, journey, [*steps, note("b")])
    it, fewer = all_of_it, [step for step in steps[:4] if step not in without]
    calls: list[Callable[[], object]] = [it.sweep, it.sweep, it.walk, it.walk, send, it.exit, it.merge, it.steer]
    calls += [it.call, it.report, partial(it.publish, *fewer), partial(it.publish, *fewer, {**DAY, "id": "more"})]
    all_at_once(calls)
    it.go_on()
    # Those whose requests were under way have come to other steps meanwhile: they are moved along once more.
    now = data(server.get(path(journey)), status=200)["definition"]
    assert data(server.put(f"{path(journey)}?moveInside=true", now), status=200)["outcome"] == "unchanged"
    go_on(seconds=5)
    assert (Journey.objects.get(id=journey.id).moves_to, moving.would_move(Journey.objects.get()).moves) == (None, 0)
    assert len({number for number, _ in at(journey)}) <= 1 + bool(without)
    for _ in range(5):
        assert not list(violations(rows))
        assert counted(journey) == counted_by_history(journey.id)
        time_passes(days=4)
        it.go_on()
    assert not Enrollment.objects.filter(state="active").exists()
    assert not WebhookDelivery.objects.filter(state__in=["waiting", "held"]).exists()


def rows(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())

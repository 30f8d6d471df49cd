"""Whatever is done with a journey, in whatever order, comes out as a simple model says (model.py)."""

import os
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from journeys.engine.entering.scheduled import come_due
from journeys.engine.jobs.cancellation import JobAlreadyDecided, cancel_job
from journeys.engine.steering.aborting import abort
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.engine.steering.entrances import exit_entrance
from journeys.engine.steering.going_on import go_on
from journeys.engine.steering.holding import hold, resume
from journeys.engine.steering.moving import begin_move
from journeys.engine.walking import walk_due
from journeys.journey.authoring import save_journey
from journeys.journey.opening import activate, close
from journeys.models import Enrollment, EnrollmentJob, GoalWatch, Journey, StepRun, Trigger
from journeys.rules.hold_out import is_drawn
from tests.journeys.model import DAY, GOAL_DAYS, LISTEN, NOTE, Event, Job, Model
from tests.support.calls import customers_path, data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.examples import examples
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory, WorkspaceFactory
from tests.support.tables import empty_all

NAMES = ["ada", "grace", "alan", "edsger"]
PEOPLE = st.sampled_from(NAMES)
ENTRANCES = st.sampled_from([None, None, "order-18", "order-17"])
DUE, UNTIL = st.sampled_from([None, None, -1, 1, 1, 2]), st.sampled_from([None, None, None, -1, 1, 2])
PAID = {"field": "api.payload.paid", "op": "eq", "value": True}
ARE_PAID = st.sampled_from([True, True, True, False])
GOAL = {"key": "paid", "event": "paid", "within": f"P{GOAL_DAYS}D"}
THEN = st.sampled_from(["", "", "decide", "walk", "walk", "walk"])
STEPS: dict[str, dict[str, Any]] = {
    DAY: {"id": DAY, "type": "delay", "for": "P1D"},
    LISTEN: {"id": LISTEN, "type": "wait_for_event", "event": "paid", "timeout": "P1D"},
    NOTE: {"id": NOTE, "type": "update_profile", "attributes": {"noted": True}},
}
WHO: dict[str, Any] = {"reason": "Because.", "actor": "staff root"}
A_DAY = timedelta(days=1)
LONG = int(os.environ.get("FUZZ_EXAMPLES", "0"))  # make fuzz


class Combinations(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        self.server = ServerClient(ApiKeyFactory.create(workspace=self.workspace))
        self.ids = {name: f"{number:024}" for number, name in enumerate(NAMES)}
        for name, id_ in self.ids.items():
            CustomerFactory.create(workspace=self.workspace, id=id_, external_id=name)
        self.journey, self.model, self.erased = Journey(), Model.__new__(Model), False

    @initialize(
        concurrent=st.booleans(), most=st.sampled_from([1, 1, 2]), again=st.booleans(), holds_out=st.booleans()
    )  # fmt: skip
    def begin(self, *, concurrent: bool, most: int, again: bool, holds_out: bool) -> None:
        self.journey = JourneyFactory.create(
            id="a" * 24, workspace=self.workspace, steps=list(STEPS.values()), steps__exit_on=[{"event": "left"}],
            goals=[GOAL], concurrent_entrances=concurrent, allow_reenrollment=again, max_entries_per_customer=most,
            entry_conditions=PAID, hold_out={"share": 0.5} if holds_out else None,
        )  # fmt: skip
        self.model = Model(
            people=set(NAMES), concurrent=concurrent, most=most, again=again, holds_out=holds_out,
            is_drawn=lambda name: is_drawn(0.5, journey_id=self.journey.id, customer_id=self.ids[name]),
        )  # fmt: skip

    # What happens by itself --------------------------------------------------------------------------------------

    @rule(
        recipients=st.lists(st.tuples(PEOPLE, ENTRANCES, ARE_PAID), min_size=1, max_size=4),
        due=DUE, until=UNTIL, without=st.sets(PEOPLE, max_size=1), alone=st.booleans(),
        then=THEN,
    )  # fmt: skip
    def call(
        self, *, recipients: list[tuple[str, str | None, bool]], due: int | None, until: int | None,
        without: set[str], alone: bool, then: str,
    ) -> None:  # fmt: skip
        now, people = timezone.now(), self.model.people
        who = self.model.who if alone else (lambda name: name if name in people else None)  # lists know no aliases
        until = None if until is None else max(until, (due or -1) + 1)
        first = {(who(name), entrance): (name, paid) for name, entrance, paid in reversed(recipients) if who(name)}
        order = dict.fromkeys((who(name), entrance) for name, entrance, _ in recipients if who(name))
        named = [(whose, entrance, *first[whose, entrance]) for whose, entrance in order][: 1 if alone else None]
        if not named:
            return
        bodies = [
            {"external_id": name, "payload": {"paid": paid}} | ({"entranceId": entrance} if entrance else {})
            for _, entrance, name, paid in named
        ]
        exempt = {whose for name in without if (whose := self.model.who(name))}
        body: dict[str, Any] = bodies[0] if alone else {"recipients": bodies}
        body |= {"exclude_external_ids": sorted(without)} if without else {}
        body |= {} if due is None else {"scheduledFor": (now + due * A_DAY).isoformat()}
        body |= {} if until is None else {"expiresAt": (now + until * A_DAY).isoformat()}
        answer = trigger(self.server, self.journey, body)
        if not self.model.active:
            assert answer.status_code == 404
            activate(self.journey, now=now, **WHO)
            self.model.active, self.model.aborted = True, False
            return
        made = EnrollmentJob.objects.exclude(id__in=[job.id for job in self.model.jobs]).order_by("ordinal")
        found = list(made.values_list("id", "trigger_id", "customer_id", "entrance"))
        wanted = {(whose, entrance): paid for whose, entrance, _, paid in named if whose not in exempt}
        for name in people:
            became = [entrance for *_, whose, entrance in found if self.name_of(whose) == name]
            assert became == [entrance for whose, entrance in wanted if whose == name]
        for number, (id_, call, whose, entrance) in enumerate(found):
            self.model.call(Job(
                id=id_, call=call, place=(not alone, len(self.model.jobs) - number, number), whose=self.name_of(whose),
                entrance=entrance, paid=wanted[self.name_of(whose), entrance], called=self.model.today,
                due=self.model.today + (due or 0), scheduled=due is not None,
                until=None if until is None else self.model.today + until, exempt=frozenset(exempt),
                at=len(self.model.events),
            ))  # fmt: skip
        self.go_on(then)

    @rule(due=DUE, entrance=ENTRANCES, then=THEN)
    def call_all(self, *, due: int | None, entrance: str | None, then: str) -> None:
        all_of_them = [(name, entrance, True) for name in NAMES]
        self.call(recipients=all_of_them, due=due, until=None, without=set(), alone=False, then=then)

    def go_on(self, then: str) -> None:
        if then:
            self.decide()
        if then == "walk":
            self.walk()

    def decide(self) -> None:
        come_due()
        let_workers_decide()
        self.model.decide()

    def walk(self) -> None:
        while walk_due(seconds=60).moved:
            pass
        self.model.walk()

    @rule(days=st.integers(1, 2), then=THEN)
    def time_passes(self, *, days: int, then: str) -> None:
        time_passes(days=days)
        milliseconds = days * A_DAY // timedelta(milliseconds=1)
        EnrollmentJob.objects.update(
            scheduled_for=F("scheduled_for") - days * A_DAY, queued_ms=F("queued_ms") - milliseconds
        )
        Trigger.objects.update(expires_at=F("expires_at") - days * A_DAY)
        self.model.today += days
        self.go_on(then)

    @rule(names=st.sets(PEOPLE, min_size=1), event=st.sampled_from(["paid", "paid", "left"]), then=THEN)
    def event(self, *, names: set[str], event: str, then: str) -> None:
        path = customers_path(self.workspace, "events")
        for name in sorted(names):
            if whose := self.model.who(name):
                data(self.server.post(path, {"external_id": name, "eventName": event}))
                self.model.happens(Event(whose, event))
        self.go_on(then)

    # What is done about it ---------------------------------------------------------------------------------------

    @rule(act=st.sampled_from(["hold", "resume", "resume", "resume", "close", "abort"]))
    def steer(self, *, act: str) -> None:
        model = self.model
        match act:
            case "hold" if not model.aborted:
                hold(self.journey, **WHO)
                model.held = True
            case "resume" if not model.aborted:
                resume(self.journey, **WHO)
                model.held = False
            case "close":
                close(self.journey, now=timezone.now(), **WHO)
                model.active = False
            case "abort":
                inside = sum(entry.inside for entry in model.entries)
                told = abort(self.journey, **WHO)
                assert (told.exited, told.inside) == (inside, 0)
                model.abort()

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data(), how=st.sampled_from(["job", "call", "call and exit", "entrance", "entrance of one"]))
    def take_back(self, data: st.DataObject, *, how: str) -> None:
        model, job = self.model, data.draw(st.sampled_from(self.model.jobs))
        match how:
            case "job":
                asked = {"workspace_id": self.workspace.id, "job_id": EnrollmentJob.objects.get(id=job.id).job_id}
                if job.result in ("", "cancelled"):
                    cancel_job(**asked)
                    model.cancel([job])
                else:
                    with pytest.raises(JobAlreadyDecided):
                        cancel_job(**asked)
            case "call" | "call and exit":
                leave = how == "call and exit"
                told = cancel_trigger(Trigger.objects.get(id=job.call), exit_enrollments=leave, **WHO)
                assert told.cancelled == model.cancel([one for one in model.jobs if one.call == job.call])
                assert told.exited == (model.exit(lambda entry: entry.job.call == job.call) if leave else 0)
            case _ if job.entrance and job.whose:
                whose = job.whose if how == "entrance of one" else None
                ended = exit_entrance(self.journey, entrance=job.entrance, customer_id=whose and self.ids[whose])
                those = [one for one in model.jobs if one.entrance == job.entrance and whose in (None, one.whose)]
                assert ended.cancelled == model.cancel(those)
                assert ended.exited == model.exit(lambda entry: entry.job in those)

    @precondition(lambda self: len(self.model.people) > 2)
    @rule(data=st.data(), merges=st.sampled_from([True, True, False]))
    def goes(self, data: st.DataObject, *, merges: bool) -> None:
        """One person is merged into another one, or erased."""
        whose, into = data.draw(st.permutations(sorted(self.model.people)))[:2]
        if merges:
            body = {"customer": {"external_id": whose}, "into": {"external_id": into}}
            assert self.server.post(customers_path(self.workspace, "merge"), body).status_code == 200
            self.model.merge(whose, into)
        else:
            assert self.server.delete(customers_path(self.workspace, self.ids[whose])).status_code == 200
            self.model.erase(whose)
            self.erased = True

    @rule(
        course=st.sampled_from([None, (DAY, LISTEN, NOTE), (DAY, NOTE)]),
        holds_out=st.booleans(), concurrent=st.booleans(),
    )  # fmt: skip
    def change(self, *, course: tuple[str, ...] | None, holds_out: bool, concurrent: bool) -> None:
        """Those inside are moved into the new revision, if there is one."""
        self.save(hold_out={"share": 0.5} if holds_out else None, concurrent_entrances=concurrent)
        self.model.holds_out, self.model.concurrent = holds_out, concurrent
        if course:
            self.save(steps=[STEPS[step] for step in course])
            begin_move(self.journey, actor="staff root")
            go_on(seconds=5)
            self.model.move(course)

    # What always holds -------------------------------------------------------------------------------------------

    @invariant()
    def jobs_are_the_models(self) -> None:
        stored = EnrollmentJob.objects.order_by("id").values_list("id", "customer_id", "result", "holds_entrance")
        wanted = sorted((job.id, job.whose, job.result, job.holds) for job in self.model.jobs)
        assert [(id_, self.name_of(whose), result, bool(holds)) for id_, whose, result, holds in stored] == wanted

    @invariant()
    def enrollments_are_the_models(self) -> None:
        stored = {}
        for one in Enrollment.objects.select_related("revision"):
            steps = StepRun.objects.filter(enrollment=one).order_by("ordinal").values_list("step_id", flat=True)
            course = tuple(step["id"] for step in one.revision.steps) if one.state == "active" else ()
            stored[one.job_id] = (self.name_of(one.customer_id), one.state, course, list(steps))
            assert (one.due_at is not None or one.was_due_at is not None) == (one.state == "active")
        assert stored == {
            entry.job.id: (entry.job.whose, entry.state, entry.course if entry.inside else (), entry.steps)
            for entry in self.model.entries
        }

    @invariant()
    def goals_are_the_models(self) -> None:
        stored = GoalWatch.objects.values_list("customer_id", "reached_at")
        wanted = sorted((watch.whose, watch.reached) for watch in self.model.watches)
        assert sorted((self.name_of(whose), reached is not None) for whose, reached in stored) == wanted
        if not self.erased:
            assert counted(self.journey) == counted_by_history(self.journey.id)

    # -------------------------------------------------------------------------------------------------------------

    def save(self, **changes: Any) -> None:
        save_journey(workspace=self.workspace, key=self.journey.key, now=timezone.now(), **changes)
        self.journey.refresh_from_db()

    def name_of(self, customer_id: str) -> str | None:
        return next((name for name in self.model.people if self.ids[name] == customer_id), None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_whatever_is_done_in_whatever_order_comes_out_as_the_model_says() -> None:
    some = examples(20, stateful_step_count=40)
    run_state_machine_as_test(Combinations, settings=settings(some, max_examples=LONG) if LONG else some)

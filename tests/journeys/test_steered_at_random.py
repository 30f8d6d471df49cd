"""Whatever is done to journeys, in whatever order: who is held stays where they are, and nobody is lost."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, integers, sampled_from, sets

from journeys.engine.steering.aborting import abort
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.engine.steering.going_on import go_on
from journeys.engine.steering.holding import JourneyAborted, hold, resume
from journeys.engine.steering.moving import begin_move
from journeys.journey.authoring import save_journey
from journeys.journey.opening import activate, close
from journeys.models import Enrollment, EnrollmentJob, Journey, StepRun, Trigger
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted, every_moment_an_hour
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.tables import taken_back

STEPS: list[dict[str, Any]] = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "note", "type": "update_profile", "attributes": {"noted": True}},
    {"id": "again", "type": "delay", "for": "P1D"},
]
NAMES = ["ada", "grace", "alan"]
WHO: dict[str, Any] = {"reason": "Because.", "actor": "staff root"}


class Steering(RuleBasedStateMachine):
    """One journey of Acme that is steered, and one of Rival that nobody steers: it goes its way all the while."""

    def __init__(self, server: ServerClient, ours: Journey, theirs: Journey) -> None:
        super().__init__()
        self.undone = ExitStack()
        self.undone.enter_context(taken_back())
        self.server, self.theirs = server, theirs
        self.ours = Journey.objects.get(id=ours.id)  # as it is before each example
        self.days = 0
        self.calls: list[str] = []  # those that were accepted, the last one last
        self.begun_when_held: Counter[str] = Counter()

    # What happens by itself ---------------------------------------------------------------------------------------

    @rule(names=sets(sampled_from(NAMES), min_size=1))
    def call(self, names: set[str]) -> None:
        answer = trigger(self.server, self.ours, {"external_ids": sorted(names)})
        if answer.status_code == 202:
            self.calls.append(data(answer)["triggerId"])

    @rule()
    def decide(self) -> None:
        let_workers_decide()

    @rule()
    def walk(self) -> None:
        let_workers_walk()

    @rule()
    def pass_a_day(self) -> None:
        time_passes(days=1, minutes=1)
        let_workers_walk()
        self.days += 1

    # What is done about it ----------------------------------------------------------------------------------------

    @rule(for_a_day=booleans())
    def hold(self, for_a_day: bool) -> None:
        if self.state() != "held":
            self.begun_when_held = self.begun(self.ours)
        if self.refused(lambda: hold(self.ours, **WHO)):
            return
        again = hold(self.ours, **WHO)
        assert (again.changed, again.queued, again.inside) == (False, self.queued(), self.inside().count())
        if for_a_day:
            self.pass_a_day()

    @rule(per_minute=sampled_from([None, 60]))
    def resume(self, per_minute: int | None) -> None:
        self.refused(lambda: resume(self.ours, per_minute=per_minute, **WHO))

    @rule()
    def close(self) -> None:
        close(self.ours, now=timezone.now(), **WHO)

    @precondition(lambda self: self.state() in {"closed", "aborted", "held"})
    @rule()
    def activate(self) -> None:
        activate(self.ours, now=timezone.now(), **WHO)
        self.call({*NAMES})

    @precondition(lambda self: self.state() != "aborted")
    @rule()
    def abort(self) -> None:
        would, inside = abort(self.ours, dry_run=True, **WHO), self.inside().count()
        did = abort(self.ours, **WHO)
        assert (did.exited, did.inside) == (would.exited, would.inside) == (inside, 0)

    @rule(which=integers(0, 2), of_this_moment=booleans(), leave=booleans())
    def cancel(self, which: int, of_this_moment: bool, leave: bool) -> None:
        """One of the last calls, among which one may be of this moment."""
        if of_this_moment:
            self.call({*NAMES})
        if which >= len(self.calls):
            return
        sent = Trigger.objects.get(id=self.calls[-1 - which])
        jobs = EnrollmentJob.objects.filter(trigger=sent)
        queued = jobs.filter(status="queued").count()
        would = cancel_trigger(sent, exit_enrollments=leave, dry_run=True, **WHO)
        did = cancel_trigger(sent, exit_enrollments=leave, **WHO)
        assert replace(did, dry_run=True) == would
        assert (did.cancelled, did.cancelled + did.already_decided) == (queued, sent.customers)
        assert not jobs.filter(status="queued").exists()
        assert Enrollment.objects.filter(job__trigger=sent, state="active").count() == did.inside
        assert not (leave and did.inside)

    @rule(without=sampled_from(["", "note", "again"]))
    def move_inside(self, without: str) -> None:
        """A new revision, perhaps without a step at which some stand: these stay in theirs."""
        steps = [step for step in STEPS if step["id"] != without]
        save_journey(workspace=self.ours.workspace, key=self.ours.key, now=timezone.now(), steps=steps)
        self.ours.refresh_from_db()
        would = begin_move(self.ours, actor="staff root")
        assert would.moves + sum(would.stays.values()) == self.inside().exclude(revision__number=would.revision).count()
        go_on(seconds=5)
        assert self.inside().filter(revision__number=would.revision).count() >= would.moves
        assert self.inside().exclude(revision__number=would.revision).count() == sum(would.stays.values())

    # What always holds --------------------------------------------------------------------------------------------

    @invariant()
    def nobody_steps_while_held(self) -> None:
        if self.state() == "held":
            assert self.begun(self.ours) == self.begun_when_held

    @invariant()
    def nobody_is_lost(self) -> None:
        aborted = self.ours.id if self.state() == "aborted" else None
        for journey_id, state, *due in Enrollment.objects.values_list("journey_id", "state", "due_at", "was_due_at"):
            assert any(due) == (state == "active")
            assert not (state == "active" and journey_id == aborted)

    @invariant()
    def counts_are_the_sums_of_the_history(self) -> None:
        assert counted(self.ours) == counted_by_history(self.ours.id)

    @invariant()
    def others_go_their_way(self) -> None:
        assert self.begun(self.theirs).total() == min(3, 1 + 2 * self.days)

    def teardown(self) -> None:
        """Whatever was done, once it is resumed all come to their end."""
        with self.undone:
            if self.state() == "held":
                resume(self.ours, **WHO)
            for _ in range(3):
                time_passes(days=1, minutes=1)
                let_workers_walk()
                go_on(seconds=5)
            assert not Enrollment.objects.filter(state="active").exists()
            assert not EnrollmentJob.objects.exclude(status__in=["decided", "cancelled"]).exists()
            assert not Journey.objects.filter(Q(held_at__isnull=False) | Q(moves_to__isnull=False)).exists()
            self.counts_are_the_sums_of_the_history()

    # How it stands ------------------------------------------------------------------------------------------------

    def refused(self, act: Callable[[], object]) -> bool:
        """Does it, unless the journey is aborted: then it must be refused."""
        if self.state() != "aborted":
            act()
            return False
        with pytest.raises(JourneyAborted):
            act()
        return True

    def state(self) -> str:
        self.ours.refresh_from_db()
        return self.ours.state.value

    def inside(self) -> Any:
        return Enrollment.objects.filter(journey=self.ours, state="active")

    def queued(self) -> int:
        return EnrollmentJob.objects.filter(journey=self.ours, status="queued").count()

    def begun(self, journey: Journey) -> Counter[str]:
        return Counter(StepRun.objects.filter(enrollment__journey=journey).values_list("step_id", flat=True))


@pytest.mark.slow
@pytest.mark.django_db
def test_in_whatever_order_journeys_are_steered_nobody_steps_while_held_and_nobody_is_lost(
    server: ServerClient, rival_server: ServerClient
) -> None:
    with every_moment_an_hour():
        journeys = []
        for caller, names in ((server, NAMES), (rival_server, NAMES[:1])):
            for name in names:
                CustomerFactory.create(workspace=caller.key.workspace, external_id=name)
            many = {"steps": STEPS, "max_entries_per_customer": 50}
            journeys.append(JourneyFactory.create(workspace=caller.key.workspace, **many))
            data(trigger(caller, journeys[-1], {"external_ids": names}))
        let_workers_walk()
        machine: Any = lambda: Steering(server, *journeys)  # noqa: E731 (typed as a class, and called as a function)
        run_state_machine_as_test(machine, settings=examples(10, stateful_step_count=12))

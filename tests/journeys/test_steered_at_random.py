"""Whatever is done to journeys, in whatever order: who is held stays where they are, and nobody is lost."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engage.models import Workspace
from journeys.design.opening import activate, close
from journeys.models import Enrollment, EnrollmentJob, Journey, StepRun, Trigger
from journeys.steering.aborting import abort
from journeys.steering.cancelling import cancel_trigger
from journeys.steering.going_on import go_on
from journeys.steering.holding import JourneyAborted, hold, resume
from tests.support.calls import let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.tables import taken_back

pytestmark = pytest.mark.django_db
STEPS = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "note", "type": "update_profile", "attributes": {"noted": True}},
    {"id": "again", "type": "delay", "for": "P1D"},
]
NAMES = ["ada", "grace", "alan"]
WHO: dict[str, Any] = {"reason": "Because.", "actor": "staff root"}
ACTS = ["call", "decide", "walk", "day", "hold", "resume", "slowly", "close", "activate", "abort", "cancel", "take out"]


class Machine:
    """One journey of Acme that is steered, and one of Rival that nobody steers: it goes its way all the while."""

    def __init__(self, server: ServerClient, other: ServerClient, ours: Journey, theirs: Journey) -> None:
        self.server, self.other, self.ours, self.theirs = server, other, ours, theirs
        self.days = 0
        trigger(other, theirs, {"external_id": "ada"})
        let_workers_walk()

    def do(self, act: str) -> None:
        held, before = self.state() == "held", self.begun()
        deeds: dict[str, Callable[[], object]] = {
            "call": lambda: trigger(self.server, self.ours, {"external_ids": NAMES}),
            "decide": let_workers_decide,
            "walk": let_workers_walk,
            "day": self.pass_a_day,
            "hold": self.unless_aborted(lambda: hold(self.ours, **WHO)),
            "resume": self.unless_aborted(lambda: resume(self.ours, **WHO)),
            "slowly": self.unless_aborted(lambda: resume(self.ours, per_minute=60, **WHO)),
            "close": lambda: close(self.ours, now=timezone.now(), **WHO),
            "activate": lambda: activate(self.ours, now=timezone.now(), **WHO),
            "abort": lambda: abort(self.ours, **WHO),
            "cancel": lambda: self.cancel(leave=False),
            "take out": lambda: self.cancel(leave=True),
        }
        deeds[act]()
        if held:
            assert self.begun() == before, act
        self.hold_to_invariants(act)

    def state(self) -> str:
        self.ours.refresh_from_db()
        return self.ours.state.value

    def begun(self) -> Counter[str]:
        runs = StepRun.objects.filter(enrollment__journey=self.ours)
        return Counter(runs.values_list("step_id", flat=True))

    def pass_a_day(self) -> None:
        time_passes(days=1, minutes=1)
        let_workers_walk()
        self.days += 1

    def unless_aborted(self, act: Callable[[], object]) -> Callable[[], object]:
        def do() -> None:
            if self.state() != "aborted":
                act()
                return
            with pytest.raises(JourneyAborted):
                act()

        return do

    def cancel(self, *, leave: bool) -> None:
        for sent in Trigger.objects.filter(journey=self.ours):
            did = cancel_trigger(sent, exit_enrollments=leave, **WHO)
            assert did.cancelled + did.already_decided == sent.customers
            jobs = EnrollmentJob.objects.filter(trigger=sent)
            assert not jobs.filter(status="queued").exists()
            assert not (leave and Enrollment.objects.filter(job__trigger=sent, state="active").exists())

    def hold_to_invariants(self, act: str) -> None:
        inside = Enrollment.objects.filter(journey=self.ours, state="active")
        if self.state() == "aborted":
            assert not inside.exists(), act
        lost = inside.filter(due_at=None, was_due_at=None)
        assert not lost.exists(), act
        assert not Enrollment.objects.exclude(state="active").exclude(due_at=None, was_due_at=None).exists()
        their_runs = StepRun.objects.filter(enrollment__journey=self.theirs).count()
        assert their_runs == min(3, 1 + 2 * self.days), act

    def come_to_rest(self) -> None:
        """Whatever was done, once it is resumed all come to their end."""
        if self.state() == "held":
            resume(self.ours, **WHO)
        for _ in range(3):
            time_passes(days=1, minutes=1)
            let_workers_walk()
            go_on(seconds=5)
        assert not Enrollment.objects.filter(state="active").exists()
        assert not Journey.objects.filter(held_at__isnull=False).exists()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.sampled_from(ACTS), min_size=1, max_size=14))
def test_in_whatever_order_journeys_are_steered_nobody_steps_while_held_and_nobody_is_lost(
    server: ServerClient, rival_server: ServerClient, acme: Workspace, rival: Workspace, acts: list[str]
) -> None:
    with taken_back():
        for name in NAMES:
            CustomerFactory.create(workspace=acme, external_id=name)
        CustomerFactory.create(workspace=rival, external_id="ada")
        many = {"steps": STEPS, "max_entries_per_customer": 50}
        machine = Machine(
            server,
            rival_server,
            JourneyFactory.create(workspace=acme, **many),
            JourneyFactory.create(workspace=rival, **many),
        )
        for act in ("call", "walk", *acts):
            machine.do(act)
        machine.come_to_rest()

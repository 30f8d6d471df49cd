"""Whatever callers, events, time, staff and dying workers do, in any order: the service does what the model says."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from journeys.engine.entering.claims import claim_next_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.walking import walk_due
from journeys.engine.walking.claims import claim_longest_due
from journeys.journey.authoring import save_journey
from journeys.models import Chunk, Enrollment, EnrollmentJob, StepRun
from tests.journeys.walking.reference import EXIT_ON, FIRST_VERSIONS, PAUSE, SECOND, SECOND_ENTRIES, Entry, Reference
from tests.support.bridge_calls import ACTION
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import time_passes
from tests.support.examples import examples
from tests.support.factories import ApiKeyFactory, AppFactory, CustomerFactory, WorkspaceFactory
from tests.support.tables import empty_all

CUSTOMERS = ["ada", "grace"]
EVENTS = st.one_of(
    st.lists(st.sampled_from(["go", "yes", "stop", "won", "other"]), min_size=1, max_size=3),
    st.permutations(["go", "yes", "yes"]),
)
A_CLAIM = 6  # seconds after which the claim of a worker that died is over


class Journeys(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        self.server = ServerClient(ApiKeyFactory.create(workspace=self.workspace))
        for name in CUSTOMERS:
            CustomerFactory.create(workspace=self.workspace, external_id=name)
        self.first = self._save("first", trigger_type="api", steps=FIRST_VERSIONS[0], exit_on=EXIT_ON)
        self._save(
            "second", trigger_type="event", event_name="won", steps=SECOND, max_entries_per_customer=SECOND_ENTRIES,
            exit_on=EXIT_ON, event_from_bridge=False,
        )  # fmt: skip
        self.sdk = SdkClient(AppFactory.create(workspace=self.workspace))
        self.model = Reference()
        self.crashes = 0

    def _save(self, key: str, **changes: Any) -> Any:
        return save_journey(workspace=self.workspace, key=key, now=datetime.now(UTC), **changes).journey

    @rule(customer=st.sampled_from(CUSTOMERS))
    def trigger(self, customer: str) -> None:
        answer = data(trigger(self.server, self.first, {"external_id": customer}))
        self.model.call(customer, answer["jobId"])

    @precondition(lambda self: any(job.id for job in self.model.queued))
    @rule(choice=st.randoms(use_true_random=False))
    def cancel(self, choice: Any) -> None:
        job = choice.choice([job for job in self.model.queued if job.id])
        data(self.server.delete(f"/api/v1/journeys/{self.workspace.id}/jobs/{job.id}"), status=200)
        self.model.queued.remove(job)

    @rule(customer=st.sampled_from(CUSTOMERS), names=EVENTS)
    def events(self, customer: str, names: list[str]) -> None:
        """In one call, or one that is the only one."""
        events = [{"external_id": customer, "eventName": name} for name in names]
        body = {"events": events} if len(events) > 1 else events[0]
        data(self.server.post(f"/api/v1/customers/{self.workspace.id}/events", body))
        for name in names:
            self.model.event(customer, name)

    @rule(customer=st.sampled_from(CUSTOMERS), name=st.sampled_from(["go", "yes", "stop", "won", "other"]))
    def message(self, customer: str, name: str) -> None:
        """Reports an event, as anybody can."""
        tracked = {"actionType": "track_event", "actionData": {"eventName": name}}
        data(self.sdk.post(ACTION, {"messageId": "any", "external_id": customer, **tracked}), status=200)
        self.model.event(customer, name, from_bridge=True)

    @rule()
    def decide(self) -> None:
        let_workers_decide()
        self.model.decide()

    @rule()
    def walk(self) -> None:
        while walk_due(seconds=60).moved:
            pass
        self.model.walk()
        self.crashes = 0

    @rule(hours=st.sampled_from([1, 2, 3]))
    def time_goes_by(self, hours: int) -> None:
        time_passes(hours=hours)
        self.model.now += hours

    @initialize()
    def somebody_is_under_way(self) -> None:
        """One waits for an event already: by chance alone hardly anybody gets there."""
        self.trigger(customer=CUSTOMERS[0])
        self.live_on(hours=0)
        self.live_on(hours=PAUSE)

    @rule(hours=st.sampled_from([0, 2, 3]))
    def live_on(self, hours: int) -> None:
        """Time goes by, and the workers do all that there is to do."""
        time_passes(hours=hours)
        self.model.now += hours
        let_workers_walk()
        self.model.work()

    @precondition(lambda self: any(entry.state == "active" for entry in self.model.entries))
    @rule(choice=st.randoms(use_true_random=False))
    def exit(self, choice: Any) -> None:
        enrollment, entry = choice.choice([pair for pair in self._pairs() if pair[1].state == "active"])
        path = f"/api/v1/journeys/{self.workspace.id}/enrollments/{enrollment.id}/exit"
        data(self.server.post(path, {"reason": "Asked for."}), status=200)
        entry.exit()

    @rule()
    def edit(self) -> None:
        self.model.version = (self.model.version + 1) % len(FIRST_VERSIONS)
        self._save("first", steps=FIRST_VERSIONS[self.model.version])

    @rule()
    def deliver_again(self) -> None:
        """The wake-up of a job that was decided long ago comes once more; its worker takes what waits instead."""
        old = EnrollmentJob.objects.exclude(status="queued").first()
        serve_lane(lane=Chunk.Lane.SINGLE, named=(old.trigger_id, 0) if old else None, seconds=60)
        self.model.decide()

    @precondition(lambda self: self.crashes < 3)
    @rule()
    def die_in_the_middle(self) -> None:
        """A worker has claimed all there is to do, and dies."""
        claim_longest_due()
        claim_next_chunks(lane=Chunk.Lane.SINGLE)
        time_passes(seconds=A_CLAIM)
        self.crashes += 1

    @invariant()
    def the_service_does_what_the_model_says(self) -> None:
        histories = _histories()
        for enrollment, entry in self._pairs():
            stored = enrollment.customer.external_id, enrollment.state, histories[enrollment.id]
            assert stored == (entry.customer, entry.state, entry.history)

    @invariant()
    def nobody_is_twice_in_a_journey(self) -> None:
        inside = Enrollment.objects.filter(state="active").values_list("customer", "journey")
        assert len(inside) == len(set(inside))

    def _pairs(self) -> list[tuple[Enrollment, Entry]]:
        """Each enrollment with the model's: a customer's entries of a journey in the order in which they were made."""
        ordered = ("customer__external_id", "journey__key", "job_id")
        enrollments = Enrollment.objects.select_related("customer").order_by(*ordered)
        told = sorted(self.model.entries, key=lambda entry: (entry.customer, entry.journey))
        return list(zip(enrollments, told, strict=True))


def _histories() -> dict[str, list[tuple[str, str]]]:
    """By enrollment: its steps, with what each came to."""
    histories: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for run in StepRun.objects.order_by("ordinal"):
        histories[run.enrollment_id].append((run.step_id, run.state))
    return histories


@pytest.mark.slow
@pytest.mark.django_db
def test_journeys_do_what_the_model_says() -> None:
    run_state_machine_as_test(
        Journeys,
        settings=examples(20, stateful_step_count=30),
    )

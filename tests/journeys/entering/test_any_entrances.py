"""Whatever happens to entrances, in whatever order: a model says who has each, who is inside, and what jobs became."""

from dataclasses import dataclass

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

from journeys.entering.terms import Terms
from journeys.entering.trigger import Recipient, trigger_one
from journeys.jobs.cancellation import JobAlreadyDecided, cancel_job
from journeys.merging import merge_journeys
from journeys.models import Enrollment, EnrollmentJob, Journey
from journeys.steering.entrances import exit_entrance
from tests.support.calls import let_workers_decide
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, JourneyFactory, WorkspaceFactory
from tests.support.tables import empty_all

PEOPLE = st.sampled_from(["ada", "grace"])
ENTRANCES = st.sampled_from([None, "order-17", "order-18"])
PAID = {"field": "api.payload.paid", "op": "eq", "value": True}


@dataclass
class Job:
    id: int
    whose: str
    entrance: str | None
    paid: bool
    result: str = ""
    holds: bool = False
    inside: bool = False


class Entrances(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        self.ids = {
            name: CustomerFactory.create(workspace=self.workspace, external_id=name).id for name in ("ada", "grace")
        }
        self.jobs: list[Job] = []
        self.journey, self.apart = Journey(), False

    @initialize(concurrent=st.booleans())
    def begin(self, *, concurrent: bool) -> None:
        self.apart = concurrent
        self.journey = JourneyFactory.create(
            workspace=self.workspace, steps=[{"id": "wait", "type": "delay", "for": "P1D"}],
            concurrent_entrances=concurrent, allow_reenrollment=True, entry_conditions=PAID,
        )  # fmt: skip

    def _holder(self, whose: str, entrance: str | None) -> Job | None:
        """Who has it; nobody has none."""
        return next((job for job in self.jobs if job.holds and (job.whose, job.entrance) == (whose, entrance)), None)

    def _is_inside(self, whose: str, entrance: str | None) -> bool:
        found = [job for job in self.jobs if job.inside and job.whose == whose]
        return any(not self.apart or job.entrance == entrance for job in found)

    @rule(whose=PEOPLE, entrance=ENTRANCES, paid=st.booleans())
    def trigger(self, *, whose: str, entrance: str | None, paid: bool) -> None:
        if whose not in self.ids:
            return
        holder = self._holder(whose, entrance)
        queued = trigger_one(
            workspace_id=self.workspace.id, journey_id=self.journey.id, exclude_external_ids=[], called_by="",
            recipient=Recipient("external_id", whose), payload={"paid": paid}, terms=Terms(entrance),
        )  # fmt: skip
        named = [one.job_id for one in getattr(queued, "duplicates", None) or []]
        assert named == ([EnrollmentJob.objects.get(id=holder.id).job_id] if holder else [])
        made = EnrollmentJob.objects.latest("id")
        self.jobs.append(Job(made.id, whose, entrance, paid, holds=entrance is not None and holder is None))

    @rule()
    def decide(self) -> None:
        let_workers_decide()
        for job in self.jobs:
            if job.result:
                continue
            holder = self._holder(job.whose, job.entrance)
            if holder is not None and holder is not job:
                job.result = "duplicate_entrance"
            elif self._is_inside(job.whose, job.entrance):
                job.result = "already_enrolled"
            else:
                job.result = "enrolled" if job.paid else "conditions_not_met"
            job.inside = job.result == "enrolled"
            job.holds = job.inside and job.entrance is not None

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        name = EnrollmentJob.objects.get(id=job.id).job_id
        if job.result not in {"", "cancelled"}:
            with pytest.raises(JobAlreadyDecided):
                cancel_job(workspace_id=self.workspace.id, job_id=name)
            return
        cancel_job(workspace_id=self.workspace.id, job_id=name)
        job.result, job.holds = "cancelled", False

    @rule(whose=st.none() | PEOPLE, entrance=st.sampled_from(["order-17", "order-18"]))
    def exit(self, whose: str | None, entrance: str) -> None:
        customer_id = self.ids.get(whose) if whose else None
        if whose and customer_id is None:
            return
        told = exit_entrance(self.journey, entrance=entrance, customer_id=customer_id)
        those = [job for job in self.jobs if job.entrance == entrance and whose in {None, job.whose}]
        queued, inside = [job for job in those if not job.result], [job for job in those if job.inside]
        assert (told.cancelled, told.exited) == (len(queued), len(inside))
        for job in queued:
            job.result, job.holds = "cancelled", False
        for job in inside:
            job.inside = False

    @precondition(lambda self: "grace" in self.ids)
    @rule()
    def merge(self) -> None:
        merge_journeys(workspace_id=self.workspace.id, anonymous=self.ids["grace"], into=self.ids["ada"])
        del self.ids["grace"]
        taken = {job.entrance for job in self.jobs if job.holds and job.whose == "ada"}
        former = [job for job in self.jobs if job.whose == "grace"]
        leaving = [job for job in former if job.inside and (
            job.entrance in taken or self._is_inside("ada", job.entrance)
        )]  # fmt: skip
        for job in former:
            if job.entrance in taken:
                job.holds = False
                job.result = job.result or "cancelled"
            job.inside = job.inside and job not in leaving
            job.whose = "ada"

    @invariant()
    def what_is_stored_is_the_models(self) -> None:
        stored = EnrollmentJob.objects.order_by("id").values_list("id", "result", "holds_entrance", "customer")
        wanted = [(job.id, job.result, job.holds or None, job.whose) for job in self.jobs]
        names = {id_: name for name, id_ in self.ids.items()}
        assert [(id_, result, holds, names.get(whose)) for id_, result, holds, whose in stored] == wanted
        inside = set(Enrollment.objects.filter(state="active").values_list("job", flat=True))
        assert inside == {job.id for job in self.jobs if job.inside}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_whatever_happens_an_entrance_is_entered_once() -> None:
    run_state_machine_as_test(
        Entrances,
        settings=examples(15, stateful_step_count=15),
    )

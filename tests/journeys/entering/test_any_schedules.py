"""Whatever happens to what is scheduled, in any order: queued until it is due, then decided once, or taken back."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from customers.audience.selection import Audience
from engage.database.sql import Statement
from journeys.engine.enrollments.exiting import exit_enrollment
from journeys.engine.entering.scheduled import come_due
from journeys.engine.entering.terms import Request, Schedule, Terms
from journeys.engine.entering.trigger import Recipient, trigger_many, trigger_one
from journeys.engine.jobs.cancellation import JobAlreadyDecided, cancel_job
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.models import Chunk, Enrollment, EnrollmentJob, Trigger
from tests.support.calls import let_workers_decide
from tests.support.clock import time_passes
from tests.support.examples import examples
from tests.support.factories import CustomerFactory, JourneyFactory, WorkspaceFactory
from tests.support.tables import empty_all

NAMES = ["ada", "grace"]
DAYS = st.sampled_from([None, -1, 1, 2])
PAST: dict[Any, str] = {EnrollmentJob: "scheduled_for", Trigger: "expires_at"}  # which time_passes leaves


@dataclass
class Job:
    id: int
    trigger_id: str
    whose: str
    waits: bool
    due: int
    until: int | None
    result: str = ""
    decided_at: datetime | None = None


class Schedules(RuleBasedStateMachine):
    """`today` is the number of days that have passed."""

    def __init__(self) -> None:
        super().__init__()
        empty_all()
        self.workspace = WorkspaceFactory.create()
        for name in NAMES:
            CustomerFactory.create(workspace=self.workspace, external_id=name)
        steps = [{"id": "wait", "type": "delay", "for": "P365D"}]
        self.journey = JourneyFactory.create(workspace=self.workspace, steps=steps, allow_reenrollment=True)
        self.today, self.jobs, self.inside = 0, list[Job](), set[str]()

    @rule(names=st.sets(st.sampled_from(NAMES), min_size=1), due=DAYS, until=DAYS, alone=st.booleans())
    def call(self, *, names: set[str], due: int | None, until: int | None, alone: bool) -> None:
        now = timezone.now()
        schedule = None if due is None else Schedule(now + timedelta(days=due))
        terms = Terms(None, schedule, None if until is None else now + timedelta(days=until))
        request = Request(workspace_id=self.workspace.id, journey_id=self.journey.id, payload={}, terms=terms)
        if alone:
            names = {min(names)}
            trigger_one(request, Recipient("external_id", *names))
        else:
            trigger_many(request, Audience(external_ids=tuple(sorted(names))))
        made = EnrollmentJob.objects.exclude(id__in=[job.id for job in self.jobs]).order_by("id")
        found = made.values_list("id", "trigger_id", "customer__external_id")
        waits, last = (due or 0) > 0, None if until is None else self.today + until
        for job_id, trigger_id, whose in found:
            self.jobs.append(Job(job_id, trigger_id, str(whose), waits, self.today + (due or 0), last))

    @rule()
    def a_day_passes(self) -> None:
        time_passes(days=1)
        for model, column in PAST.items():
            model.objects.update(**{column: F(column) - timedelta(days=1)})
        self.today += 1

    @rule(sweeps=st.booleans())
    def decide(self, *, sweeps: bool) -> None:
        """Once the sweeper has come by, what is due is decided; until then, only what never was scheduled ahead."""
        if sweeps:
            come_due()
        let_workers_decide()
        results = dict(EnrollmentJob.objects.values_list("id", "result"))
        for name in NAMES:
            open_ = [job for job in self.jobs if not job.result and job.whose == name]
            due = [job for job in open_ if not job.waits or (sweeps and job.due <= self.today)]
            over = {job.id for job in due if job.until is not None and job.until <= self.today}
            became = sorted(results[job.id] for job in due if job.id not in over)
            enters = name not in self.inside and bool(became)
            assert became == sorted(["already_enrolled"] * (len(became) - enters) + ["enrolled"] * enters)
            assert {results[one] for one in over} <= {"expired"}
            for job in due:
                job.result = results[job.id]
            self.inside |= {name} if enters else set()

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), whole=st.booleans())
    def cancel(self, data: st.DataObject, whole: bool) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        open_ = [one for one in self.jobs if one.trigger_id == job.trigger_id and not one.result]
        if whole:
            sent = Trigger.objects.get(id=job.trigger_id)
            told = cancel_trigger(sent, exit_enrollments=False, reason="", actor="staff")
            assert told.cancelled == len(open_)
        else:
            name = EnrollmentJob.objects.get(id=job.id).job_id
            open_ = [one for one in open_ if one is job]
            if job.result not in {"", "cancelled"}:
                with pytest.raises(JobAlreadyDecided):
                    cancel_job(workspace_id=self.workspace.id, job_id=name)
            else:
                cancel_job(workspace_id=self.workspace.id, job_id=name)
        for one in open_:
            one.result = "cancelled"

    @precondition(lambda self: self.inside)
    @rule()
    def leave(self) -> None:
        id_, name = Enrollment.objects.filter(state="active").values_list("id", "customer__external_id").earliest("id")
        exit_enrollment(workspace_id=self.workspace.id, enrollment_id=id_, reason="Asked.")
        self.inside.remove(str(name))

    @invariant()
    def each_is_queued_or_decided_once(self) -> None:
        stored = {job.id: job for job in EnrollmentJob.objects.all()}
        assert len(stored) == len(self.jobs)
        for job in self.jobs:
            now = stored[job.id]
            assert (now.result, now.status == "queued") == (job.result, not job.result)
            assert job.decided_at in {None, now.decided_at}, "decided again"
            job.decided_at = now.decided_at

    @invariant()
    def who_is_inside_was_enrolled(self) -> None:
        active = Enrollment.objects.filter(state="active")
        assert Counter(active.values_list("customer__external_id", flat=True)) == Counter(self.inside)
        assert Enrollment.objects.count() == sum(job.result == "enrolled" for job in self.jobs)

    @invariant()
    def what_is_queued_waits_in_a_chunk(self) -> None:
        for job in self.jobs:
            if not job.result:
                (lane,) = Chunk.objects.filter(id__in=_CHUNKS.column(job_id=job.id)).values_list("lane", flat=True)
                assert lane == "scheduled" or job.due <= self.today


_CHUNKS = Statement("""
SELECT chunk.id FROM journeys_chunk chunk JOIN journeys_enrollmentjob job ON job.trigger_id = chunk.trigger_id
WHERE job.id = {job_id} AND job.ordinal >= chunk.start AND job.ordinal < chunk.stop
""")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_whatever_happens_what_is_scheduled_is_decided_once_or_taken_back() -> None:
    run_state_machine_as_test(Schedules, settings=examples(15, stateful_step_count=15))

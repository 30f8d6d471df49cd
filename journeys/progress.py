"""How far a trigger has come: its jobs, counted by status and result.

The jobs of a large trigger are counted as they change: the database notes each change in the transaction that makes it
(migrations/0009_large_triggers_keep_progress.py). To count a million rows anew at each look would take a second, and
whoever waits for a large trigger looks often.
"""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from journeys.models import EnrollmentJob, Trigger, TriggerProgress

# From how many customers on; the jobs of fewer are counted in milliseconds.
LARGE = 10_000


@dataclass(frozen=True, kw_only=True)
class CountedJobs:
    """So many jobs of one status and result; the result is "" while they are queued."""

    status: str
    result: str
    number: int


def count_jobs(trigger: Trigger) -> list[CountedJobs]:
    """The trigger's jobs."""
    if not trigger.keeps_progress:
        return count_by_result(EnrollmentJob.objects.filter(trigger_id=trigger.id))
    noted = TriggerProgress.objects.filter(trigger_id=trigger.id).values_list("status", "result")
    counted = [_counted(*row) for row in noted.annotate(number=Sum("jobs")).order_by("result")]
    waiting = trigger.customers - sum(jobs.number for jobs in counted)
    return [_counted(EnrollmentJob.Status.QUEUED, "", waiting), *counted] if waiting else counted


def count_by_result(jobs: QuerySet[EnrollmentJob]) -> list[CountedJobs]:
    """The jobs, which must be bounded: all of them are read."""
    found = jobs.values_list("status", "result").annotate(number=Count("*")).order_by("result")
    return [_counted(*row) for row in found]


def _counted(status: str, result: str, number: int) -> CountedJobs:
    return CountedJobs(status=status, result=result, number=number)

"""How far a trigger has come: its jobs, counted by status and result.

The jobs of a large trigger are counted as they change: the database notes each change in the transaction that makes it
(migrations/0001_version_1_0_0.sql), block by block. Counting a million rows at each look would take a second, and a
caller who waits for a large trigger looks often.
"""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from journeys.models import Chunk, EnrollmentJob, Trigger, TriggerProgress

# How many customers it has at least. The jobs of a smaller one are counted in milliseconds.
LARGE_TRIGGER = 10_000
# How many jobs, in their order, are a block. The database's function counts by it, too.
BLOCK_SIZE = 500


@dataclass(frozen=True, kw_only=True)
class CountedJobs:
    """The number of jobs with one status and result; the result is "" while they are queued."""

    status: str
    result: str
    number: int


def count_jobs(trigger: Trigger) -> list[CountedJobs]:
    """The trigger's jobs, by status and result."""
    if not trigger.keeps_progress:
        return count_by_result(EnrollmentJob.objects.filter(trigger_id=trigger.id))
    noted = TriggerProgress.objects.filter(trigger_id=trigger.id).values_list("status", "result")
    counted = [_counted(*row) for row in noted.annotate(number=Sum("jobs")).order_by("result")]
    waiting = trigger.customers - sum(jobs.number for jobs in counted)
    return [_counted(EnrollmentJob.Status.QUEUED, "", waiting), *counted] if waiting else counted


def blocks_with(trigger: Trigger, *, status: str | None, result: str | None) -> list[int] | None:
    """The numbers of the trigger's blocks that have jobs with this status and result (None: with any), in order.

    None if that is not known: of smaller triggers, and of what was decided before blocks were noted.
    """
    if not trigger.keeps_progress:
        return None
    if status == EnrollmentJob.Status.QUEUED:
        waiting = Chunk.objects.filter(trigger_id=trigger.id).values_list("start", flat=True)
        return [] if result else sorted({start // BLOCK_SIZE for start in waiting})
    asked = {name: value for name, value in (("status", status), ("result", result)) if value is not None}
    noted = TriggerProgress.objects.filter(trigger_id=trigger.id, **asked).values_list("block", flat=True)
    found = list(noted.annotate(number=Sum("jobs")).filter(number__gt=0).order_by("block"))
    blocks = [block for block in found if block is not None]
    return blocks if len(blocks) == len(found) else None


def count_by_result(jobs: QuerySet[EnrollmentJob]) -> list[CountedJobs]:
    """The jobs, by status and result. They must be bounded: all of them are read."""
    found = jobs.values_list("status", "result").annotate(number=Count("*")).order_by("result")
    return [_counted(*row) for row in found]


def _counted(status: str, result: str, number: int) -> CountedJobs:
    return CountedJobs(status=status, result=result, number=number)

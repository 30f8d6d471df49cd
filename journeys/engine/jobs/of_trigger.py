"""A trigger's jobs, page by page, in their order; on request only those with one status or result.

No index has the jobs' results: the columns that a decision writes must stay out of them (models/entering.py). Which of
a large trigger's blocks of jobs have a result is known from its progress instead, and only those blocks are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engage.database.sql import Fragment, Rows, Template
from journeys.engine.jobs.progress import BLOCK_SIZE, blocks_with
from journeys.engine.jobs.states import JobState, read_job_states
from journeys.engine.jobs.trigger_states import own_trigger
from journeys.models import Trigger

_BLOCKS_AT_ONCE = 20


@dataclass(frozen=True, kw_only=True)
class WantedJobs:
    """Which jobs are asked for: those with this status and this result; None: with any."""

    status: str | None = None
    result: str | None = None


@dataclass(frozen=True, kw_only=True)
class TriggerJobsPage:
    """Jobs in their order; `last` is the ordinal of the last one if more follow, otherwise None."""

    trigger_id: str
    jobs: Sequence[JobState]
    last: int | None


def trigger_jobs_page(
    *, workspace_id: str, trigger_id: str, wanted: WantedJobs, after: int, limit: int
) -> TriggerJobsPage:
    """At most `limit` of the wanted jobs after this ordinal. Raises TriggerNotFound."""
    trigger = own_trigger(workspace_id=workspace_id, trigger_id=trigger_id)
    found: list[JobState] = []
    for ranges in _ranges(trigger, wanted, first=after + 1):
        found += read_job_states(_jobs(trigger.id, ranges, wanted, most=limit + 1 - len(found)))
        if len(found) > limit:
            break
    shown = found[:limit]
    return TriggerJobsPage(trigger_id=trigger.id, jobs=shown, last=shown[-1].ordinal if len(found) > limit else None)


def _ranges(trigger: Trigger, wanted: WantedJobs, *, first: int) -> Iterator[list[range]]:
    """Ranges of ordinals, from `first` on and in order, that contain all wanted jobs; a few at a time."""
    blocks = None if wanted == WantedJobs() else blocks_with(trigger, status=wanted.status, result=wanted.result)
    if blocks is None:
        yield [range(first, trigger.customers)]
        return
    ahead = [block for block in blocks if (block + 1) * BLOCK_SIZE > first]
    for begin in range(0, len(ahead), _BLOCKS_AT_ONCE):
        some = ahead[begin : begin + _BLOCKS_AT_ONCE]
        yield [range(max(first, block * BLOCK_SIZE), (block + 1) * BLOCK_SIZE) for block in some]


# In each range, the index by place leads to the jobs, whatever the planner expects.
_JOBS = Template(
    """
SELECT job.* FROM {parts} CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollmentjob told
    WHERE told.trigger_id = {trigger_id} AND told.ordinal >= part.start AND told.ordinal < part.stop
      AND coalesce(told.status = {status}::text, true) AND coalesce(told.result = {result}::text, true)
    ORDER BY told.ordinal LIMIT {most}
) AS job
ORDER BY job.ordinal LIMIT {most}
""",
    parts=Rows("part", {"start": "bigint", "stop": "bigint"}),
)


def _jobs(trigger_id: str, ranges: Sequence[range], wanted: WantedJobs, *, most: int) -> Fragment:
    parts = [(part.start, part.stop) for part in ranges]
    return _JOBS.filled(parts=parts, trigger_id=trigger_id, status=wanted.status, result=wanted.result, most=most)

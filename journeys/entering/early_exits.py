"""Exit events that came while a job was queued: its enrollment ends as it begins.

An event that ends the journey counts from the moment the job was queued, so nobody who left meanwhile gets a step of
it. A job that an event queued counts the events that were recorded after that one, also those of the same call.
"""

from collections.abc import Mapping, Sequence

from journeys.enrollments.early_events import Listener, earliest_events
from journeys.entering.waiting_jobs import EnteredJourney, WaitingJob
from journeys.steps.exit_rules import ended_by


def early_exits(jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> dict[int, str]:
    """Why the jobs' enrollments would end as they begin, by the jobs' ids; most jobs have no such reason.

    One statement if one of the journeys may be ended by events, otherwise none.
    """
    listeners = {
        job.id: Listener(customer_id=job.customer_id, after=job.serial, patterns=patterns)
        for job in jobs
        if job.serial is not None and (patterns := journeys[job.journey_id].exit_patterns)
    }
    return {job_id: ended_by(event.name) for job_id, event in earliest_events(listeners).items()}

"""Entry conditions of a chunk's jobs: one SQL filter per journey that has any."""

from collections.abc import Mapping, Sequence

from journeys.waiting_jobs import EnteredJourney, WaitingJob


def jobs_failing_conditions(jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> set[int]:
    """The ids of the jobs whose journey has conditions that their customer does not meet at the moment."""
    return set()

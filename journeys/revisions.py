"""The parsed steps of revisions. A revision never changes, so a process parses each one once."""

from collections.abc import Collection
from functools import lru_cache

from journeys.models import JourneyRevision
from journeys.steps.definition import Step, parse_steps

_KEPT = 1000


@lru_cache(maxsize=_KEPT)
def steps_of_revision(revision_id: int) -> tuple[Step, ...]:
    """The steps of one revision."""
    return parse_steps(JourneyRevision.objects.values_list("steps", flat=True).get(id=revision_id))


def steps_of_revisions(revision_ids: Collection[int]) -> dict[int, tuple[Step, ...]]:
    """The steps of each revision."""
    return {revision_id: steps_of_revision(revision_id) for revision_id in revision_ids}

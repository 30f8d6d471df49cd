"""The parsed courses of revisions. A revision never changes, so a process parses each one once."""

from functools import lru_cache

from journeys.models import JourneyRevision
from journeys.steps.course import Course, parse_course

_KEPT = 1000


@lru_cache(maxsize=_KEPT)
def course_of_revision(revision_id: int) -> Course:
    """The course of one revision."""
    steps, exit_on = JourneyRevision.objects.values_list("steps", "exit_on").get(id=revision_id)
    return parse_course(steps, exit_on)

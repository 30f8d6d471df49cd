"""The parsed courses of revisions. A revision never changes, so a process parses each one once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from journeys.models import JourneyRevision
from journeys.steps.course import Course, parse_course

_MOST_KNOWN = 1000
_known: dict[int, Course] = {}


@dataclass(frozen=True)
class Courses:
    """The courses of some revisions, by their ids; each is parsed when it is first asked for."""

    _parsed: dict[int, Course]
    _written: Mapping[int, tuple[Any, Any]]

    def of(self, revision_id: int) -> Course:
        """Raises Refusal for a revision that cannot be read."""
        if revision_id not in self._parsed:
            self._parsed[revision_id] = course = parse_course(*self._written[revision_id])
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[revision_id] = course
        return self._parsed[revision_id]


def courses_of(revision_ids: Collection[int]) -> Courses:
    """The courses of these revisions, which must exist; those not cached in the process are read in one statement."""
    parsed = {revision_id: course for revision_id in revision_ids if (course := _known.get(revision_id))}
    unknown = [revision_id for revision_id in revision_ids if revision_id not in parsed]
    rows = JourneyRevision.objects.filter(id__in=unknown).values_list("id", "steps", "exit_on") if unknown else ()
    return Courses(parsed, {revision_id: (steps, exit_on) for revision_id, steps, exit_on in rows})

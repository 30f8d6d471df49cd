"""The parsed courses of revisions. A revision never changes, so a process keeps those that it used last."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.expressions import RawSQL

from engage.errors import Refusal
from engage.json.compact import ascii_json
from engage.notations.sizes import KIB
from engage.process.bounded_cache import BoundedCache
from journeys.models import Journey, JourneyRevision
from journeys.steps.course import Course, parse_course

_MOST_BYTES = 64 * 1024 * KIB
# What a character of a definition comes to when it is parsed, at most: most of all in the markup of a template.
_BYTES_OF_JSON, _BYTES_OF_MARKUP = 24, 256
_MARKUP = re.compile(r"\{[{%][^{}]*")


class RevisionNotFound(Refusal):
    """The journey never had a revision with this number."""

    status = 404
    error = "Revision not found"

    def __init__(self, number: int) -> None:
        super().__init__(f"The journey has no revision {number}.")


def revision_of(journey: Journey, number: int) -> JourneyRevision:
    """The journey's revision with this number. Raises RevisionNotFound."""
    revision = JourneyRevision.objects.filter(workspace_id=journey.workspace_id, journey=journey, number=number).first()
    if revision is None:
        raise RevisionNotFound(number)
    return revision


# The ids of its splits whose weights were others in an earlier revision.
_REDRAWN = """
ARRAY(
    SELECT DISTINCT own->>'id'
    FROM jsonb_path_query(journeys_journeyrevision.steps, '$[*] ? (@.type == "split")') AS own
    JOIN journeys_journeyrevision before
      ON before.journey_id = journeys_journeyrevision.journey_id AND before.number < journeys_journeyrevision.number
    CROSS JOIN LATERAL jsonb_path_query(before.steps, '$[*] ? (@.type == "split")') AS former
    WHERE former->'id' = own->'id'
      AND jsonb_path_query_array(former, '$.paths.weight') <> jsonb_path_query_array(own, '$.paths.weight')
)
"""
_known: BoundedCache[int, Course] = BoundedCache(most=_MOST_BYTES)


@dataclass(frozen=True)
class Courses:
    """The courses of some revisions, by their ids; each is parsed when it is first asked for."""

    _parsed: dict[int, Course]
    _written: Mapping[int, tuple[Any, ...]]

    def of(self, revision_id: int) -> Course:
        """Raises Refusal for a revision that cannot be read."""
        if revision_id not in self._parsed:
            written = self._written[revision_id]
            self._parsed[revision_id] = course = parse_course(*written)
            _known.keep(revision_id, course, size=_size(written))
        return self._parsed[revision_id]


def courses_of(revision_ids: Collection[int]) -> Courses:
    """The courses of these revisions, which must exist; those not cached in the process are read in one statement."""
    parsed = {revision_id: course for revision_id in revision_ids if (course := _known.get(revision_id))}
    unknown = [revision_id for revision_id in revision_ids if revision_id not in parsed]
    found = JourneyRevision.objects.filter(id__in=unknown).annotate(redrawn=RawSQL(_REDRAWN, ()))  # noqa: S611 - a constant
    rows = found.values_list("id", "steps", "exit_on", "redrawn") if unknown else ()
    return Courses(parsed, {revision_id: (*written,) for revision_id, *written in rows})


def _size(written: tuple[Any, ...]) -> int:
    """About how many bytes of memory the parsed course takes, at most."""
    text = ascii_json(written)
    return _BYTES_OF_JSON * len(text) + _BYTES_OF_MARKUP * sum(map(len, _MARKUP.findall(text)))

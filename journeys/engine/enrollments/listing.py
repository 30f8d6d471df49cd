"""Enrollments in a journey, a part at a time (engage/database/parts.py), in the order of their ids."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from engage.database.object_ids import first_id_at
from engage.database.parts import Part, part_of
from engage.database.sql import Fragment, Template, compose
from journeys.engine.enrollments.ids import LATEST
from journeys.models import Enrollment

# An id has the second of its worker's clock, `entered_at` is by the database's.
_CLOCKS_DIFFER = timedelta(minutes=5)
# As rows, so that no index serves it but that of these three: others would lead through all other journeys.
_IN_JOURNEY = Template(
    "(workspace_id, journey_id, id) > ({workspace_id}, {journey_id}, {after}) "
    "AND (workspace_id, journey_id, id) < ({workspace_id}, {journey_id}, {before})"
)
# Not the workspace, lest another index is taken: the journey is the workspace's own.
_IN_STEP = Template(
    "journey_id = {journey_id} AND step_id = {step_id} AND step_began_at IS NOT NULL AND id > {after} AND id < {before}"
)
_AFTER_ALL = "g"  # beyond every id


@dataclass(frozen=True, kw_only=True)
class WantedEnrollments:
    """In this state, waiting in this step, entered from `since` and before `until`; None: whatever it is."""

    state: str | None = None
    step_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def meets(self) -> Fragment | None:
        """What they must meet beside being in the step; None: nothing."""
        tests = [
            Fragment(f"{column} {sign} %s", [value])
            for column, sign, value in (
                ("state", "=", self.state),
                ("entered_at", ">=", self.since),
                ("entered_at", "<", self.until),
            )
            if value is not None
        ]
        return compose(" AND ".join("{}" for _ in tests), *tests) if tests else None


def enrollments_part(
    *, workspace_id: str, journey_id: str, wanted: WantedEnrollments, after: str, limit: int
) -> Part[Enrollment]:
    """With their customers and the numbers of their revisions. The journey must be the workspace's."""
    begin = max(after, first_id_at(wanted.since - LATEST - _CLOCKS_DIFFER)) if wanted.since else after
    before = first_id_at(wanted.until + _CLOCKS_DIFFER) if wanted.until else _AFTER_ALL
    if wanted.step_id is None:
        order = "workspace_id, journey_id, id"
        of = _IN_JOURNEY.filled(workspace_id=workspace_id, journey_id=journey_id, after=begin, before=before)
    else:
        order = "id"
        of = _IN_STEP.filled(journey_id=journey_id, step_id=wanted.step_id, after=begin, before=before)
    part = part_of(table="journeys_enrollment", of=of, meets=wanted.meets(), order=order, limit=limit)
    own = Enrollment.objects.filter(id__in=part.rows).prefetch_related("customer", "revision")
    return Part(rows=list(own.order_by("id")), last=part.last)

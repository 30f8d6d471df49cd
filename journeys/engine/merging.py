"""What a customer who is merged into another one has in journeys becomes that one's."""

from dataclasses import dataclass

from engage.database.sql import Statement
from journeys.engine.enrollments.transfers import give_to
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.engine.jobs.merged import move_jobs

EXITED_BY_MERGE = "Merged into a customer who is in this journey already."
_BOTH_INSIDE = Statement("""
SELECT former.id FROM journeys_enrollment former
WHERE former.customer_id = {anonymous} AND former.state = 'active' AND EXISTS (
    SELECT FROM journeys_enrollment theirs
    WHERE theirs.customer_id = {into} AND theirs.journey_id = former.journey_id AND theirs.state = 'active'
      AND coalesce(theirs.entrance, '') = coalesce(former.entrance, '')
) OR former.customer_id = {anonymous} AND former.state = 'active' AND EXISTS (
    SELECT FROM journeys_enrollmentjob own JOIN journeys_enrollmentjob theirs
    ON theirs.customer_id = {into} AND theirs.journey_id = own.journey_id AND theirs.entrance = own.entrance
    WHERE own.id = former.job_id AND theirs.id <> own.id AND theirs.holds_entrance
)
""")


@dataclass(frozen=True, kw_only=True)
class MovedJourneys:
    """Numbers: jobs and enrollments that became the other one's, jobs cancelled and enrollments exited by that."""

    jobs: int
    cancelled: int
    enrollments: int
    exited: int


def merge_journeys(*, workspace_id: str, anonymous: str, into: str) -> MovedJourneys:
    """Makes the jobs and enrollments of one customer another one's; both are locked.

    Where both are active in a journey, the other one's enrollment stays, and this one ends.
    """
    jobs = move_jobs([(anonymous, into)])
    inside = _BOTH_INSIDE.column(anonymous=anonymous, into=into)
    exited = exit_enrollments(EnrollmentExit(enrollment_id=one, reason=EXITED_BY_MERGE) for one in inside)
    moved = give_to(workspace_id=workspace_id, anonymous=anonymous, into=into)
    return MovedJourneys(jobs=jobs.moved, cancelled=jobs.cancelled, enrollments=moved, exited=len(exited))

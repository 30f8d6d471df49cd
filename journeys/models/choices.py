"""Texts that answers choose from, as types that have names in the OpenAPI document."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from engage.json.fields import LEFT_OUT
from engage.json.keywords import Choice
from journeys.models.entering import EnrollmentJob
from journeys.models.walking import Enrollment

JobStatus = Annotated[str, Choice("JobStatus", tuple(EnrollmentJob.Status.values))]
JobResult = Annotated[str, Choice("JobResult", tuple(EnrollmentJob.Result.values))]
ScheduledFor = Annotated[
    datetime | None,
    "When the job is due; omitted if its call has no `scheduledFor`. Until then it is queued.",
    LEFT_OUT,
]
ELSE: Final = "else "  # before the name of a zone that stood in
TimezoneOfJob = Annotated[
    str | None,
    "By whose clocks the job is due, as the zone is called here; omitted unless `scheduledFor` was `local`.",
    LEFT_OUT,
]
ElseStoodIn = Annotated[
    bool | None, "Whether that is `else`, because the customer's field named no zone. Omitted likewise.", LEFT_OUT
]
ElseStoodFor = Annotated[
    int | None,
    "For how many `else` of `scheduledFor` stood in, as their field named no zone; omitted unless that was `local`.",
    LEFT_OUT,
]
JobDetails = Annotated[
    Sequence[str],
    "For `conditions_not_met`: the tests that failed, each with the value that was there and what was wanted; at most "
    "five, with values of at most 200 characters. Empty for other results, and once the customer was erased.",
]
StateOfEnrollment = Annotated[
    str,
    Choice("EnrollmentState", tuple(Enrollment.State.values)),
    "`exited` if the enrollment ended early, for the reason in `exitReason`.",
]


def of_zone(zone: str | None) -> dict[str, Any]:
    """A job's `timezone` and `else_stood_in`."""
    if zone is None:
        return {}
    return {"timezone": zone.removeprefix(ELSE), "else_stood_in": zone.startswith(ELSE)}

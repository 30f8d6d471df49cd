"""Entry conditions: checked when a journey is saved, and asked of a chunk's jobs with one SQL filter per journey."""

from collections.abc import Iterable, Mapping, Sequence

from django.db import connection

from customers.conditions import Columns, Root, compile_condition, parse_condition
from customers.fragment import Fragment, compose
from journeys.models import Journey
from journeys.waiting_jobs import EnteredJourney, WaitingJob

_ROOTS = {
    Journey.TriggerType.API: {Root.CUSTOMER, Root.API},
    Journey.TriggerType.EVENT: {Root.CUSTOMER, Root.API, Root.EVENT},
}
# The trigger of an event journey carries the event's properties as its payload.
_COLUMNS = Columns(payload="trigger.payload", event_name="event.name", event_properties="trigger.payload")

_MEETING = """
SELECT job.id
FROM journeys_enrollmentjob job
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
JOIN customers_customer customer ON customer.id = job.customer_id AND customer.workspace_id = job.workspace_id
LEFT JOIN customers_event event ON event.id = trigger.event_id
WHERE job.id = ANY({}) AND {}
"""


def check_entry_conditions(conditions: object, *, trigger_type: str, place: str = "entryConditions") -> None:
    """Whether a journey of this trigger type may have these conditions (null: none).

    Raises InvalidCondition, whose message names the place.
    """
    if conditions is not None:
        parse_condition(conditions, roots=_ROOTS[Journey.TriggerType(trigger_type)], place=place)


def jobs_failing_conditions(jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> set[int]:
    """The ids of the jobs whose journey has conditions that their customer does not meet at the moment.

    Raises InvalidCondition where a journey's conditions are none.
    """
    asked: dict[str, set[int]] = {}
    for job in jobs:
        if journeys[job.journey_id].conditions is not None:
            asked.setdefault(job.journey_id, set()).add(job.id)
    return {
        job_id
        for journey_id, job_ids in asked.items()
        for job_id in job_ids - _meeting(journeys[journey_id].conditions, job_ids)
    }


def _meeting(conditions: object, job_ids: Iterable[int]) -> set[int]:
    """Those of the jobs whose customer is there and meets the conditions."""
    condition = parse_condition(conditions, roots=list(Root), place="entryConditions")
    query = compose(_MEETING, Fragment("%s::bigint[]", [list(job_ids)]), compile_condition(condition, columns=_COLUMNS))
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        return {job_id for (job_id,) in cursor.fetchall()}

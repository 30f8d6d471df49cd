"""Entry conditions: checked when a journey is saved, and evaluated for jobs by one SQL filter per journey."""

from collections.abc import Mapping, Sequence

from django.db import connection

from customers.conditions import Columns, Root, compile_condition, parse_condition
from customers.fragment import Fragment, compose
from journeys.deciding.waiting_jobs import EnteredJourney, WaitingJob
from journeys.models import Journey

_ROOTS = {
    Journey.TriggerType.API: {Root.CUSTOMER, Root.API},
    Journey.TriggerType.EVENT: {Root.CUSTOMER, Root.API, Root.EVENT},
}
# The trigger of an event journey carries the event's properties as its payload.
_COLUMNS = Columns(payload="job.payload", event_name="job.event_name", event_properties="job.payload")

# A lateral with a limit, as in waiting_jobs.py: each customer is looked up, whatever the planner expects.
_MEETING = """
SELECT job.id
FROM ({}) AS job
CROSS JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer
WHERE job.journey_id = {} AND {}
"""


def check_entry_conditions(conditions: object, *, trigger_type: str) -> None:
    """Raises InvalidCondition, which names the place, unless a journey of this type may have these (None: none)."""
    if conditions is not None:
        parse_condition(conditions, roots=_ROOTS[Journey.TriggerType(trigger_type)], place="entryConditions")


def failing_conditions(
    *, relation: Fragment, jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]
) -> set[int]:
    """The ids of the jobs whose journey has conditions that their customer does not meet now.

    `jobs` are those of the relation. Raises InvalidCondition if a journey's conditions are not valid.
    """
    asked: dict[str, set[int]] = {}
    for job in jobs:
        if journeys[job.journey_id].conditions is not None:
            asked.setdefault(job.journey_id, set()).add(job.id)
    return {
        job_id for journey_id, job_ids in asked.items() for job_id in job_ids - _meeting(relation, journeys[journey_id])
    }


def _meeting(relation: Fragment, journey: EnteredJourney) -> set[int]:
    """Those of the journey's jobs whose customer exists and meets its conditions."""
    condition = parse_condition(journey.conditions, roots=list(Root), place="entryConditions")
    query = compose(
        _MEETING, relation, Fragment("%s::text", [journey.id]), compile_condition(condition, columns=_COLUMNS)
    )
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.params)
        return {job_id for (job_id,) in cursor.fetchall()}

"""Entry conditions, evaluated for jobs by one SQL filter per journey.

Why a job's customer does not meet them is looked up afterwards, for those jobs alone, and by the same SQL: what each
test came to, and the value that it found.
"""

from collections.abc import Mapping, Sequence

from customers.conditions import (
    Columns,
    Condition,
    Field,
    FieldTest,
    Findings,
    Root,
    compile_condition,
    parse_condition,
    tests_of,
    why_not,
)
from customers.conditions.explain import LONGEST_VALUE, cut
from customers.conditions.sql import compile_value
from engage.database.fragment import Fragment, compose
from engage.database.sql import Statement
from journeys.engine.entering.waiting_jobs import EnteredJourney, WaitingJob

# The trigger of an event journey carries the event's properties as its payload.
_COLUMNS = Columns(
    payload="job.payload",
    event_name="job.event_name",
    event_properties="job.payload",
    event_message="job.event_message",
    event_verified="job.event_verified",
    entrance="job.entrance",
    now="job.decided_at",
)

# A lateral with a limit (docs/sql.md): each customer is looked up, whatever the planner expects.
_MEETING = Statement("""
SELECT job.id
FROM ({relation}) AS job
CROSS JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer
WHERE job.journey_id = {journey_id}::text AND {condition}
""")


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
        job_id
        for journey_id, job_ids in asked.items()
        for job_id in job_ids - jobs_meeting(_condition(journeys[journey_id]), relation=relation, journey_id=journey_id)
    }


def jobs_meeting(condition: Condition, *, relation: Fragment, journey_id: str) -> set[int]:
    """The ids of those of the journey's jobs whose customer exists and meets the condition."""
    compiled = compile_condition(condition, columns=_COLUMNS)
    return set(_MEETING.column(relation=relation, journey_id=journey_id, condition=compiled))


def _condition(journey: EnteredJourney) -> Condition:
    return parse_condition(journey.conditions, roots=list(Root), place="entryConditions", stored=True)


# What each test came to, and the fields' values. The ids are compared in a hashed subquery: there may be thousands.
_FINDINGS = Statement("""
SELECT job.id, ARRAY[{held}], ARRAY[{shown}]
FROM ({relation}) AS job
CROSS JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer
WHERE (job.id IN (SELECT unnest({job_ids}::bigint[]))) IS TRUE
""")


def why_conditions_fail(
    *, relation: Fragment, jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]
) -> dict[int, list[str]]:
    """Why these jobs of the relation, whose customers do not meet the conditions, are refused, by job id.

    One statement for each journey. A customer who has changed since then, and meets them now, is left out.
    """
    refused: dict[str, list[int]] = {}
    for job in jobs:
        refused.setdefault(job.journey_id, []).append(job.id)
    return {
        job_id: reasons
        for journey_id, job_ids in refused.items()
        for job_id, reasons in _reasons(relation, journeys[journey_id], job_ids).items()
    }


def _reasons(relation: Fragment, journey: EnteredJourney, job_ids: Sequence[int]) -> dict[int, list[str]]:
    condition = _condition(journey)
    tests = tests_of(condition)
    fields = list(dict.fromkeys(field for test in tests for field in test.fields))
    found = _FINDINGS.rows(
        held=_joined([compile_condition(test, columns=_COLUMNS) for test in tests]),
        shown=_joined([_shown(compile_value(field, columns=_COLUMNS)) for field in fields]),
        relation=relation,
        job_ids=job_ids,
    )
    places = {id(test): place for place, test in enumerate(tests)}
    return {
        job_id: reasons
        for job_id, held, values in found
        if (reasons := why_not(condition, _findings(places, held, dict(zip(fields, values, strict=True)))))
    }


def _findings(places: Mapping[int, int], held: Sequence[bool], values: Mapping[Field, str | None]) -> Findings:
    """`places` are those of the tests, by their identity."""

    def holds(test: FieldTest) -> bool:
        return held[places[id(test)]]

    return Findings(holds=holds, value=lambda field: None if (text := values[field]) is None else cut(text))


def _joined(parts: Sequence[Fragment]) -> Fragment:
    return compose(", ".join(["{}"] * len(parts)), *parts)


def _shown(value: Fragment) -> Fragment:
    """As much of the value's text as is shown, and one character more where it is cut."""
    return compose("left(nullif({}, 'null')::text, {})", value, Fragment("%s::int", [LONGEST_VALUE + 1]))

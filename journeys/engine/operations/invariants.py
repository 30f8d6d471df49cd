"""What holds of every database of the service at any moment, whatever happened: a restored backup is tried by that.

The sentences say what does not hold. `ask` executes a statement of ours, wherever the database is, and gives its rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from journeys.engine.counts.recounting import HISTORY, HISTORY_AND_COUNTS

Ask = Callable[[str], Iterable[Sequence[Any]]]

_TWICE_INSIDE = """
SELECT customer_id, journey_id, count(*) FROM journeys_enrollment WHERE state = 'active'
GROUP BY customer_id, journey_id HAVING count(*) > 1
"""
_LINKS = """
SELECT conrelid::regclass::text, confrelid::regclass::text,
       (SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[array_length(conkey, 1)]),
       (SELECT attname FROM pg_attribute WHERE attrelid = confrelid AND attnum = confkey[array_length(confkey, 1)])
FROM pg_constraint WHERE contype = 'f'
  AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = conrelid AND attname = 'workspace_id')
  AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = confrelid AND attname = 'workspace_id')
"""
# Links that no foreign key holds.
_LOOSE_LINKS = [
    ("journeys_enrollmentjob", "journeys_journey", "journey_id", "id"),
    ("journeys_enrollmentjob", "customers_customer", "customer_id", "id"),
    ("journeys_enrollment", "journeys_journey", "journey_id", "id"),
    ("journeys_enrollment", "journeys_enrollmentjob", "job_id", "id"),
    ("journeys_goalwatch", "journeys_enrollment", "enrollment_id", "id"),
    ("journeys_goalwatch", "journeys_journey", "journey_id", "id"),
]
_OF_OTHER_JOBS = """
SELECT count(*) FROM journeys_enrollment entry JOIN journeys_enrollmentjob job ON job.id = entry.job_id
WHERE job.result <> 'enrolled' OR entry.customer_id <> job.customer_id OR entry.journey_id <> job.journey_id
"""
_LOST = """
SELECT count(*) FROM journeys_enrollmentjob job WHERE job.status = 'queued' AND NOT EXISTS (
    SELECT FROM journeys_chunk chunk
    WHERE chunk.trigger_id = job.trigger_id AND job.ordinal >= chunk.start AND job.ordinal < chunk.stop
)
"""
_UNRECORDED = """
SELECT count(*) FROM journeys_webhookdelivery delivery WHERE state = 'waiting' AND attempts <> (
    SELECT count(*) FROM journeys_webhookattempt attempt WHERE attempt.delivery_id = delivery.id
)
"""
# Counts outlive the history, which is pruned and erased; so there is never less of them.
_UNCOUNTED = f"""
WITH {HISTORY}
SELECT count(*) FROM (
    SELECT FROM ({HISTORY_AND_COUNTS}) AS both_of
    GROUP BY journey_id, revision_id, kind, name, outcome, hour HAVING sum(number) > 0
) AS uncounted
"""  # noqa: S608


def violations(ask: Ask) -> Iterator[str]:
    """All that does not hold."""
    yield from twice_inside(ask)
    yield from links_to_other_workspaces(ask)
    for statement, says in (
        (_OF_OTHER_JOBS, "enrollments are not what their jobs say"),
        (_LOST, "queued jobs are in no chunk, so that nobody decides them"),
        (_UNRECORDED, "waiting webhooks have another number of attempts than is recorded"),
        (
            _UNCOUNTED,
            "hours of the history have less in the counts (of before there were counts: manage.py count_history)",
        ),
    ):
        ((number,),) = ask(statement)
        if number:
            yield f"{number} {says}"


def twice_inside(ask: Ask) -> Iterator[str]:
    """Who is in a journey more than once at a time."""
    for customer, journey, actives in ask(_TWICE_INSIDE):
        yield f"{customer} is in {journey} more than once: {actives}"


def links_to_other_workspaces(ask: Ask) -> Iterator[str]:
    """Rows that link to a row of another workspace, by foreign keys or without."""
    for child, parent, column, key in [*_LOOSE_LINKS, *(link for link in ask(_LINKS) if link[2] != "workspace_id")]:
        ((number,),) = ask(
            f"SELECT count(*) FROM {child} child JOIN {parent} parent ON parent.{key} = child.{column} "  # noqa: S608
            "WHERE parent.workspace_id <> child.workspace_id"
        )
        if number:
            yield f"{number} rows of {child} link to another workspace's {parent}"
